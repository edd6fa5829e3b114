"""Lookup: the value a state gives for a key, the key of a value, the row that has a value."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import events, prose
from kit.checkpoint.training.tasks.parts import Part, choice, entries, single
from kit.checkpoint.training.vocabulary import Wordings, distinct, invented, several, strange, word

LEVELS = 4
VALUE = Wordings(
    train=("What is the {key}?", "Which {key} is given?", "What does the state give as {key}?", "Which value has {key}?", "What is the value of {key}?",
           "{key}?", "Read the {key} off the state.", "Which one is the {key}?", "What is {key} set to?", "Pick the {key}.", "What stands under {key}?",
           "Tell me the {key}.", "Which {key} does the record have?", "What was given for {key}?",
           "Look up the {key}.", "I need the {key}.", "What do we have for {key}?", "What does it say under {key}?", "What is written beside {key}?", "Give me the {key}, please.", "For {key}, what is entered?", "What has been put down as {key}?", "Where it says {key}, what follows?", "Name the {key}.", "As to the {key}: what is it?", "What is there about the {key}?",
           "Find {key} and read it out.", "What did they enter as {key}?", "How is {key} filled in?", "The {key} is what?"),
    calibration=("What does the record give as {key}?", "Which value stands under {key}?"),
    held_out=("What is the {key} in the record?", "Pick the value of {key}.", "Which {key} does the state give?"),
)  # fmt: skip
KEY = Wordings(
    train=("Which entry is {value}?", "Which key has the value {value}?", "Where does {value} stand?", "What is {value} the value of?", "Under which key is {value}?",
           "Which one has {value}?", "Who or what has {value}?", "Which entry reads {value}?", "Find the one with {value}.", "Which of them is given as {value}?", "What has {value} beside it?", "{value} is written beside what?", "Which line says {value}?", "I see {value}. What does it belong to?", "What was filled in with {value}?", "For which entry did they write {value}?", "{value} is the answer to what?", "What is it that reads {value}?", "Look for {value}: which entry is it?", "Whatever has {value}: name it."),
    calibration=("Which entry has the value {value}?",), held_out=("Which key reads {value}?", "Find the entry with the value {value}."),
)  # fmt: skip
OWNER = Wordings(
    train=("Who has the {value}?", "Who asked for {value}?", "Which person goes with {value}?", "Whose is the {value}?", "Who is listed with {value}?", "Who takes the {value}?",
           "By whom is {value}?", "{value}: who has it?", "Which name stands with {value}?", "Who of them has {value}?", "With whom do we find the {value}?", "To whom does the {value} belong?", "Who is down for {value}?", "Next to which name is {value}?", "The {value} is with whom?", "Somebody has {value}. Who is it?", "Where is the {value}: with whom?", "Whom do I ask for the {value}?", "Name the one with {value}."),
    calibration=("Which person has {value}?",), held_out=("Who goes with {value}?", "Which name is listed with {value}?"),
)  # fmt: skip
OWNED = Wordings(
    train=("What does {name} have?", "What goes with {name}?", "What stands with {name}?", "What did {name} ask for?", "What is listed with {name}?", "{name} has what?",
           "What belongs to {name}?", "What does {name} take?", "Which thing goes with {name}?", "What is given for {name}?", "What is down for {name}?", "What do we find with {name}?", "Next to {name} there is what?", "What is it that {name} has?", "And {name}?", "What about {name}?", "What does the list say for {name}?", "Look for {name}: what is there?", "Which one is for {name}?"),
    calibration=("Which thing does {name} have?",), held_out=("What did {name} take?", "Which thing is listed with {name}?"),
)  # fmt: skip
PAIR = Wordings(
    train=("Which pair is in the state?", "Which of these stands in the text?", "What is written?", "Which pair is there?", "Find the pair.", "Which one is listed?", "Which two go together?", "Which of these did somebody write?", "What do you read there?", "Which one do you find above?", "Only one of these is there. Which?"),
    calibration=("Which pair is written?",), held_out=("Which pair stands in the state?", "Which of these is listed?"),
)  # fmt: skip
LINKS = {
    "train": ("{a}: {b}", "{a} has {b}", "{a} - {b}", "{a} takes the {b}.", "{a} asked for {b}.", "{a} = {b}", "The {b} belongs to {a}.", "{a} ({b})", "{b}: {a}", "for {a}: {b}", "{a} got the {b}.", "{a} keeps the {b}.", "With {a} we find the {b}.", "The {b} is with {a}.", "{a}, {b}", "[{a}] {b}", "{b} goes to {a}.", "{a} -> {b}", "{a} wants the {b}.", "* {a}: {b}"),
    "calibration": ("{a} | {b}", "{a} gets the {b}."),
    "held-out": ("{a} / {b}", "{a} asked for the {b}.", "The {b} is for {a}."),
}  # fmt: skip

BINDINGS = ("{key}: {value}", "{key} {value}", "{key} is {value}", "the {key} is {value}", "{value} is the {key}", "{key} = {value}", "as {key} we have {value}", "{value} for {key}")
EVENTS = (0, 0.3, 0.45, 0.55)  # by level: what is told of people and things, in sentences or a log
PAIRED = (0.55, 0.3, 0.15, 0.1)  # by level: which two words stand side by side, the first thing to learn
RESTATED = (0.4, 0.3, 0.2, 0.1)  # by level: states that say the record twice, in other order
BOUND = (0.6, 0.3, 0.15, 0.1)  # by level: candidates that repeat the key, which is how looking up begins


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two entries; 1: up to four, either way, one unlike the rest; 2: up to six, sentences, events; 3: up to ten, some long texts."""
    return single(rng, "lookup", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One question whose candidates are all in the state."""
    kind = rng.random()
    if kind < EVENTS[level] / 2:
        return events.contrast(rng, split, rng.randint(2, (2, 2, 3, 5)[level]), level)
    if kind < EVENTS[level] and level > 1:
        return events.rows(rng, split, rng.randint(2, (2, 2, 3, 5)[level]), level)
    if rng.random() < PAIRED[level]:
        return _pairs(rng, split, rng.randint(2, (2, 3, 4, 6)[level]))
    count = rng.randint(2, (2, 4, 6, 10)[level])
    if level >= 2 and rng.random() < 0.4:
        return _rows(rng, split, count, level)
    keys = several(rng, "text key", split, count)
    values = [value for value in _values(rng, split, count * 2) if value not in keys][:count]
    record = dict(zip(keys, values, strict=True))
    pairs = list(record.items())
    key, value = pairs[rng.randrange(count)]
    backwards = level > 0 and rng.random() < 0.35
    asked = KEY.pick(rng, split, value=value) if backwards else VALUE.pick(rng, split, key=key)
    right, all_of = (key, keys) if backwards else (value, values)
    others = [item for item in all_of if item != right]
    if not backwards and rng.random() < BOUND[level]:
        shown = rng.choice(BINDINGS)
        right, others = shown.format(key=key, value=right), [shown.format(key=key, value=item) for item in others]
    told = entries(rng, [(b, a) for a, b in pairs] if backwards else pairs, keys.index(key))
    return Part(_shown(rng, split, record, level), *choice(rng, asked, right, others), reason=told)


def _pairs(rng: random.Random, split: Split, count: int) -> Part:
    """Words side by side: which pair stands in the state, every word of every candidate being there."""
    firsts, seconds = several(rng, "adjective", split, count), several(rng, "noun", split, count)
    between = rng.choice((" ", " ", ": ", " - "))
    shown = [f"{first}{between}{second}" for first, second in zip(firsts, seconds, strict=True)]
    place, step = rng.randrange(count), rng.randrange(1, count)
    wrong = f"{firsts[place]}{between}{seconds[(place + step) % count]}"
    told = entries(rng, list(zip(firsts, seconds, strict=True)), place)
    return Part(", ".join(shown), *choice(rng, PAIR.pick(rng, split), shown[place], [wrong]), reason=told)


def _rows(rng: random.Random, split: Split, count: int, level: int) -> Part:
    """Who has what, one a line or a sentence."""
    people = several(rng, "person", split, count)
    things = several(rng, rng.choice(("noun", "noun", "value", "service")), split, count)
    link = rng.choice(LINKS[split])
    lines = [link.format(a=a, b=b) for a, b in zip(people, things, strict=True)]
    glue = "\n" if rng.random() < 0.6 else " " if link.endswith(".") else "; "
    target, owner = rng.randrange(count), rng.random() < 0.5
    asked = OWNER.pick(rng, split, value=things[target]) if owner else OWNED.pick(rng, split, name=people[target])
    texts = people if owner else things
    state = glue.join(lines)
    if level == 3 and rng.random() < 0.12:
        state = prose.around(rng, split, f"\n{state}\n", rng.randint(4, 10), [*people, *things])
    told = entries(rng, list(zip(*((things, people) if owner else (people, things)), strict=True)), target)
    return Part(state, *choice(rng, asked, texts[target], [text for text in texts if text != texts[target]]), reason=told)


def _values(rng: random.Random, split: Split, count: int) -> list[str]:
    kinds = ("value", "person", "place", "noun", "adjective")
    other, share = (strange, 0.4) if split == "train" else (invented, 0.25)
    return distinct(lambda: other(rng, split) if rng.random() < share else word(rng, rng.choice(kinds), split), count)


def _shown(rng: random.Random, split: Split, record: dict[str, str], level: int) -> object:
    if rng.random() < RESTATED[level]:  # what stands beside what can be told from one mention for the other
        pairs = list(record.items())
        shown = rng.choice(BINDINGS)
        again = rng.choice(("; ", ", ", "\n", ". ")).join(
            shown.format(key=key, value=value) for key, value in rng.sample(pairs, len(pairs))
        )
        return {"record": record, "again": again} if rng.random() < 0.5 else {**record, "note": again}
    if level >= 2 and rng.random() < 0.2:
        return "\n".join(f"{key}: {value}" for key, value in record.items())
    if level >= 2 and rng.random() < 0.2:
        note = {"message": prose.sentence(rng, split)}
        whole = {word(rng, "parent key", split): record}
        return note | whole if rng.random() < 0.5 else whole | note
    return record
