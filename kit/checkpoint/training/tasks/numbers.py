"""Numbers: the one the state names, the candidate at a position, the largest or smallest of a few, how many there are."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.parts import Part, choice, listed, single
from kit.checkpoint.training.vocabulary import Wordings, code, several, word

NAMED = Wordings(
    train=("The right one is number {n}.", "Please take {n}.", "My choice: {n}", "We agreed on {n} in the end.",
           "{person} picked {n}.", "The {noun} has number {n}.", "Number {n}, and nothing else.", "Selected: {n}.",
           "It was number {n} that won.", "After some talk {person} went for {n}.", "The answer on the card reads {n}.",
           "The {noun} in {place} was given the number {n}.", "Let us go with {n}, said {person}."),
    calibration=("In the end {person} settled for number {n}.", "The winner: {n}.", "Take number {n}, please."),
    held_out=("The {noun} that was picked has the number {n}.", "{person} said: {n}, please.", "We went with {n} in {place}."),
)  # fmt: skip
WHICH_NAMED = Wordings(
    train=("Which number does the state name?", "Pick the number that is named.", "Which number is it?",
           "Which option number was chosen?", "Select the number given in the state.", "What number was picked?",
           "Choose the candidate with the number in the text.", "Which of these numbers is written above?"),
    calibration=("Which number was given?", "Select the option number that the state names."),
    held_out=("Which number is named in the text?", "Pick the number that was chosen.", "What number does the state give?"),
)  # fmt: skip
NUMBER_TEXT = Wordings(
    train=("{n}", "{n}", "option {n}", "number {n}", "No. {n}", "{n}.", "item {n}"),
    calibration=("the number {n}", "choice {n}"), held_out=("Option number {n}", "it is {n}", "Nr {n}"),
)  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
POSITION = Wordings(
    train=("Take candidate number {n} of the list.", "Pick the {ordinal} candidate.", "The {ordinal} one in the list, please.",
           "{person} wants the {ordinal} candidate.", "Position in the list: {n}", "Go for the candidate at position {n}."),
    calibration=("The candidate at position {n} is the right one.", "{person} said to take the {ordinal} in the list."),
    held_out=("{person} picked the {ordinal} candidate of the list.", "Please go for position {n} in the list."),
)  # fmt: skip
WHICH_POSITION = Wordings(
    train=("Which candidate is meant?", "Follow the state: which candidate?", "Choose by position.",
           "Which candidate stands at that position?", "Pick the candidate that was asked for."),
    calibration=("Which candidate was asked for?",), held_out=("Which candidate does the state ask for?", "Choose what was meant."),
)  # fmt: skip
EXTREME = {
    True: Wordings(
        train=("Which has the largest number?", "Which {key} is the highest?", "Who or what has the most {key}?",
               "Pick the one with the highest {key}.", "Where is {key} largest?", "Select the maximum.", "Which is the greatest?"),
        calibration=("Which one has the most {key}?", "Pick the largest."),
        held_out=("Which one has the highest number?", "Where is the most {key}?", "Select the one with the largest {key}."),
    ),
    False: Wordings(
        train=("Which has the smallest number?", "Which {key} is the lowest?", "Who or what has the fewest {key}?",
               "Pick the one with the lowest {key}.", "Where is {key} smallest?", "Select the minimum.", "Which is the least?"),
        calibration=("Which one has the fewest {key}?", "Pick the smallest."),
        held_out=("Which one has the lowest number?", "Where is the fewest {key}?", "Select the one with the smallest {key}."),
    ),
}  # fmt: skip
COUNT = Wordings(
    train=("How many {key} are listed?", "Count the {key}.", "What is the number of {key} in the list?", "How long is the list?"),
    calibration=("How many entries does the list have?",), held_out=("How many {key} are in the list?", "Count what is listed."),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample with at most `most` candidates."""
    return single(rng, "numbers", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One question about numbers."""
    return rng.choice((_named, _named, _position, _extreme, _extreme, _count))(rng, split, rng.randint(2, most))


def _named(rng: random.Random, split: Split, count: int) -> Part:
    if rng.random() < 0.4:
        pool = list(range(1, count + 1))
    else:
        low = rng.choice((0, 0, 10, 100, 1000) if count <= 16 else (0, 10))  # long lists of long numbers are too many tokens
        pool = rng.sample(range(low, max(low * 10, 60)), count)
    number = rng.choice(pool)
    state: object = NAMED.pick(rng, split, n=number, **_names(rng, split))
    if rng.random() < 0.25:
        state = {"ref": code(rng), word(rng, "number key", split): number, "by": word(rng, "person", split)}
    frame = rng.choice(NUMBER_TEXT.of(split))
    texts = [frame.format(n=item) for item in pool]
    if pool == sorted(pool) and rng.random() < 0.7:
        return Part(state, listed(rng, WHICH_NAMED.pick(rng, split), texts), pool.index(number))
    texts.remove(frame.format(n=number))
    return Part(state, *choice(rng, WHICH_NAMED.pick(rng, split), frame.format(n=number), texts))


def _position(rng: random.Random, split: Split, count: int) -> Part:
    at = rng.randrange(min(count, len(ORDINALS)))
    state = POSITION.pick(rng, split, n=at + 1, ordinal=ORDINALS[at], **_names(rng, split))
    texts = several(rng, rng.choice(("noun", "adjective", "person")), split, count)
    return Part(state, *choice(rng, WHICH_POSITION.pick(rng, split), texts[0], texts[1:], at))


def _extreme(rng: random.Random, split: Split, count: int) -> Part:
    count = min(count, 6)
    names = several(rng, rng.choice(("person", "service", "place", "noun")), split, count)
    values = rng.sample(range(1, 10 ** rng.choice((1, 2, 2, 3)) + 5), count)
    largest = rng.random() < 0.5
    right = names[values.index(max(values) if largest else min(values))]
    key = word(rng, "number key", split)
    rows = dict(zip(names, values, strict=True))
    states: tuple[object, ...] = (
        {key: rows}, rows, "\n".join(f"{name}: {value}" for name, value in rows.items()),
        f"{key} by name: " + ", ".join(f"{name} {value}" for name, value in rows.items()),
    )  # fmt: skip
    question = EXTREME[largest].pick(rng, split, key=key)
    return Part(rng.choice(states), *choice(rng, question, right, [name for name in names if name != right]))


def _count(rng: random.Random, split: Split, count: int) -> Part:
    top = min(count, 6)
    right = rng.randint(1, top)
    key = word(rng, "list key", split)
    items = several(rng, "noun", split, right)
    state = rng.choice(({key: items}, f"{key}: " + ", ".join(items), f"{key}\n" + "\n".join(f"- {item}" for item in items)))
    texts = [str(number) for number in range(1, max(top, 2) + 1)]
    return Part(state, listed(rng, COUNT.pick(rng, split, key=key), texts), right - 1)


def _names(rng: random.Random, split: Split) -> dict[str, str]:
    return {"person": word(rng, "person", split), "noun": word(rng, "noun", split), "place": word(rng, "place", split)}
