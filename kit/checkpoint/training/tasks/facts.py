"""Facts: yes or no about a JSON state: equal, larger, contained, there at all, switched on, nested, empty."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking, events, everyday, prose, triage
from kit.checkpoint.training.tasks.messages import TEXT_KEYS
from kit.checkpoint.training.tasks.parts import (
    Part,
    entries,
    sentence_case,
    single,
    spoken,
    verdict,
    yes_or_no,
)
from kit.checkpoint.training.vocabulary import Wordings, invented, several, strange, word

LEVELS = 6
EQUAL = Wordings(
    train=("Is {key} {value}?", "Is the {key} equal to {value}?", "Does {key} equal {value}?", "Is {value} the {key}?",
           "Does the record give {value} as {key}?", "Is the value of {key} {value}?", "Has {key} been set to {value}?",
           "{key} is {value}: true or not?", "Does {key} read {value}?", "The {key} is {value}. Is that right?",
           "Is the {key} {value}?", "Is it correct that {key} is {value}?", "Does the {key} have the value {value}?",
           "Is {value} what the record gives for {key}?", "Check: is the {key} {value}?", "Is the {key} really {value}?",
           "Is {key} set to {value} here?", "According to the state, is {key} {value}?", "Was {value} entered as {key}?", "Do we have {value} as {key}?", "Beside {key}, does it say {value}?", "Did they put {value} for {key}?", "Is {key} filled in with {value}?", "As {key} we read {value}, do we not?", "Does one read {value} under {key}?", "The {key}: is it {value}?", "Is it {value} that they gave as {key}?", "Look at {key}. Is it {value}?", "Has the {key} been given as {value}?", "Would {value} be the {key}?",
           "Is {value} what stands under {key}?", "Is {value} what the {key} says?", "Is {value} what {key} holds?", "Is {value} what one finds as {key}?",
           "Is {value} given for {key}?", "Is it {value} that stands for {key}?", "According to what is given, is the {key} {value}?", "Would you say that the {key} is {value}?"),
    calibration=("Is {key} set to {value}?", "Does the state give {key} as {value}?", "Is it true that {key} is {value}?"),
    held_out=("Does {key} have the value {value}?", "Is it right that the {key} is {value}?", "Is {value} what {key} reads?",
              "According to the record, is the {key} {value}?"),
)  # fmt: skip
ABOVE = Wordings(
    train=("Is {key} above {value}?", "Is {key} greater than {value}?", "Is {key} more than {value}?", "Does {key} exceed {value}?",
           "Is the {key} larger than {value}?", "Is {key} over {value}?", "Are there more than {value} {key}?", "Is the {key} higher than {value}?",
           "Is {key} > {value}?", "Check: does the {key} exceed {value}?", "Is the value of {key} above {value}?", "Is it correct that {key} is more than {value}?", "Has {key} gone past {value}?", "Does the {key} lie above {value}?", "Is {value} less than the {key}?", "Do we have more {key} than {value}?", "Is there more {key} than {value}?", "Did the {key} go over {value}?", "Has {key} risen above {value}?", "Would {value} be too low for the {key}?"),
    calibration=("Is the value of {key} greater than {value}?", "Is the {key} over {value}?"),
    held_out=("Is the {key} above {value}?", "Is the value of {key} more than {value}?", "Is it correct that {key} is above {value}?"),
)  # fmt: skip
BELOW = Wordings(
    train=("Is {key} below {value}?", "Is {key} less than {value}?", "Is {key} smaller than {value}?", "Is {key} under {value}?",
           "Is the {key} lower than {value}?", "Are there fewer than {value} {key}?", "Is the {key} less than {value}?", "Is {key} < {value}?",
           "Check: is the {key} under {value}?", "Is the value of {key} below {value}?", "Is it correct that {key} is less than {value}?", "Has {key} stayed under {value}?", "Does the {key} lie below {value}?", "Is {value} more than the {key}?", "Do we have less {key} than {value}?", "Is there less {key} than {value}?", "Did the {key} stay below {value}?", "Has {key} fallen under {value}?", "Does {key} fall short of {value}?"),
    calibration=("Is the value of {key} less than {value}?", "Is the {key} under {value}?"),
    held_out=("Is the {key} below {value}?", "Is the value of {key} smaller than {value}?", "Is it correct that {key} is below {value}?"),
)  # fmt: skip
ABOVE_DOES = Wordings(
    train=("is above {value}", "exceeds {value}", "is more than {value}", "is over {value}", "goes beyond {value}", "is higher than {value}", "is larger than {value}", "has passed {value}"), calibration=("lies above {value}",), held_out=("stands above {value}", "is beyond {value}"),
)  # fmt: skip
BELOW_DOES = Wordings(
    train=("is below {value}", "is less than {value}", "is under {value}", "stays under {value}", "is lower than {value}", "is smaller than {value}", "does not reach {value}", "falls short of {value}"), calibration=("lies below {value}",), held_out=("stands below {value}", "has not reached {value}"),
)  # fmt: skip
ABOVE_WORDS = Wordings(
    train=("above|not above", "over it|not over it", "more|not more", "higher|not higher", "above {value}|not above {value}", "more than {value}|{value} or less", "over the bound|within the bound", "it is larger|it is not larger", "{key} is over {value}|{key} is not over {value}", "too many|not too many", "past {value}|not past {value}"),
    calibration=("beyond it|not beyond it",), held_out=("larger than {value}|not larger than {value}", "it lies over {value}|it does not lie over {value}", "over {value}|not over {value}"),
)  # fmt: skip
BELOW_WORDS = Wordings(
    train=("below|not below", "under it|not under it", "less|not less", "lower|not lower", "below {value}|not below {value}", "less than {value}|{value} or more", "too few|enough", "it is smaller|it is not smaller", "{key} is under {value}|{key} is not under {value}", "short of {value}|not short of {value}"),
    calibration=("beneath it|not beneath it",), held_out=("smaller than {value}|not smaller than {value}", "it lies under {value}|it does not lie under {value}", "under {value}|not under {value}"),
)  # fmt: skip
CONTAINS = Wordings(
    train=("Does {key} contain {value}?", "Is {value} in {key}?", "Is {value} among the {key}?", "Is {value} one of the {key}?",
           "Do the {key} include {value}?", "Is {value} listed under {key}?", "Does the list {key} hold {value}?", "Is {value} listed in {key}?",
           "Check: is {value} among {key}?", "Can {value} be found in the {key}?", "Does the list of {key} include {value}?", "Is there a {value} in {key}?", "Does {value} belong to the {key}?", "Do we find {value} among the {key}?", "Did they list {value} under {key}?", "Would one find {value} in the {key}?", "Does {value} count among the {key}?", "Has {value} been put into {key}?", "Do the {key} name {value}?", "Is {value} with the other {key}?"),
    calibration=("Is {value} part of {key}?", "Does {key} include {value}?"),
    held_out=("Do the {key} contain {value}?", "Is {value} in the list {key}?", "Can {value} be found among {key}?"),
)  # fmt: skip
PRESENT = Wordings(
    train=("Is there a key {key}?", "Does the record have {key}?", "Is {key} given?", "Is {key} present in the state?",
           "Does the state mention {key}?", "Has the record an entry {key}?", "Is there an entry called {key}?", "Does the state have an entry {key}?",
           "Is a {key} given at all?", "Is there any {key} in the record?", "Does the record mention a {key}?", "Check: is there a key {key}?", "Do we know the {key}?", "Is anything said about {key}?", "Did they fill in a {key}?", "Can one read a {key} there?", "Do we have a {key}?", "Is the {key} among what is given?", "Was any {key} written down?"),
    calibration=("Does the state have a key {key}?",), held_out=("Is there an entry {key} in the record?", "Does the record have an entry {key}?"),
)  # fmt: skip
FLAG_ON = Wordings(
    train=("Is it {key}?", "Is {key} true?", "Is {key} switched on?", "Is the flag {key} set?", "Is the {parent} {key}?",
           "Does the record say {key}?", "Has {key} been switched on?", "Is this {parent} {key}?", "Is {key} set to true?", "Is the {parent} {key} by now?",
           "Can we say that the {parent} is {key}?", "Is the flag {key} on?", "Check: is it {key}?", "Has it been {key}?", "Does it count as {key}?", "Are we told that it is {key}?", "Is it marked as {key}?", "Do they call it {key}?", "Is {key} ticked?", "Has somebody set {key}?", "Is the {parent} marked as {key}?", "May we take the {parent} as {key}?"),
    calibration=("Is the flag {key} switched on?", "Is the entry {key} true?"),
    held_out=("Is the flag {key} true?", "Does the record say it is {key}?", "Check: is the {parent} {key}?"),
)  # fmt: skip
FLAG_OFF = Wordings(
    train=("Is {key} false?", "Is {key} switched off?", "Is the flag {key} not set?", "Is it not {key}?", "Is the {parent} not {key}?",
           "Is {key} set to false?", "Has {key} been switched off?", "Is {key} off?", "Can we say that the {parent} is not {key}?", "Check: is it not {key}?", "Is {key} left unticked?", "Does {key} say no?", "Are we told that it is not {key}?", "Is it anything but {key}?", "Is it marked as not {key}?", "Is it so that the {parent} is not {key}?"),
    calibration=("Is the flag {key} off?",), held_out=("Is the flag {key} false?", "Check: is the flag {key} switched off?"),
)  # fmt: skip
EMPTY = Wordings(
    train=("Is {key} empty?", "Is {key} null?", "Is there nothing in {key}?", "Has {key} been left empty?", "Is the {key} empty?", "Is {key} without a value?",
           "Is the entry {key} empty?", "Check: is {key} empty?", "Has {key} no value?", "Did they leave {key} out?", "Is {key} still blank?", "Is there no {key} to be read?", "Does {key} hold nothing?", "Must somebody still fill in {key}?", "Does {key} say nothing?", "Is the {key} yet to be filled in?"),
    calibration=("Is the value of {key} null?",), held_out=("Is the {key} left empty?", "Is the entry {key} without a value?"),
)  # fmt: skip
STATUS = Wordings(
    train=("Is it {value}?", "Is the {parent} {value}?", "Has it been {value}?", "Is it {value} by now?", "Has the {parent} been {value}?", "Would you call the {parent} {value}?", "Is this one {value}?",
           "Is it {value} already?", "Do we have a {value} {parent} here?", "Can it be called {value}?", "Did it become {value}?", "Is it {value} at this point?", "Do we see a {value} {parent}?", "Is the {parent} a {value} one?", "Has it come to be {value}?", "Does it stand at {value}?", "Was the {parent} {value} when we looked?", "Would people say it is {value}?"),
    calibration=("Does it count as {value}?", "Does the {parent} count as {value}?"), held_out=("Is the {parent} already {value}?", "Can the {parent} be called {value}?", "Is it a {value} one?"),
)  # fmt: skip
STATUS_KEYS = ("status", "state", "stage", "result")
NESTED = Wordings(
    train=("{key} of {parent}", "{parent}.{key}", "{parent} {key}", "{key} in {parent}", "{parent}'s {key}", "{key} of the {parent}", "{key} in the {parent}",
           "{key} given in {parent}"),
    calibration=("{key} inside {parent}",), held_out=("{key} given in the {parent}", "{key} of this {parent}"),
)  # fmt: skip
STRANGE: dict[Split, float] = {"train": 0.5, "calibration": 0.1, "held-out": 0.1}  # of keys: with few in train, others are not found
ALL = ("text key", "text key", "number key", "number key", "flag key", "list key")
KINDS = (("text key",), ("text key",), ("text key", "text key", "number key", "flag key"), ALL, ALL, ALL)  # by level
MESSAGES = (0.0, 0.2, 0.35, 0.35, 0.35, 0.2)  # by level: records that are the fields of a message
Record = dict[str, Any]


class Asked(NamedTuple):
    """question, its answer, the key it is about, what the record holds there."""

    question: str
    answer: bool
    key: str
    found: str
    what: str = ""  # what is asked about, said in a word or two
    trait: tuple[str, ...] = ()  # the key as it is called, then what is asked of it, for the frames of `asking`


Ask = Callable[[random.Random, Split, Record, str, int], Asked]


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two texts, is one equal; 1: wrong values stand elsewhere; 2: numbers, flags, presence, everyday words; 3: lists, comparisons; 4: nested, told in sentences; 5: long."""
    return single(rng, "facts", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One yes-or-no question about a record."""
    kind = rng.random()
    if kind < (0, 0, 0.25, 0.4, 0.35, 0.3)[level]:
        return everyday.part(rng, split, level)
    if level > 3 and kind < 0.5:
        return rng.choice((events.judged, events.judged, events.did))(rng, split, rng.randint(2, 4), 3)
    record, whole, path = _state(rng, split, level)
    asks: tuple[Ask, ...] = (_equal, _equal, _flag, _equal, _present, _status, _contains, _compare, _empty)
    ask = rng.choice(asks[: (1, 2, 6, 9, 9, 9)[level]])
    asked = ask(rng, split, record, path, level)
    if level > 0 and asked.trait and rng.random() < 0.3:
        name, *does = asked.trait
        asked = asked._replace(question=sentence_case(asking.IS_IT.pick(rng, split, name=name, does=rng.choice(does))))
    told = _told(rng, record, path, asked)
    if whole is record and rng.random() < MESSAGES[level]:
        whole = _with_message(rng, split, record, asked.key)
    return Part(_shown(rng, whole, level), *yes_or_no(rng, split, asked.question, asked.answer, level == 0, asked.what), reason=told)


def _with_message(rng: random.Random, split: Split, record: Record, asked: str) -> Record:
    """The record as the fields of a ticket or a note, whose text, somewhere among them, has no bearing on what is asked."""
    key = TEXT_KEYS.pick(rng, split)
    if _near(key, {**record, asked: ""}):
        return record
    text = triage.part(rng, split, 2).state if rng.random() < 0.5 else None
    items: list[tuple[str, object]] = [*record.items()]
    if not isinstance(text, str):
        text = " ".join(prose.sentence(rng, split) for _ in range(rng.randint(1, 3)))
    items.insert(rng.randint(0, len(items)), (key, text))
    return dict(items)


def _told(rng: random.Random, record: Record, path: str, asked: Asked) -> str:
    """What was found, then other entries of the record: those of a nested one under their full name."""
    under = f"{path}." if path else ""
    pairs: list[tuple[str, object]] = [(f"{under}{asked.key}", f"{asked.found}: {verdict(asked.answer)}")]
    pairs += [(f"{under}{name}", spoken(value)) for name, value in record.items() if name != asked.key]
    return entries(rng, pairs, 0)


def _state(rng: random.Random, split: Split, level: int) -> tuple[Record, Record, str]:
    """The record the question is about, the whole it stands in, and the parent it sits under or an empty string."""
    low, high = ((2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (3, 7))[level]
    record = _record(rng, split, rng.randint(low, high), level)
    long = level == 5 and rng.random() < 0.07
    if rng.random() < (1 if level < 4 else 0.35) and not long:
        return record, record, ""
    parents = several(rng, "parent key", split, rng.randint(3, 5) if long else 2)
    asides = [_record(rng, split, rng.randint(3, 6) if long else rng.randint(1, 3), level) for _ in parents[1:]]
    for aside in asides:
        for key in [key for key in aside if key in record]:  # the same key elsewhere with another value
            aside[key] = _other(rng, split, aside[key])
    if rng.random() < 0.5:
        shared = rng.choice(list(record))
        asides[0][shared] = _other(rng, split, record[shared])
    placed: list[tuple[str, object]] = list(zip(parents, [record, *asides], strict=True))
    if rng.random() < 0.25:
        placed.append((rng.choice(("message", "note", "text")), prose.sentence(rng, split)))
    rng.shuffle(placed)
    return record, dict(placed), parents[0]


def _shown(rng: random.Random, whole: Record, level: int) -> object:
    """The state as JSON, at times as lines or with a word before it."""
    flat = not any(isinstance(value, dict) for value in whole.values())
    if level < 4 or rng.random() < 0.85:
        return whole
    if not flat:
        return {rng.choice(("state", "data", "context")): whole}
    return "\n".join(f"{key}: {spoken(value)}" for key, value in whole.items())


def _record(rng: random.Random, split: Split, size: int, level: int) -> Record:
    record: Record = {}
    while len(record) < size:
        kind = rng.choice(KINDS[level])
        key = _key(rng, split, kind, level)
        if not _near(key, record):
            record[key] = _value(rng, split, kind, level)
    return record


def _key(rng: random.Random, split: Split, kind: str, level: int) -> str:
    key = strange(rng, split) if rng.random() < STRANGE[split] else word(rng, kind, split)
    if level >= 3 and kind != "flag key" and rng.random() < 0.15:
        return f"{word(rng, 'parent key', split)}_{key}"
    return key


def _near(key: str, record: Record) -> bool:
    """Whether a word of the key stands in another key already, so that a question could mean either."""
    return any(part in other.split("_") for other in record for part in key.split("_"))


def _value(rng: random.Random, split: Split, kind: str, level: int = LEVELS - 1) -> Any:
    if kind == "text key":
        if rng.random() < (0.35 if split == "train" else 0.2):
            return strange(rng, split) if split == "train" else invented(rng, split)
        return word(rng, rng.choice(("value", "value", "person", "place", "adjective", "noun")), split)
    if kind == "number key":
        return rng.randrange(10 ** rng.choice((1, 2, 2) if level < 4 else (1, 2, 2, 3)))
    if kind == "flag key":
        return rng.random() < 0.5
    return several(rng, rng.choice(("noun", "person", "service", "value")), split, rng.randint(1, 4))


def _named(rng: random.Random, split: Split, key: str, path: str) -> str:
    shown = key.replace("_", " ") if rng.random() < 0.5 else key
    return NESTED.pick(rng, split, key=shown, parent=path) if path else shown


def _entry(rng: random.Random, split: Split, record: Record, kind: str, level: int) -> str:
    """A key of a kind in the record, added where there is none."""
    kinds: dict[str, Callable[[object], bool]] = {
        "text key": lambda value: isinstance(value, str), "number key": lambda value: type(value) is int,
        "flag key": lambda value: isinstance(value, bool), "list key": lambda value: isinstance(value, list),
    }  # fmt: skip
    found = [key for key, value in record.items() if kinds[kind](value)]
    if found:
        return rng.choice(found)
    key = _key(rng, split, kind, level)
    while _near(key, record):
        key = _key(rng, split, kind, level)
    items = [*record.items()]
    items.insert(rng.randrange(len(items) + 1), (key, _value(rng, split, kind, level)))
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
            other = _value(rng, split, "text key" if isinstance(value, str) else "list key")
        if other != value:
            return other


def _equal(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    kind = "text key" if level < 2 else rng.choice(("text key", "text key", "number key"))
    key = _entry(rng, split, record, kind, level)
    value, answer = record[key], rng.random() < 0.5
    if not answer:
        elsewhere = [item for item in record.values() if type(item) is type(value) and item != value]
        if elsewhere and level > 0 and rng.random() < 0.5:
            value = rng.choice(elsewhere)
        else:
            value = _other(rng, split, value)
            while level == 0 and value in record.values():
                value = _other(rng, split, value)
    named = _named(rng, split, key, path)
    asked = EQUAL.pick(rng, split, key=named, value=value)
    return Asked(asked, answer, key, f"{spoken(record[key])}, asked {spoken(value)}", spoken(value), _equals(named, value))


def _equals(named: str, value: object) -> tuple[str, ...]:
    """The key, and ways to say that it holds a value."""
    said = spoken(value)
    return named, f"is {said}", f"equals {said}", f"has the value {said}", f"is set to {said}", f"reads {said}", f"holds {said}"


def _compare(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    key = _entry(rng, split, record, "number key", level)
    answer, above = rng.random() < 0.5, rng.random() < 0.5
    top = 10 ** rng.choice((1, 2) if level < 4 else (1, 2, 2, 3))
    small, large = sorted(rng.sample(range(top + 1), 2))
    record[key], bound = (large, small) if above == answer else (small, large)
    if not answer and rng.random() < 0.2:
        record[key] = bound  # neither above nor below
    named = _named(rng, split, key, path)
    asked = (ABOVE if above else BELOW).pick(rng, split, key=named, value=bound)
    does = (ABOVE_DOES if above else BELOW_DOES).of(split)
    found = f"{record[key]} is {'above' if record[key] > bound else 'below' if record[key] < bound else 'exactly'} {bound}"
    what = (ABOVE_WORDS if above else BELOW_WORDS).pick(rng, split, value=bound, key=named)
    return Asked(asked, answer, key, found, what, (named, *(text.format(value=bound) for text in does)))


def _contains(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    key = _entry(rng, split, record, "list key", level)
    items, answer = record[key], rng.random() < 0.5
    if answer:
        value = rng.choice(items)
    else:
        texts = [item for item in record.values() if isinstance(item, str)]
        lists = [item for other in record.values() if isinstance(other, list) for item in other]
        absent = [item for item in texts + lists if item not in items]
        value = rng.choice(absent) if absent and rng.random() < 0.4 else word(rng, "noun", split)
        while value in items:
            value = word(rng, "noun", split)
    asked = CONTAINS.pick(rng, split, key=_named(rng, split, key, path), value=value)
    return Asked(asked, answer, key, f"{spoken(items)}, asked {value}")


def _present(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    answer = rng.random() < 0.5
    key = rng.choice(list(record))
    while not answer and _near(key, record):
        key = _key(rng, split, rng.choice(("text key", "number key", "list key")), level)
    found = spoken(record[key]) if answer else "missing"
    return Asked(PRESENT.pick(rng, split, key=_named(rng, split, key, path)), answer, key, found)


def _flag(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    key = _entry(rng, split, record, "flag key", level)
    on, answer = level < 3 or rng.random() < 0.7, rng.random() < 0.5
    record[key] = answer if on else not answer
    sentence = rng.choice((FLAG_ON if on else FLAG_OFF).of(split))
    # "Is the order paid?" names where the flag stands already.
    named = key if "{parent}" in sentence else _named(rng, split, key, path)
    return Asked(sentence.format(key=named, parent=path or "record"), answer, key, spoken(record[key]), key if on else "")


def _status(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    """Whether it is what its status says, in no word of the key."""
    key = rng.choice([name for name in STATUS_KEYS if name in record] or STATUS_KEYS)
    there, other = [name for name in several(rng, "flag key", split, len(record) + 2) if name not in record][:2]  # no flag says more
    answer = rng.random() < 0.5
    asked = there if answer else other
    record[key] = there
    # Where several things have a status, the question says whose it asks for.
    sentences = [text for text in STATUS.of(split) if not path or "{parent}" in text]
    question = rng.choice(sentences).format(value=asked, parent=path or rng.choice(("record", "order", "case", "entry")))
    trait = () if path else ("it", *(text.format(v=asked) for text in ("is {v}", "has been {v}", "counts as {v}", "is {v} by now")))
    return Asked(question, answer, key, f"{there}, asked {asked}", asked, trait)


def _empty(rng: random.Random, split: Split, record: Record, path: str, level: int) -> Asked:
    key = _entry(rng, split, record, rng.choice(("text key", "list key")), level)
    answer = rng.random() < 0.5
    if answer:
        record[key] = [] if isinstance(record[key], list) else rng.choice((None, ""))
    elif rng.random() < 0.4:
        record[_entry(rng, split, record, "number key", level)] = None  # another entry is the empty one
    named = _named(rng, split, key, path)
    return Asked(EMPTY.pick(rng, split, key=named), answer, key, spoken(record[key]) or "nothing", "empty", (named, *asking.BLANK.does))
