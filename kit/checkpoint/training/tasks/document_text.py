"""The long text of a document: lines of notes and numbered rules, no two of which are about the same thing.

Covers: the lines, drawn from matters of notes and of rules; their heads (days, dates, clock times, points, senders or none); the
length by level; the string or JSON that is sent. Does not cover: the matters and their words (`document_words`), rules with
limits and hours (`document_rules`), what is asked about the text and what is right (`document`).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks import document_words, rules
from kit.checkpoint.training.tasks.document_words import NOTES, ROOMS, RULES, STATES, THINGS, Topic
from kit.checkpoint.training.tasks.orders import STEPS
from kit.checkpoint.training.tasks.parts import sentence_case
from kit.checkpoint.training.vocabulary import DAYS, invented, word, words

LETTERS = ((80, 160), (300, 600), (700, 1200), (1200, 1800), (1900, 2500))  # of the lines together, by level
NOTE_NAMES = {
    "day": ("diary", "diary", "week report", "journal", "notebook"), "date": ("diary", "calendar", "logbook", "chronicle"),
    "time": ("log", "log", "shift log", "duty log", "record"), "point": ("record of the meeting", "protocol", "agenda", "list"),
    "sender": ("mail thread", "mail thread", "message thread", "chat"), "": ("note", "note to the next shift", "letter", "report", "notice"),
}  # fmt: skip
ENTERED = ("day", "date", "time", "point")  # heads that an entry can be found by
RULE_NAMES = ("handbook", "house order", "set of rules", "standing order", "rule book", "guide", "manual")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
LIKE_STATES = {"damp", "foggy", "fresh", "hidden", "loud", "modern", "quick", "quiet", "rapid", "shallow", "silent", "tiny", "little", "heavy", "wise", "warm", "tall", "brief"}
Heads = list[tuple[str, str]]  # by line: what an entry is found by, "" for nothing, and the head as it is written
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

    @property
    def written(self) -> str:
        """As it stands in the text: its head and its words."""
        return f"{self.head}{self.text}"


class Writer:
    """Writes lines whose things are all different, and so are the values of UNIQUE slots within a topic."""

    def __init__(self, rng: random.Random, split: Split) -> None:
        self.rng, self.split = rng, split
        self.nouns, self.adjectives = _things(split), _adjectives(split)
        self.used: set[object] = set()
        self.draws: dict[str, Callable[[], str]] = {  # by slot; a state and a thing are drawn by methods of their own
            "who": self.person, "other": self.person, "place": self._place, "town": self._town, "n": self._number,
            "day": lambda: rng.choice(DAYS), "role": lambda: rng.choice(rules.BOSSES.of(split)),
            "first": lambda: rng.choice(STEPS.of(split)), "then": lambda: rng.choice(STEPS.of(split)),
        }  # fmt: skip

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

    def thing(self) -> str:
        return f"the {self.pair()}"

    def person(self) -> str:
        return invented(self.rng, self.split, 2).capitalize() if self.rng.random() < 0.4 else word(self.rng, "person", self.split)

    def reserve_person(self, person: str) -> None:
        """No line of notes that follows names this person."""
        self.used |= {((topic.name, "people"), person) for topic in NOTES}

    def reserve_states(self, group: str) -> None:
        """No line that follows draws from this group of words what it says of its thing."""
        self.used.add(("states", group))

    def line(self, topic: Topic, given: dict[str, str] | None = None) -> Line | None:
        """One line of a topic; None where its words are used up."""
        values = dict(given or {})
        said = self.rng.choice(topic.said.of(self.split))
        pair = self.pair()
        values |= {"things": plural(pair)} if "{things}" in said else {"thing": f"the {pair}"}
        for slot in topic.slots:
            if slot in values or slot in ("thing", "things"):
                continue
            made = self._value(topic, slot)
            if made is None:
                return None
            values[slot] = made
        if "first" in values and values["first"] == values["then"]:
            return None
        return Line(worded(said, values), topic, values)

    def _value(self, topic: Topic, slot: str) -> str | None:
        """What a slot of a topic's next line is filled with; None where it is used up."""
        if slot == "state":
            return self._state()
        if slot not in UNIQUE:
            return self.draws[slot]()
        kind = "people" if slot in ("who", "other") else slot  # who speaks with whom: neither of them twice
        return self.fresh((topic.name, kind), self.draws[slot])

    def _place(self) -> str:
        return self.rng.choice(ROOMS.of(self.split)) if self.rng.random() < 0.85 else f"room {self.rng.randint(1, 60)}"

    def _town(self) -> str:
        return word(self.rng, "place", self.split) if self.rng.random() < 0.6 else invented(self.rng, self.split, 2).capitalize()

    def _number(self) -> str:
        return str(self.rng.randint(2, 4) if self.rng.random() < 0.3 else self.rng.randint(2, 48))

    def _state(self) -> str | None:
        """A word for how a thing is, of a group that no other line has."""
        group = self.fresh("states", lambda: self.rng.choice(STATES.of(self.split)))
        return self.rng.choice(group.split(";")) if group else None


# ---------------------------------------------------------------- a document


@dataclass
class Document:
    """lines: in order. doc: what it is called. heads: what is asked for under WHEN, "" without. state: as it is sent."""

    lines: list[Line]
    doc: str
    heads: str
    state: object
    writer: Writer


def write(rng: random.Random, split: Split, level: int, ruled: Sequence[Line] = (), noted: Sequence[Line] = (), writer: Writer | None = None) -> Document:
    """Notes, rules or both, `ruled` among the rules and `noted` among the notes, of the level's length."""
    writer = writer or Writer(rng, split)
    wanted = rng.randint(*LETTERS[level])
    kind = rng.random()
    with_rules = bool(ruled) or (not noted and kind < 0.3) or (level > 0 and kind > 0.75)
    with_notes = bool(noted) or not with_rules or (level > 0 and kind > 0.75)
    share = rng.uniform(0.3, 0.7) if with_rules and with_notes else 1.0
    rule_lines = _filled(rng, writer, RULES, wanted * share, ruled) if with_rules else []
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


def _state(rng: random.Random, notes: Sequence[Line], ruled: Sequence[Line], names: tuple[str, str]) -> object:
    """The text as a string, a list of lines, or JSON with a section for each kind of lines."""
    sections = [(name, [line.written for line in lines]) for name, lines in ((names[1], ruled), (names[0], notes)) if lines]
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


# ---------------------------------------------------------------- heads of notes


def _headed(rng: random.Random, split: Split, lines: list[Line]) -> str:
    """Give every line of notes its head; what heads are: days, dates, times, points, senders, or nothing."""
    kind = rng.choice(("day", "date", "time", "time", "point", "sender", "", ""))
    for line, (when, head) in zip(lines, HEADS[kind](rng, split, len(lines)), strict=True):
        line.when, line.head = when, head
    return kind


def _days(rng: random.Random, split: Split, count: int) -> Heads:
    """Days in order from any on, or a whole week of them with several lines each."""
    form = rng.choice(("{d}: ", "{d}. ", "{d} - ", "On {d}: "))
    first = rng.randrange(7) if count <= 7 else 0
    days = [*DAYS, *DAYS][first : first + min(7, count)]
    return [(day, form.format(d=day)) for day in _spread(days, count)]


def _dates(rng: random.Random, split: Split, count: int) -> Heads:
    """Days of one month."""
    form, month = rng.choice(("{d}: ", "{d} ", "[{d}] ", "{d} - ")), rng.choice(MONTHS)
    dates = [f"{day} {month}" for day in sorted(rng.sample(range(1, 29), min(28, count)))]
    return [(date, form.format(d=date)) for date in _spread(dates, count)]


def _times(rng: random.Random, split: Split, count: int) -> Heads:
    """Clock times of one day, all different."""
    form = rng.choice(("{d} ", "[{d}] ", "{d} - ", "{d}: "))
    times = [f"{minute // 60:02}:{minute % 60:02}" for minute in sorted(rng.sample(range(300, 1430), count))]
    return [(time, form.format(d=time)) for time in times]


def _points(rng: random.Random, split: Split, count: int) -> Heads:
    form = rng.choice(("{n}. ", "{n}) ", "Point {n}: ", "({n}) "))
    return [(f"point {n}", form.format(n=n)) for n in range(1, count + 1)]


def _senders(rng: random.Random, split: Split, count: int) -> Heads:
    """Up to four people, each with any number of the lines."""
    form = rng.choice(("{d}: ", "From {d}: ", "<{d}> "))
    writers = [word(rng, "person", split) for _ in range(min(count, 4))]
    return [("", form.format(d=rng.choice(writers))) for _ in range(count)]


def _bare(rng: random.Random, split: Split, count: int) -> Heads:
    return [("", rng.choice(("", "", "- ", "* ")))] * count


HEADS: dict[str, Callable[[random.Random, Split, int], Heads]] = {
    "day": _days, "date": _dates, "time": _times, "point": _points, "sender": _senders, "": _bare,
}  # fmt: skip


def _spread(names: list[str], count: int) -> list[str]:
    """Names in order for so many lines, each for about as many of them."""
    return [names[n * len(names) // count] for n in range(count)]


# ---------------------------------------------------------------- words


def worded(text: str, values: dict[str, str]) -> str:
    """A sentence or a question with its slots filled, {Thing} as {thing} with a capital."""
    return sentence_case(text.format(**values, **{sentence_case(slot): sentence_case(value) for slot, value in values.items()}))


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
