"""Facts: yes or no about a JSON state: equal, larger, contained, there at all, switched on, nested, empty."""

from __future__ import annotations

import random
from typing import Any

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.parts import Part, single, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, several, word, words

EQUAL = Wordings(
    train=("Is {key} {value}?", "Is the {key} equal to {value}?", "Does {key} equal {value}?", "Is {value} the {key}?",
           "Does the record give {value} as {key}?", "Is the value of {key} {value}?", "Has {key} been set to {value}?",
           "{key} is {value}: true or not?", "Does {key} read {value}?", "The {key} is {value}. Is that right?"),
    calibration=("Is {key} set to {value}?", "Does the state give {key} as {value}?", "Is it true that {key} is {value}?"),
    held_out=("Does {key} have the value {value}?", "Is it right that the {key} is {value}?", "Is {value} what {key} reads?"),
)  # fmt: skip
ABOVE = Wordings(
    train=("Is {key} above {value}?", "Is {key} greater than {value}?", "Is {key} more than {value}?", "Does {key} exceed {value}?",
           "Is the {key} larger than {value}?", "Is {key} over {value}?", "Are there more than {value} {key}?"),
    calibration=("Is the value of {key} greater than {value}?", "Is the {key} over {value}?"),
    held_out=("Is the {key} above {value}?", "Is the value of {key} more than {value}?", "Is it true that {key} exceeds {value}?"),
)  # fmt: skip
BELOW = Wordings(
    train=("Is {key} below {value}?", "Is {key} less than {value}?", "Is {key} smaller than {value}?", "Is {key} under {value}?",
           "Is the {key} lower than {value}?", "Are there fewer than {value} {key}?"),
    calibration=("Is the value of {key} less than {value}?", "Is the {key} under {value}?"),
    held_out=("Is the {key} below {value}?", "Is the value of {key} smaller than {value}?", "Is it true that {key} is under {value}?"),
)  # fmt: skip
CONTAINS = Wordings(
    train=("Does {key} contain {value}?", "Is {value} in {key}?", "Is {value} among the {key}?", "Is {value} one of the {key}?",
           "Do the {key} include {value}?", "Is {value} listed under {key}?", "Does the list {key} hold {value}?"),
    calibration=("Is {value} part of {key}?", "Does {key} include {value}?"),
    held_out=("Do the {key} contain {value}?", "Is {value} in the list {key}?", "Can {value} be found among {key}?"),
)  # fmt: skip
PRESENT = Wordings(
    train=("Is there a key {key}?", "Does the record have {key}?", "Is {key} given?", "Is {key} present in the state?",
           "Does the state mention {key}?", "Has the record an entry {key}?"),
    calibration=("Does the state have a key {key}?",), held_out=("Is a value for {key} given?", "Is there an entry {key} in the record?"),
)  # fmt: skip
FLAG_ON = Wordings(
    train=("Is it {key}?", "Is {key} true?", "Is {key} switched on?", "Is the flag {key} set?", "Is the {parent} {key}?",
           "Does the record say {key}?", "Has {key} been switched on?"),
    calibration=("Is the flag {key} on?", "Is {key} set to true?"), held_out=("Is the flag {key} true?", "Does the state say it is {key}?"),
)  # fmt: skip
FLAG_OFF = Wordings(
    train=("Is {key} false?", "Is {key} switched off?", "Is the flag {key} not set?", "Is it not {key}?"),
    calibration=("Is the flag {key} off?",), held_out=("Is the flag {key} false?", "Has {key} been switched off?"),
)  # fmt: skip
EMPTY = Wordings(
    train=("Is {key} empty?", "Is {key} null?", "Is there nothing in {key}?", "Has {key} been left empty?"),
    calibration=("Is the value of {key} null?",), held_out=("Is the {key} left empty?", "Is nothing given for {key}?"),
)  # fmt: skip
NESTED = Wordings(
    train=("{key} of {parent}", "{parent}.{key}", "{parent} {key}", "{key} in {parent}", "{parent}'s {key}"),
    calibration=("{key} inside {parent}",), held_out=("{key} under {parent}", "{key} for {parent}"),
)  # fmt: skip
Record = dict[str, Any]


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample; `most` has no bearing on two candidates."""
    return single(rng, "facts", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One yes-or-no question about a record of two to seven entries."""
    state, record, path = _state(rng, split)
    ask = rng.choice((_equal, _equal, _equal, _compare, _compare, _contains, _contains, _present, _flag, _flag, _empty))
    instructions, answer = ask(rng, split, record, path)
    return Part(state, *yes_or_no(rng, split, instructions, answer))


def _state(rng: random.Random, split: Split) -> tuple[object, Record, str]:
    """The state, the record the question is about, and the parent it sits under or an empty string."""
    record = _record(rng, split, rng.randint(2, 7))
    if rng.random() < 0.65:
        return record, record, ""
    parent, other = several(rng, "parent key", split, 2)
    aside = _record(rng, split, rng.randint(1, 3))
    for key in set(aside) & set(record):  # the same key elsewhere with another value
        aside[key] = _other(rng, split, aside[key])
    entries = [(parent, record), (other, aside)]
    rng.shuffle(entries)
    return dict(entries), record, parent


def _record(rng: random.Random, split: Split, size: int) -> Record:
    kinds = [rng.choice(("text key", "text key", "number key", "number key", "flag key", "list key")) for _ in range(size)]
    return {word(rng, kind, split): _value(rng, split, kind) for kind in kinds}


def _value(rng: random.Random, split: Split, kind: str) -> Any:
    if kind == "text key":
        return word(rng, rng.choice(("value", "value", "person", "place", "adjective", "noun")), split)
    if kind == "number key":
        return rng.randrange(10 ** rng.choice((1, 2, 2, 3)))
    if kind == "flag key":
        return rng.random() < 0.5
    return several(rng, rng.choice(("noun", "person", "service", "value")), split, rng.randint(1, 4))


def _named(rng: random.Random, split: Split, key: str, path: str) -> str:
    shown = key.replace("_", " ") if rng.random() < 0.5 else key
    return NESTED.pick(rng, split, key=shown, parent=path) if path else shown


def _entry(rng: random.Random, split: Split, record: Record, kind: str) -> str:
    """A key of a kind in the record, added where there is none."""
    found = [key for key in record if key in words(kind, split)]
    if found:
        return rng.choice(found)
    key = word(rng, kind, split)
    items = [*record.items()]
    items.insert(rng.randrange(len(items) + 1), (key, _value(rng, split, kind)))
    record.clear()
    record.update(items)
    return key


def _other(rng: random.Random, split: Split, value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    while True:
        if isinstance(value, int):
            other: Any = rng.choice((value + rng.choice((-1, 1, 10, -10)), rng.randrange(10 ** len(str(value)))))
            other = abs(other)
        else:
            kind = "text key" if isinstance(value, str) else "list key"
            other = _value(rng, split, kind)
        if other != value:
            return other


def _equal(rng: random.Random, split: Split, record: Record, path: str) -> tuple[str, bool]:
    key = _entry(rng, split, record, rng.choice(("text key", "text key", "number key")))
    value, answer = record[key], rng.random() < 0.5
    if not answer:
        elsewhere = [item for item in record.values() if type(item) is type(value) and item != value]
        value = rng.choice(elsewhere) if elsewhere and rng.random() < 0.5 else _other(rng, split, value)
    return EQUAL.pick(rng, split, key=_named(rng, split, key, path), value=value), answer


def _compare(rng: random.Random, split: Split, record: Record, path: str) -> tuple[str, bool]:
    key = _entry(rng, split, record, "number key")
    value, answer, above = record[key], rng.random() < 0.5, rng.random() < 0.5
    if above != answer:  # the bound lies above the value
        bound = value + rng.choice((1, rng.randint(1, 9), rng.randint(1, 90), rng.randint(1, 500)))
    else:
        if value == 0:
            value = record[key] = rng.randint(1, 99)
        bound = rng.choice((value - 1, rng.randrange(value), rng.randrange(value)))
    return (ABOVE if above else BELOW).pick(rng, split, key=_named(rng, split, key, path), value=bound), answer


def _contains(rng: random.Random, split: Split, record: Record, path: str) -> tuple[str, bool]:
    key = _entry(rng, split, record, "list key")
    items, answer = record[key], rng.random() < 0.5
    if answer:
        value = rng.choice(items)
    else:
        texts = [item for item in record.values() if isinstance(item, str)]
        lists = [item for other in record.values() if isinstance(other, list) for item in other]
        absent = [item for item in texts + lists if item not in items]
        value = rng.choice(absent) if absent and rng.random() < 0.5 else word(rng, "noun", split)
        while value in items:
            value = word(rng, "noun", split)
    return CONTAINS.pick(rng, split, key=_named(rng, split, key, path), value=value), answer


def _present(rng: random.Random, split: Split, record: Record, path: str) -> tuple[str, bool]:
    answer = rng.random() < 0.5
    key = rng.choice(list(record))
    while not answer and key in record:
        key = word(rng, rng.choice(("text key", "number key", "list key")), split)
    return PRESENT.pick(rng, split, key=_named(rng, split, key, path)), answer


def _flag(rng: random.Random, split: Split, record: Record, path: str) -> tuple[str, bool]:
    key = _entry(rng, split, record, "flag key")
    on, answer = rng.random() < 0.6, rng.random() < 0.5
    record[key] = answer if on else not answer
    named = _named(rng, split, key, path)
    return (FLAG_ON if on else FLAG_OFF).pick(rng, split, key=named, parent=path or "record"), answer


def _empty(rng: random.Random, split: Split, record: Record, path: str) -> tuple[str, bool]:
    key = _entry(rng, split, record, rng.choice(("text key", "list key")))
    answer = rng.random() < 0.5
    if answer:
        record[key] = [] if isinstance(record[key], list) else rng.choice((None, ""))
    elif rng.random() < 0.4:
        record[_entry(rng, split, record, "number key")] = None  # another entry is the empty one
    return EMPTY.pick(rng, split, key=_named(rng, split, key, path)), answer
