"""Messages: what people put before and behind what they say, the fields it comes with, and one line for many sentences.

Covers: `spread`, which writes out every reading of a line with alternatives, and `Wordings` made of such lines; pairs of names;
openings and closings; a message as text, as lines or as JSON with fields that have no bearing. Does not cover: what a message says.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Collection

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.vocabulary import DAYS, Wordings, code, listed, word

SMALL = frozenset(listed("A An Are Can Could Did Do Does From Has Have Here Hope How In Is It May My Nobody On Our Please Since Some Somebody Someone That The There These They This We What When Where Which Who Why Will You Your"))  # words that are written small behind a comma
MOST = 48  # sentences of one line

OPENINGS = Wordings(
    train=("Hello,", "Hi,", "Hi there,", "Good morning,", "Good afternoon,", "Good evening,", "Dear team,", "Dear colleagues,", "Hello everybody,", "Hey,", "Excuse me,", "Sorry to bother you,", "{person} here.",
           "This is {person} from {place}.", "My name is {person}.", "I am {person}.", "I am writing from {place}.", "A short note:", "It is me again.", "First of all, hello.", "To whom it may concern,", "Hi all,",
           "Quick question:", "So,", "Well,", "Good day,", "Hello from {place}!", "Hi team,", "I hope you are well.", "Greetings,", "Following up on {code}:", "Subject: a question\n", "Re: {code}\n", "FYI:", "{person} from {place}:"),
    calibration=("Hello team,", "Hello, this is {person}."), held_out=("Dear all,", "Hello, I am {person} from {place}.", "Sorry, me again:", "Re: our talk\n"),
)  # fmt: skip
CLOSINGS = Wordings(
    train=("Thanks.", "Thank you.", "Thanks, {person}", "Regards, {person}", "Best, {person}", "Best regards, {person} ({place})", "Many thanks.", "Thanks in advance.", "What should I do?", "Can you look into it?", "Who can tell me more?",
           "I hope you can sort it out.", "Let me know.", "You can reach me by mail.", "My number is {code}.", "I am in {place} all day.", "Please get back to me.", "I asked {person} already.", "{person} has seen it, too.", "Bye, {person}", "Any idea?", "I would be glad of an answer.",
           "Yours, {person}", "I looked everywhere and asked {person}.", "See also {code}.", "Reference {code}.", "Is there anything I can do?", "Kind regards", "Cheers, {person}", "Sent from {place}.", "Could somebody have a look?", "I am not sure whom to ask."),
    calibration=("Thanks a lot, {person}", "Reference: {code}"), held_out=("Could you look into it, please?", "Kind regards, {person}", "I hope somebody can tell me more.", "({person}, {place})"),
)  # fmt: skip
TEXT_KEYS = Wordings(
    train=("text", "message", "ticket", "body", "note", "request", "description", "content", "report", "mail", "comment", "summary", "said", "subject", "question", "case", "entry"),
    calibration=("remark",), held_out=("details", "message_text", "problem", "transcript"),
)  # fmt: skip
HEADS = Wordings(  # lines around a message
    train=("From: {person}\n\n{s}", "From: {person}, {place}\nReference: {code}\n\n{s}", "[{code}] {s}", "{person} ({place}):\n{s}", "Reference {code}\n{s}", "{s}\n--\n{person}, {place}", "{person}: {s}", "> {s}", "- {s}", "* {code}: {s}", "Chat with {person}\n{person}: {s}",
           "Date: {day}\nFrom: {person}\n{s}", "\"{s}\"", "{day}, {person}: \"{s}\"", "#{code} | {person} | {s}", "New message from {person}: {s}", "Voice message of {person}: {s}", "Opened by {person} on {day}\n{s}"),
    calibration=("{code} | {s}",), held_out=("{day} - {person}\n{s}", "Message {code}, {person}: {s}", "({code}) {s}"),
)  # fmt: skip


def spread(line: str) -> tuple[str, ...]:
    """Every reading of a line such as `it is [so;very] cold`, at most MOST, evenly chosen."""
    pieces = [piece[1:-1].split(";") if piece.startswith("[") else [piece] for piece in re.split(r"(\[[^\]]*\])", line)]
    every = [re.sub(" +", " ", "".join(parts)).strip() for parts in itertools.product(*pieces)]
    step = -(-len(every) // MOST)
    return tuple(every[::step])


def lines(text: str, mark: str) -> tuple[str, ...]:
    """Every reading of the lines that a mark separates."""
    return tuple(dict.fromkeys(sentence for line in text.split(mark) for sentence in spread(line)))


def wordings(train: str, calibration: str, held_out: str, mark: str = "|") -> Wordings:
    """Sentences of three splits, each a text of lines with alternatives."""
    return Wordings(lines(train, mark), lines(calibration, mark), lines(held_out, mark))


def pairs(text: str) -> frozenset[frozenset[str]]:
    """Pairs such as `this that|one other`, in any order of their two."""
    return frozenset(frozenset(pair.split()) for pair in text.split("|"))


def dressed(rng: random.Random, split: Split, text: str) -> str:
    """The text behind an opening or before a closing, or neither, or both."""
    names = {"person": word(rng, "person", split), "place": word(rng, "place", split), "code": code(rng)}
    if rng.random() < 0.45:
        opening = OPENINGS.pick(rng, split, **names)
        text = _lowered(text) if opening.endswith(",") and rng.random() < 0.6 else text
        text = opening + text if opening.endswith("\n") else f"{opening} {text}"
    if rng.random() < 0.4:
        text = f"{text} {CLOSINGS.pick(rng, split, **names)}"
    return text


def _lowered(text: str) -> str:
    """The text as it goes on behind a comma, where its first word is not always written large."""
    first = text.partition(" ")[0]
    return text[:1].lower() + text[1:] if first in SMALL else text


def wrapped(rng: random.Random, split: Split, text: str, without: Collection[str] = ()) -> object:
    """The text alone, in lines, or in JSON with some fields that have no bearing, none of them named in `without`."""
    kind = rng.random()
    if kind < 0.5:
        return text
    if kind < 0.62:
        return HEADS.pick(rng, split, s=text, person=word(rng, "person", split), place=word(rng, "place", split), code=code(rng), day=rng.choice(DAYS))
    rows: list[tuple[str, object]] = [(TEXT_KEYS.pick(rng, split), text)]
    others = [row for row in _fields(rng, split) if row[0] not in without and row[0] != rows[0][0]]
    rows += rng.sample(others, rng.choice((0, 1, 2, 2, 3, 4)))
    rng.shuffle(rows)
    state: dict[str, object] = dict(rows)
    if rng.random() < 0.15:
        return {rng.choice(("ticket", "item", "data", "input", "event")): state}
    return [state] if rng.random() < 0.04 else state


def _fields(rng: random.Random, split: Split) -> list[tuple[str, object]]:
    """What systems write beside a message."""
    person, other, place = word(rng, "person", split), word(rng, "person", split), word(rng, "place", split)
    day, number = rng.choice(DAYS), rng.randint(1, 90)
    rows: list[tuple[str, object]] = [
        ("id", code(rng)), ("from", person), ("city", place), ("customer", {"name": person, "city": place, "orders": number}),
    ]  # fmt: skip
    if split == "train":
        rows += [
            ("floor", rng.randint(0, 12)), ("opened_by", person), ("since", rng.choice((day, "noon", "this morning", f"{rng.randint(6, 19)}:30"))),
            ("priority", rng.choice(("low", "normal", "medium", "high", 1, 2, 3))), ("channel", rng.choice(("chat", "mail", "phone", "web form", "desk"))),
            ("status", rng.choice(("new", "open", "waiting"))), ("building", place), ("number", number), ("author", person), ("copy", [person, other]), ("language", "en"),
            ("day", day), ("seen", rng.random() < 0.5), ("replies", rng.randint(0, 5)), ("site", place), ("reference", code(rng)), ("age_minutes", number), ("user", {"name": person, "since": 2000 + number % 25}),
            ("title", rng.choice(("Question", "Please read", "Hello", "Message", "Request", code(rng)))), ("written", f"{day} {rng.randint(6, 19)}:15"), ("member", True), ("office", f"{place} {rng.randint(1, 9)}"),
        ]  # fmt: skip
    else:
        rows += [
            ("level", rng.randint(0, 12)), ("reported_by", person), ("received", f"{day} {rng.randint(6, 19)}:45"), ("urgency", rng.choice(("low", "normal", "high"))),
            ("via", rng.choice(("chat", "mail", "phone"))), ("branch", place), ("assignee", None), ("answers", rng.randint(0, 5)),
        ]  # fmt: skip
    return rows
