"""Amid: a text family's state amid lines that have no bearing on the question, from a few to a page of them.

Covers: questions of the text families whose state stands somewhere in a log, a diary, a list or a letter, or in a record beside
one. Does not cover: documents whose own lines are asked about.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import facts, lookup, match, numbers, policy, prose, route, score, triage
from kit.checkpoint.training.tasks.parts import Part, candidate_texts, sentence_case, single
from kit.checkpoint.training.vocabulary import DAYS, Wordings, word

LEVELS = 5
LINES = ((2, 4), (4, 9), (9, 20), (20, 40), (44, 72))  # by level
FAMILIES = (facts, lookup, match, numbers, policy, route, score, triage)
DEEPEST = 3  # level of the text inside: its own difficulty is learned elsewhere
TRIES = 6  # lines drawn for one that shares no word with the question

LINE = Wordings(
    train=("{who} {did} the {thing}.", "{who} {did} the {thing} in {place}.", "{who} {did} the {adjective} {thing}.", "{who} {did} the {thing}, as {other} had asked.", "The {thing} {was}.", "The {adjective} {thing} {was}.", "{who} and {other} {did} the {thing}.", "In {place} somebody {did} the {thing}.",
           "{other} was there when {who} {did} the {thing}.", "For {other} {who} {did} the {thing}.", "The {thing} in {place} {was}.", "It was {who} who {did} the {thing}.", "{who} will see to the {thing}.", "Then {who} {did} the {thing}.", "By and by {who} {did} the {thing}.", "Some time in between {who} {did} the {thing}."),
    calibration=("The {thing} was with {who}.",),
    held_out=("{who}: {did} the {thing}, nothing else.", "Up to here {who} {did} the {thing}.", "After that the {thing} {was}.", "{who} says that the {thing} {was}."),
)  # fmt: skip
DID = Wordings(
    train=("moved", "brought", "painted", "washed", "carried", "drew", "lifted", "turned", "folded", "wrapped", "praised", "lent", "borrowed", "dusted", "weighed", "measured", "photographed", "described", "hid", "fetched", "swept", "looked at", "walked past", "sat beside", "waited for", "spoke of", "dreamt of", "laughed about"),
    calibration=("admired",), held_out=("polished", "picked up", "put down", "thought of", "stood by"),
)  # fmt: skip
WAS = Wordings(
    train=("stands where it stood", "was left as it is", "came back", "is as before", "looks well", "was in the way", "is by the wall", "went along", "stays here", "has a new colour", "made everybody smile", "was much liked", "is nobody's", "will be seen to"),
    calibration=("is with us",), held_out=("lies in the sun", "was nice to look at", "remains"),
)  # fmt: skip
HEADS = Wordings(  # what the text is called where a word goes before it
    train=("Then this: {text}", "Note: {text}", "Received: {text}", "What matters: {text}", "It says here: {text}", "Read out: {text}", "Passed on: {text}", "On the board: {text}", "Please mind: {text}", "From the box: {text}"),
    calibration=("Now this: {text}",), held_out=("Here it is: {text}", "Taken down: {text}"),
)  # fmt: skip
AROUND = ("log", "diary", "notes", "history", "remarks", "thread", "minutes", "chat", "background", "journal")
KEYS = ("entry", "record", "case", "item", "request", "message", "text", "subject", "input", "data")
WORD = re.compile(r"[^\W\d_]{4,}")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two to four lines around a short text; 4: a page of them, mostly 600 to 1,000 tokens."""
    return single(rng, "amid", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """A text family's question, its state surrounded."""
    family = rng.choice(FAMILIES)
    inner: Part = family.part(rng, split, rng.randint(0, min(level, DEEPEST, family.LEVELS - 1)))
    asked = " ".join([inner.question["instructions"], *candidate_texts(inner.question)])
    taken = {found.lower() for found in WORD.findall(asked)}
    around = [_line(rng, split, taken) for _ in range(rng.randint(*LINES[level]))]
    return replace(inner, state=_placed(rng, split, inner.state, around))


def _line(rng: random.Random, split: Split, taken: set[str]) -> str:
    """A line with none of the words taken, where one is found soon."""
    for _ in range(TRIES):
        line = prose.sentence(rng, split) if rng.random() < 0.3 else _happening(rng, split)
        if not any(found.lower() in taken for found in WORD.findall(line)):
            break
    return line


def _happening(rng: random.Random, split: Split) -> str:
    return LINE.pick(
        rng, split, who=word(rng, "person", split), other=word(rng, "person", split), place=word(rng, "place", split),
        thing=word(rng, "noun", split), adjective=word(rng, "adjective", split), did=DID.pick(rng, split), was=WAS.pick(rng, split),
    )  # fmt: skip


def _placed(rng: random.Random, split: Split, state: object, around: list[str]) -> object:
    """The state amid the lines, or in a record beside them."""
    if rng.random() < (0.3 if isinstance(state, str) else 0.6):
        lines: object = around if rng.random() < 0.5 else "\n".join(_marked(rng, around))
        rows: list[tuple[str, object]] = [(rng.choice(AROUND), lines), (rng.choice(KEYS), state)]
        rng.shuffle(rows)
        return dict(rows)
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
    if rng.random() < 0.4:
        text = HEADS.pick(rng, split, text=text)
    before = rng.randint(0, len(around))
    if "\n" not in text and rng.random() < 0.3:
        return " ".join([*around[:before], text, *around[before:]])
    marked = _marked(rng, [*around[:before], sentence_case(text) if isinstance(state, str) else text, *around[before:]])
    return marked if rng.random() < 0.1 else "\n".join(marked)


def _marked(rng: random.Random, lines: list[str]) -> list[str]:
    """The lines with what stands before each: nothing, a dash, a star or a day. No numbers, which some questions are about."""
    kind = rng.randrange(4)
    if kind < 3:
        return [f"{('', '- ', '* ')[kind]}{line}" for line in lines]
    days = sorted(rng.randrange(len(DAYS)) for _ in lines)
    return [f"{DAYS[day]}: {line}" for day, line in zip(days, lines, strict=True)]
