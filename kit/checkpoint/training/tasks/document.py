"""Document: a long text, of which one line answers the question, or a rule of it and a case.

Covers: questions about who, what, where, when and how many, what comes first or last, what is mentioned at all, how often
something is said, and what a rule says to a case; their candidates, of which one is right. Does not cover: how the text is
written (`document_text`), answers that need several lines but for counts and one rule with one case.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import document_rules, document_words, rules
from kit.checkpoint.training.tasks.document_text import Document, Line, Writer, worded, write
from kit.checkpoint.training.tasks.document_words import ROOMS, RULES, STATES, STATUS
from kit.checkpoint.training.tasks.parts import (
    Part,
    choice,
    listed,
    score,
    sentence_case,
    single,
    verdict,
    yes_or_no,
)
from kit.checkpoint.training.vocabulary import invented

LEVELS = 5
MOST_OPTIONS = (3, 4, 5, 6, 8)
PARTNERS = {"who": "other", "other": "who", "first": "then", "then": "first"}


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two to four lines; 1: to ten; 2: to twenty; 3: to thirty; 4: to fifty, about a thousand tokens."""
    return single(rng, "document", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """A document and a question about it."""
    kind = rng.random()
    if kind < 0.22 and level > 0:
        return _applied(rng, split, level)
    if kind < 0.3 and level > 0:
        return _counted(rng, split, level)
    document = write(rng, split, level)
    asks: list[Callable[[random.Random, Split, int, Document], Part]] = [_slot, _slot, _slot, _slot, _claim, _claim, _mentioned]
    if level > 0:
        asks += [_slot, _slot, _end, _unmentioned]
    if document.heads:
        asks += [_when, _at]
    made = rng.choice(asks)(rng, split, level, document)
    if rng.random() < 0.4:
        asked = document_words.FRAMES.pick(rng, split, Q=made.question["instructions"], doc=document.doc)
        made.question["instructions"] = asked
    return made


# ---------------------------------------------------------------- the questions


def _slot(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Who, what, where, when, how many: one slot of one line."""
    line = rng.choice([line for line in document.lines if line.topic])
    assert line.topic is not None
    slot = rng.choice(list(line.topic.asks))
    values = line.values | {"person": document.writer.person()}
    asked = worded(rng.choice(line.topic.asks[slot].of(split)), values)
    right = line.values.get(slot) or line.thing
    if slot == "n" and int(right) <= 4 and rng.random() < 0.7:
        texts = [str(n) for n in range(5)]
        return Part(document.state, score(asked, texts), int(right), reason=f"{line.written} {right}")
    others = _others(rng, split, document, line, slot, right, _options(rng, level))
    partner = line.values.get(PARTNERS.get(slot, ""))
    if partner and partner not in asked and rng.random() < 0.6:  # the other one of the same line
        others[0] = partner
    return Part(document.state, *choice(rng, asked, right, others), reason=f"{line.written} {right}")


def _claim(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """A sentence that a line says in other words, or one of its values is another's."""
    line = rng.choice([line for line in document.lines if line.topic])
    assert line.topic is not None
    answer = rng.random() < 0.5
    said = rng.choice(line.topic.said.of(split))
    values = dict(line.values)
    if not answer:
        slots = [slot for slot in line.topic.slots if f"{{{slot}}}" in said and slot not in ("thing", "things", "then")]
        slot = rng.choice(slots)
        others = _others(rng, split, document, line, slot, values[slot], 2)
        if not others:  # of a split with few words all may stand in the line
            return _slot(rng, split, level, document)
        values[slot] = others[0]
    asked = document_words.CLAIMED.pick(rng, split, s=worded(said, values), doc=document.doc)
    return Part(document.state, *yes_or_no(rng, split, asked, answer), reason=f"{line.written} {verdict(answer)}")


def _mentioned(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Whether there is any line about a thing."""
    lines, answer = _single(document), rng.random() < 0.5
    if not lines:
        return _slot(rng, split, level, document)
    line = rng.choice(lines)
    thing = line.thing if answer else document.writer.thing()
    asked = sentence_case(document_words.MENTIONED.pick(rng, split, thing=thing, doc=document.doc))
    return Part(document.state, *yes_or_no(rng, split, asked, answer, what="mentioned"), reason=f"{line.written if answer else 'no line'}: {verdict(answer)}")


def _unmentioned(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Which thing has no line."""
    lines = _single(document)
    if not lines:
        return _slot(rng, split, level, document)
    shown = [line.thing for line in rng.sample(lines, min(len(lines), _options(rng, level) - 1))]
    right = document.writer.thing()
    asked = document_words.UNMENTIONED.pick(rng, split, doc=document.doc)
    return Part(document.state, *choice(rng, asked, right, shown), reason=f"no line: {right}")


def _end(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Which of some things is mentioned first, or last: within one section, whose order is given."""
    section = [line for line in document.lines if line.topic and (line.topic in RULES) == (document.lines[-1].topic in RULES)]
    if len(section) < 2 or len({line.topic in RULES for line in document.lines}) > 1:
        return _slot(rng, split, level, document)
    places = sorted(rng.sample(range(len(section)), min(len(section), _options(rng, level))))
    last = rng.random() < 0.5
    right = section[places[-1 if last else 0]]
    asked = (document_words.LAST if last else document_words.FIRST).pick(rng, split, doc=document.doc)
    others = [section[n].thing for n in places if section[n] is not right]
    return Part(document.state, *choice(rng, asked, right.thing, others), reason=right.written)


def _when(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Under which day, time or number a thing stands."""
    every = list(dict.fromkeys(line.when for line in document.lines if line.when))
    lines = [line for line in _single(document) if line.when]
    if len(every) < 2 or not lines:
        return _slot(rng, split, level, document)
    line = rng.choice(lines)
    asked = sentence_case(document_words.WHEN.pick(rng, split, doc=document.doc, head=document.heads, thing=line.thing, Thing=sentence_case(line.thing)))
    others = [when for when in every if when != line.when]
    return Part(document.state, *choice(rng, asked, line.when, rng.sample(others, min(len(others), _options(rng, level) - 1))), reason=f"{line.written} {line.when}")


def _at(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Which thing stands under a day, time or number."""
    lines = [line for line in document.lines if line.topic and line.when]
    if not lines:
        return _slot(rng, split, level, document)
    line = rng.choice(lines)
    others = [other.thing for other in lines if other.when != line.when]
    if not others:
        return _slot(rng, split, level, document)
    asked = sentence_case(document_words.AT.pick(rng, split, when=line.when))
    return Part(document.state, *choice(rng, asked, line.thing, rng.sample(others, min(len(others), _options(rng, level) - 1))), reason=line.written)


def _counted(rng: random.Random, split: Split, level: int) -> Part:
    """How many things are called the same: none to four, among things called otherwise."""
    writer = Writer(rng, split)
    group = rng.choice(STATES.of(split))
    state, right = rng.choice(group.split(";")), rng.randint(0, 4 if level > 1 else 2)
    writer.reserve_states(group)
    lines = [writer.line(STATUS, {"state": state}) for _ in range(right)]
    document = write(rng, split, level, noted=[line for line in lines if line] or [_plain_line(writer)], writer=writer)
    asked = document_words.COUNTED.pick(rng, split, state=state)
    top = max(right, rng.randint(2, 4))
    texts = [str(n) for n in range(top + 1)]
    question = score(asked, texts) if rng.random() < 0.7 else listed(rng, asked, texts)
    things = ", ".join(line.thing for line in document.lines if line.values.get("state") == state)
    return Part(document.state, question, right, reason=f"{things or 'nothing'}: {right}")


def _applied(rng: random.Random, split: Split, level: int) -> Part:
    """A rule of the document and a case: told in the question, or a line of the notes beside the rules."""
    writer = Writer(rng, split)
    made: list[document_rules.Applied] = []
    matters = rng.sample(rules.MATTERS.of(split), min(3, len(rules.MATTERS.of(split))))
    rooms = rng.sample(ROOMS.of(split), 3)
    noted = rng.random() < 0.5
    for n in range(rng.randint(1, 1 + min(level, 2))):
        person = writer.fresh("cases", writer.person) or invented(rng, split, 3).capitalize()
        made.append(rng.choice(document_rules.KINDS)(rng, split, person, matters[n % len(matters)], writer.thing(), rooms[n]))
    made = made[: len(matters)]
    cases = [Line(applied.case) for applied in made] if noted else []
    for applied in made:
        writer.reserve_person(applied.person)  # who does nothing else
    document = write(rng, split, level, [Line(applied.rule) for applied in made], cases, writer=writer)
    question, right, told = document_rules.ask(rng, split, rng.choice(made), noted)
    return Part(document.state, question, right, reason=told)


# ---------------------------------------------------------------- candidates and lines to ask about


def _options(rng: random.Random, level: int) -> int:
    return rng.randint(2, MOST_OPTIONS[level])


def _others(rng: random.Random, split: Split, document: Document, line: Line, slot: str, right: str, count: int) -> list[str]:
    """Other values of a slot, most of them other lines' own; as many as make `count` with the right one."""
    found: dict[str, None] = {}
    rest = [other for other in document.lines if other is not line]
    rng.shuffle(rest)
    for other in rest:
        value = other.values.get(slot) or (other.values.get("who") if slot == "other" else other.values.get("place") if slot == "place" else None)
        if slot == "thing":  # not of a line that shares a place or a person, of which the same may be said
            value = None if set(other.values.values()) & set(line.values.values()) else other.values.get("thing")
        if value and value != right and value not in line.values.values() and len(found) < count - 1 and rng.random() < 0.85:
            found[value] = None
    return [*found, *_fresh(rng, split, document, slot, {right, *found, *line.values.values()}, count - 1 - len(found))]


def _fresh(rng: random.Random, split: Split, document: Document, slot: str, taken: set[str], count: int) -> list[str]:
    """New values of a slot, drawn as for lines, but named rooms, invented towns and numbers drawn evenly."""
    writer, made = document.writer, list[str]()
    draws: dict[str, Callable[[], str]] = writer.draws | {
        "place": lambda: rng.choice(ROOMS.of(split)), "town": lambda: invented(rng, split, 2).capitalize(), "n": lambda: str(rng.randint(2, 48)),
        "thing": writer.thing, "state": lambda: rng.choice(rng.choice(STATES.of(split)).split(";")),
    }  # fmt: skip
    for _ in range(20 * count):
        value = draws[slot]()
        if len(made) < count and value not in taken:
            taken.add(value)
            made.append(value)
    return made


def _single(document: Document) -> list[Line]:
    """The lines about one thing, which a question can name without looking whether it is or they are."""
    return [line for line in document.lines if "thing" in line.values]


def _plain_line(writer: Writer) -> Line:
    """A line that does not say how its thing is."""
    line = None
    while line is None:
        line = writer.line(document_words.MOVED)
    return line
