"""Document: a long text, of which one line answers the question, or a rule of it and a case.

Covers: notes of many kinds (a diary by days, a log with clock times, minutes by points, mails, plain lines), numbered rules,
both together; questions about who, what, where, when and how many, what comes first or last, what is mentioned at all, how
often something is said, and what a rule says to a case. Every thing has one line, so that one answer is right. Does not
cover: answers that need several lines but for counts and one rule with one case.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import document_rules, document_words, rules
from kit.checkpoint.training.tasks.document_words import (
    NOTES,
    ROOMS,
    RULES,
    STATES,
    STATUS,
    THINGS,
    Topic,
)
from kit.checkpoint.training.tasks.orders import STEPS
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
from kit.checkpoint.training.vocabulary import DAYS, invented, word, words

LEVELS = 5
LETTERS = ((80, 160), (300, 600), (700, 1200), (1200, 1800), (1900, 2500))  # of the lines together, by level
MOST_OPTIONS = (3, 4, 5, 6, 8)
NOTE_NAMES = {
    "day": ("diary", "diary", "week report", "journal", "notebook"), "date": ("diary", "calendar", "logbook", "chronicle"),
    "time": ("log", "log", "shift log", "duty log", "record"), "point": ("record of the meeting", "protocol", "agenda", "list"),
    "sender": ("mail thread", "mail thread", "message thread", "chat"), "": ("note", "note to the next shift", "letter", "report", "notice"),
}  # fmt: skip
ENTERED = ("day", "date", "time", "point")  # heads that an entry can be found by
RULE_NAMES = ("handbook", "house order", "set of rules", "standing order", "rule book", "guide", "manual")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
LIKE_STATES = {"damp", "foggy", "fresh", "hidden", "loud", "modern", "quick", "quiet", "rapid", "shallow", "silent", "tiny", "little", "heavy", "wise", "warm", "tall", "brief"}
PARTNERS = {"who": "other", "other": "who", "first": "then", "then": "first"}
UNIQUE = {"who", "other", "place", "town", "n", "state", "role", "first", "then"}  # what no two lines of a topic share


@dataclass
class Line:
    """text: without its head. values: of the topic's slots. when: what its head calls it."""

    text: str
    topic: Topic | None = None
    values: dict[str, str] = field(default_factory=dict)
    when: str = ""
    head: str = ""

    @property
    def thing(self) -> str:
        return self.values.get("thing") or self.values.get("things", "")


class Writer:
    """Writes lines whose things are all different, and whose other words are within a topic."""

    def __init__(self, rng: random.Random, split: Split) -> None:
        self.rng, self.split = rng, split
        self.nouns, self.adjectives = _things(split), _adjectives(split)
        self.used: set[object] = set()

    def fresh(self, kind: object, draw: Callable[[], str]) -> str | None:
        """A value that this kind has not had; None where there seems to be none left."""
        for _ in range(12):
            value = draw()
            if (kind, value) not in self.used:
                self.used.add((kind, value))
                return value
        return None

    def pair(self) -> str:
        """A thing's adjective and noun, as no other thing has them."""
        while True:
            made = f"{self.rng.choice(self.adjectives)} {self.rng.choice(self.nouns)}"
            if made not in self.used:
                self.used.add(made)
                return made

    def person(self) -> str:
        return invented(self.rng, self.split, 2).capitalize() if self.rng.random() < 0.4 else word(self.rng, "person", self.split)

    def line(self, topic: Topic, given: dict[str, str] | None = None) -> Line | None:
        """One line of a topic; None where its words are used up."""
        rng, split = self.rng, self.split
        values = dict(given or {})
        said = rng.choice(topic.said.of(split))
        several = "{things}" in said
        pair = self.pair()
        values |= {"things": plural(pair)} if several else {"thing": f"the {pair}"}
        draws: dict[str, Callable[[], str]] = {
            "who": self.person, "other": self.person, "place": lambda: rng.choice(ROOMS.of(split)) if rng.random() < 0.85 else f"room {rng.randint(1, 60)}",
            "town": lambda: word(rng, "place", split) if rng.random() < 0.6 else invented(rng, split, 2).capitalize(), "n": lambda: str(rng.randint(2, 4) if rng.random() < 0.3 else rng.randint(2, 48)),
            "day": lambda: rng.choice(DAYS), "role": lambda: rng.choice(rules.BOSSES.of(split)), "first": lambda: rng.choice(STEPS.of(split)), "then": lambda: rng.choice(STEPS.of(split)),
        }  # fmt: skip
        for slot in topic.slots:
            if slot in values or slot in ("thing", "things"):
                continue
            kind = "people" if slot in ("who", "other") else slot  # who speaks with whom: neither of them twice
            if slot == "state":
                made = self._state()
            else:
                made = self.fresh((topic.name, kind), draws[slot]) if slot in UNIQUE else draws[slot]()
            if made is None:
                return None
            values[slot] = made
        if values.get("first") is not None and values["first"] == values["then"]:
            return None
        return Line(sentence_case(said.format(**_capitals(values))), topic, values)

    def _state(self) -> str | None:
        """A word for how a thing is, of a group that no other line has."""
        group = self.fresh("states", lambda: self.rng.choice(STATES.of(self.split)))
        return self.rng.choice(group.split(";")) if group else None


@dataclass
class Document:
    """lines: in order. doc: what it is called. heads: what is asked for under WHEN, "" without. state: as it is sent."""

    lines: list[Line]
    doc: str
    heads: str
    state: object
    writer: Writer


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
    document = _document(rng, split, level)
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


# ---------------------------------------------------------------- the text


def _document(rng: random.Random, split: Split, level: int, extra: Sequence[Line] = (), noted: Sequence[Line] = (), writer: Writer | None = None) -> Document:
    """Notes, rules or both, `extra` among the rules and `noted` among the notes, of the level's length."""
    writer = writer or Writer(rng, split)
    wanted = rng.randint(*LETTERS[level])
    kind = rng.random()
    with_rules = bool(extra) or (not noted and kind < 0.3) or (level > 0 and kind > 0.75)
    with_notes = bool(noted) or not with_rules or (level > 0 and kind > 0.75)
    share = rng.uniform(0.3, 0.7) if with_rules and with_notes else 1.0
    rule_lines = _filled(rng, writer, RULES, wanted * share, extra) if with_rules else []
    note_lines = _filled(rng, writer, NOTES, wanted * (1 - share if with_rules else 1.0), noted) if with_notes else []
    heads = _headed(rng, split, note_lines) if note_lines else ""
    names = rng.choice(NOTE_NAMES[heads]), rng.choice(RULE_NAMES)
    if rule_lines:
        form = rng.choice(("{n}. ", "Rule {n}: ", "Rule {n}. ", "§ {n} ", "({n}) "))
        first = rng.choice((1, 1, 1, rng.randint(2, 40)))
        for n, line in enumerate(rule_lines):
            line.when, line.head = f"rule {first + n}", form.format(n=first + n)
    doc = "text" if rule_lines and note_lines else names[1] if rule_lines else names[0]
    state = _state(rng, note_lines, rule_lines, names)
    asked = "rule" if not note_lines else heads if not rule_lines and heads in ENTERED else ""
    return Document([*rule_lines, *note_lines], doc, asked, state, writer)


def _filled(rng: random.Random, writer: Writer, topics: Sequence[Topic], letters: float, given: Sequence[Line]) -> list[Line]:
    """Lines of topics up to so many letters, two at least, with those given somewhere among them."""
    lines: list[Line] = []
    taken = sum(len(line.text) for line in given)
    tails = rng.random() * 0.4 if letters > 600 else 0.0
    while taken < letters or len(lines) + len(given) < 2:
        line = writer.line(rng.choice(topics))
        if line is None:
            continue
        if rng.random() < tails:
            line.text = f"{line.text} {document_words.TAILS.pick(rng, writer.split)}"
        lines.append(line)
        taken += len(line.text) + 4
    for line in given:
        lines.insert(rng.randint(0, len(lines)), line)
    return lines


def _headed(rng: random.Random, split: Split, lines: list[Line]) -> str:
    """Give every line of notes its head; what heads are: days, dates, times, points, senders, or nothing."""
    kind = rng.choice(("day", "date", "time", "time", "point", "sender", "", ""))
    if kind == "day":
        form, first = rng.choice(("{d}: ", "{d}. ", "{d} - ", "On {d}: ")), rng.randrange(7) if len(lines) <= 7 else 0
        days = [*DAYS, *DAYS][first : first + min(7, len(lines))]
        for n, line in enumerate(lines):
            line.when = days[n * len(days) // len(lines)]
            line.head = form.format(d=line.when)
    elif kind == "date":
        form, month, days_of = rng.choice(("{d}: ", "{d} ", "[{d}] ", "{d} - ")), rng.choice(MONTHS), sorted(rng.sample(range(1, 29), min(28, len(lines))))
        for n, line in enumerate(lines):
            line.when = f"{days_of[n * len(days_of) // len(lines)]} {month}"
            line.head = form.format(d=line.when)
    elif kind == "time":
        form = rng.choice(("{d} ", "[{d}] ", "{d} - ", "{d}: "))
        for line, minute in zip(lines, sorted(rng.sample(range(300, 1430), len(lines))), strict=True):
            line.when = f"{minute // 60:02}:{minute % 60:02}"
            line.head = form.format(d=line.when)
    elif kind == "point":
        form = rng.choice(("{n}. ", "{n}) ", "Point {n}: ", "({n}) "))
        for n, line in enumerate(lines):
            line.when, line.head = f"point {n + 1}", form.format(n=n + 1)
    elif kind == "sender":
        form, writers = rng.choice(("{d}: ", "From {d}: ", "<{d}> ")), [word(rng, "person", split) for _ in range(min(len(lines), 4))]
        for line in lines:
            line.head = form.format(d=rng.choice(writers))
    else:
        form = rng.choice(("", "", "- ", "* "))
        for line in lines:
            line.head = form
    return kind


def _state(rng: random.Random, notes: Sequence[Line], ruled: Sequence[Line], names: tuple[str, str]) -> object:
    """The text as a string, a list of lines, or JSON with a section for each kind of lines."""
    sections = [(name, [f"{line.head}{line.text}" for line in lines]) for name, lines in ((names[1], ruled), (names[0], notes)) if lines]
    if rng.random() < 0.5:
        sections.reverse()
    plain = all(not line.head or line.head[0] in "-*" for line in (*notes, *ruled))
    glue = " " if plain and rng.random() < 0.6 else "\n" if rng.random() < 0.85 else " "
    kind = rng.random()
    if kind < 0.2:
        return {name.replace(" ", "_"): lines if rng.random() < 0.5 else glue.join(lines) for name, lines in sections}
    if kind < 0.3 and len(sections) == 1:
        return sections[0][1]
    headed = len(sections) > 1 or rng.random() < 0.4
    return "\n\n".join(f"{sentence_case(name)}\n{glue.join(lines)}" if headed else glue.join(lines) for name, lines in sections)


# ---------------------------------------------------------------- the questions


def _slot(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Who, what, where, when, how many: one slot of one line."""
    line = rng.choice([line for line in document.lines if line.topic])
    assert line.topic is not None
    slot = rng.choice(list(line.topic.asks))
    values = line.values | {"person": document.writer.person()}
    asked = sentence_case(rng.choice(line.topic.asks[slot].of(split)).format(**_capitals(values)))
    right = line.values.get(slot) or line.thing
    if slot == "n" and int(right) <= 4 and rng.random() < 0.7:
        texts = [str(n) for n in range(5)]
        return Part(document.state, score(asked, texts), int(right), reason=f"{_told(line)} {right}")
    others = _others(rng, split, document, line, slot, right, _options(rng, level))
    partner = line.values.get(PARTNERS.get(slot, ""))
    if partner and partner not in asked and rng.random() < 0.6:  # the other one of the same line
        others[0] = partner
    return Part(document.state, *choice(rng, asked, right, others), reason=f"{_told(line)} {right}")


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
    asked = document_words.CLAIMED.pick(rng, split, s=sentence_case(said.format(**_capitals(values))), doc=document.doc)
    return Part(document.state, *yes_or_no(rng, split, asked, answer), reason=f"{_told(line)} {verdict(answer)}")


def _mentioned(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Whether there is any line about a thing."""
    lines, answer = _single(document), rng.random() < 0.5
    if not lines:
        return _slot(rng, split, level, document)
    line = rng.choice(lines)
    thing = line.thing if answer else _plain_thing(document.writer)
    asked = sentence_case(document_words.MENTIONED.pick(rng, split, thing=thing, doc=document.doc))
    return Part(document.state, *yes_or_no(rng, split, asked, answer, what="mentioned"), reason=f"{_told(line) if answer else 'no line'}: {verdict(answer)}")


def _unmentioned(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Which thing has no line."""
    lines = _single(document)
    if not lines:
        return _slot(rng, split, level, document)
    shown = [line.thing for line in rng.sample(lines, min(len(lines), _options(rng, level) - 1))]
    right = _plain_thing(document.writer)
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
    return Part(document.state, *choice(rng, asked, right.thing, others), reason=_told(right))


def _when(rng: random.Random, split: Split, level: int, document: Document) -> Part:
    """Under which day, time or number a thing stands."""
    every = list(dict.fromkeys(line.when for line in document.lines if line.when))
    lines = [line for line in _single(document) if line.when]
    if len(every) < 2 or not lines:
        return _slot(rng, split, level, document)
    line = rng.choice(lines)
    asked = sentence_case(document_words.WHEN.pick(rng, split, doc=document.doc, head=document.heads, thing=line.thing, Thing=sentence_case(line.thing)))
    others = [when for when in every if when != line.when]
    return Part(document.state, *choice(rng, asked, line.when, rng.sample(others, min(len(others), _options(rng, level) - 1))), reason=f"{_told(line)} {line.when}")


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
    return Part(document.state, *choice(rng, asked, line.thing, rng.sample(others, min(len(others), _options(rng, level) - 1))), reason=_told(line))


def _counted(rng: random.Random, split: Split, level: int) -> Part:
    """How many things are called the same: none to four, among things called otherwise."""
    writer = Writer(rng, split)
    group = rng.choice(STATES.of(split))
    state, right = rng.choice(group.split(";")), rng.randint(0, 4 if level > 1 else 2)
    writer.used.add(("states", group))
    lines = [writer.line(STATUS, {"state": state}) for _ in range(right)]
    document = _document(rng, split, level, noted=[line for line in lines if line] or [_plain_line(writer)], writer=writer)
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
        made.append(rng.choice(document_rules.KINDS)(rng, split, person, matters[n % len(matters)], f"the {writer.pair()}", rooms[n]))
    made = made[: len(matters)]
    cases = [Line(applied.case) for applied in made] if noted else []
    writer.used |= {((topic.name, "people"), applied.person) for topic in NOTES for applied in made}  # they do nothing else
    document = _document(rng, split, level, [Line(applied.rule) for applied in made], cases, writer=writer)
    question, right, told = document_rules.ask(rng, split, rng.choice(made), noted)
    return Part(document.state, question, right, reason=told)


# ---------------------------------------------------------------- candidates and words


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
    """New values of a slot."""
    writer, made = document.writer, list[str]()
    draws: dict[str, Callable[[], str]] = {
        "who": writer.person, "other": writer.person, "place": lambda: rng.choice(ROOMS.of(split)), "town": lambda: invented(rng, split, 2).capitalize(),
        "n": lambda: str(rng.randint(2, 48)), "day": lambda: rng.choice(DAYS), "role": lambda: rng.choice(rules.BOSSES.of(split)), "first": lambda: rng.choice(STEPS.of(split)),
        "then": lambda: rng.choice(STEPS.of(split)), "thing": lambda: _plain_thing(writer), "state": lambda: rng.choice(rng.choice(STATES.of(split)).split(";")),
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


def _plain_thing(writer: Writer) -> str:
    return f"the {writer.pair()}"


def _plain_line(writer: Writer) -> Line:
    line = None
    while line is None:
        line = writer.line(document_words.MOVED)
    return line


def _told(line: Line) -> str:
    """What a reason gives of a line: its head and its words."""
    return f"{line.head}{line.text}"


def _capitals(values: dict[str, str]) -> dict[str, str]:
    return values | {sentence_case(slot): sentence_case(value) for slot, value in values.items()}


@functools.cache
def _things(split: Split) -> tuple[str, ...]:
    return tuple(noun for noun in words("noun", split) if noun in THINGS)


@functools.cache
def _adjectives(split: Split) -> tuple[str, ...]:
    """Those that say nothing of how a thing is: "which thing is rusty?" must not be asked beside the rusty key."""
    states = set(" ".join(STATES.train + STATES.calibration + STATES.held_out).replace(";", " ").split())
    return tuple(text for text in words("adjective", split) if text not in states | LIKE_STATES)


def plural(noun: str) -> str:
    """The plural of a noun, the last of some words."""
    if noun.endswith(("ch", "sh", "s", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    if noun.endswith(("leaf", "shelf", "scarf")):
        return f"{noun[:-1]}ves"
    return f"{noun}s"
