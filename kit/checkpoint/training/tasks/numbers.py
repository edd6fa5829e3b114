"""Numbers: the one the state names, the candidate at a position, the largest or smallest of a few, how many there are."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.parts import Part, candidate_texts, choice, listed, single
from kit.checkpoint.training.vocabulary import Wordings, code, several, word

LEVELS = 5
NAMED = Wordings(
    train=("The right one is number {n}.", "Please take {n}.", "My choice: {n}", "We agreed on {n} in the end.",
           "{person} picked {n}.", "The {noun} has number {n}.", "Number {n}, and nothing else.", "Selected: {n}.",
           "It was number {n} that won.", "After some talk {person} went for {n}.", "The answer on the card reads {n}.",
           "The {noun} in {place} was given the number {n}.", "Let us go with {n}, said {person}.", "{n}", "{person} said {n}.", "Option {n} it is.",
           "We went with number {n}.", "I would like the {noun} with the number {n}, please.", "In {place} they picked {n}."),
    calibration=("In the end {person} settled for number {n}.", "The winner: {n}.", "Take number {n}, please."),
    held_out=("The {noun} that was picked has the number {n}.", "{person} said: {n}, please.", "We went with {n} in {place}."),
)  # fmt: skip
WHICH_NAMED = Wordings(
    train=("Which number does the state name?", "Pick the number that is named.", "Which number is it?",
           "Which option number was chosen?", "Select the number given in the state.", "What number was picked?",
           "Choose the candidate with the number in the text.", "Which of these numbers is written above?", "Which number is meant?",
           "Which number was chosen?", "What number is given?", "Pick the right number.", "Which number does the text give?"),
    calibration=("Which number was given?", "Select the option number that the state names."),
    held_out=("Which number is named in the text?", "Pick the number that was chosen.", "What number does the state give?"),
)  # fmt: skip
NUMBER_TEXT = Wordings(
    train=("option {n}", "number {n}", "No. {n}", "{n}.", "item {n}", "Number {n}", "it is number {n}", "#{n}", "({n})"),
    calibration=("the number {n}", "choice {n}"), held_out=("Option number {n}", "it is {n}", "No {n}"),
)  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
POSITION = Wordings(
    train=("Take candidate number {n} of the list.", "Pick the {ordinal} candidate.", "The {ordinal} one in the list, please.",
           "{person} wants the {ordinal} candidate.", "Position in the list: {n}", "Go for the candidate at position {n}.", "The {ordinal}, please.",
           "Choose the {ordinal} of the candidates.", "Candidate {n} is the right one.", "{person} picked position {n}.", "Please take the {ordinal} candidate.",
           "It is the {ordinal} in the list."),
    calibration=("The candidate at position {n} is the right one.", "{person} said to take the {ordinal} in the list."),
    held_out=("{person} picked the {ordinal} candidate of the list.", "Please go for position {n} in the list.", "Take the {ordinal} one."),
)  # fmt: skip
WHICH_POSITION = Wordings(
    train=("Which candidate is meant?", "Follow the state: which candidate?", "Choose by position.",
           "Which candidate stands at that position?", "Pick the candidate that was asked for.", "Do what the state says.", "Which one was picked?", "Which candidate should be taken?",
           "Choose what the state asks for.", "Which one is meant by the state?"),
    calibration=("Which candidate was asked for?",), held_out=("Which candidate does the state ask for?", "Choose the one that is meant."),
)  # fmt: skip
EXTREME = {
    True: Wordings(
        train=("Which has the largest number?", "Which {key} is the highest?", "Who or what has the most {key}?",
               "Pick the one with the highest {key}.", "Where is {key} largest?", "Select the maximum.", "Which is the greatest?", "Which one has the largest {key}?",
               "Where are the most {key}?", "Pick the largest.", "Which has the most?", "Which one is at the top?"),
        calibration=("Which one has the most {key}?", "Pick the one that has the most."),
        held_out=("Which one has the highest number?", "Where is the most {key}?", "Select the one with the largest {key}."),
    ),
    False: Wordings(
        train=("Which has the smallest number?", "Which {key} is the lowest?", "Who or what has the fewest {key}?",
               "Pick the one with the lowest {key}.", "Where is {key} smallest?", "Select the minimum.", "Which is the least?", "Which one has the smallest {key}?",
               "Where are the fewest {key}?", "Pick the smallest.", "Which has the least?", "Which one is at the bottom?"),
        calibration=("Which one has the fewest {key}?", "Pick the one that has the least."),
        held_out=("Which one has the lowest number?", "Where is the fewest {key}?", "Select the one with the smallest {key}."),
    ),
}  # fmt: skip
COUNT = Wordings(
    train=("How many {key} are listed?", "Count the {key}.", "What is the number of {key} in the list?", "How long is the list?", "How many {key} are there?",
           "How many are listed?", "Number of {key}?", "How many entries has the list?", "Count the list.", "How many {key} does the list have?"),
    calibration=("How many entries does the list have?",), held_out=("How many {key} are in the list?", "Count the entries."),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: one of two named; 1: positions; 2: counts and largest of few; 3: to ten candidates; 4: to 26."""
    return single(rng, "numbers", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One question about numbers."""
    kinds = (_named, _named, _position, _extreme, _extreme, _count)
    most = (2, 4, 8, 10, 26)[level]
    count = rng.randint(2, most) if most < 26 or rng.random() < 0.7 else rng.randint(11, most)
    return rng.choice(kinds[: (2, 3, 6, 6, 6)[level]])(rng, split, count, level)


def _named(rng: random.Random, split: Split, count: int, level: int) -> Part:
    if rng.random() < (0.8 if level == 0 else 0.4):
        pool = list(range(1, count + 1))
    else:
        low = rng.choice((0, 0, 10, 100, 1000) if count <= 16 else (0, 10))  # long lists of long numbers are too many tokens
        pool = rng.sample(range(low, max(low * 10, 60)), count)
    number = rng.choice(pool)
    state: object = NAMED.pick(rng, split, n=number, **_names(rng, split))
    if level > 0 and rng.random() < 0.25:
        state = {"ref": code(rng), word(rng, "number key", split): number, "by": word(rng, "person", split)}
        while int(str(state["ref"]).partition("-")[2]) in pool:  # a number that is a candidate stands in the state once
            state["ref"] = code(rng)
    frame = rng.choice(NUMBER_TEXT.of(split)) if level > 0 and rng.random() < 0.6 else "{n}"
    texts = [frame.format(n=item) for item in pool]
    if pool == sorted(pool) and rng.random() < 0.7:
        return Part(state, listed(rng, WHICH_NAMED.pick(rng, split), texts), pool.index(number))
    texts.remove(frame.format(n=number))
    return Part(state, *choice(rng, WHICH_NAMED.pick(rng, split), frame.format(n=number), texts))


def _position(rng: random.Random, split: Split, count: int, level: int) -> Part:
    at = rng.randrange(min(count, len(ORDINALS)))
    state = POSITION.pick(rng, split, n=at + 1, ordinal=ORDINALS[at], **_names(rng, split))
    texts = several(rng, rng.choice(("noun", "adjective", "person")), split, min(count, 12))
    question, right = choice(rng, WHICH_POSITION.pick(rng, split), texts[0], texts[1:], at)
    told = ", ".join(f"{n + 1} {candidate}" for n, candidate in enumerate(candidate_texts(question)[: at + 1]))
    return Part(state, question, right, reason=told)


def _extreme(rng: random.Random, split: Split, count: int, level: int) -> Part:
    count = min(count, (2, 2, 2, 3, 4)[level])
    names = several(rng, rng.choice(("person", "service", "place", "noun")), split, count)
    values = rng.sample(range(1, (10, 10, 10, 100, rng.choice((10, 100, 100, 1000)))[level]), count)
    largest = rng.random() < 0.5
    right = names[values.index(max(values) if largest else min(values))]
    key = word(rng, "number key", split)
    rows = dict(zip(names, values, strict=True))
    states: tuple[object, ...] = (
        {key: rows}, rows, "\n".join(f"{name}: {value}" for name, value in rows.items()),
        f"{key} by name: " + ", ".join(f"{name} {value}" for name, value in rows.items()),
    )  # fmt: skip
    question = EXTREME[largest].pick(rng, split, key=key)
    ranked = sorted(rows, key=lambda name: rows[name], reverse=largest)
    told = ", ".join(f"{rows[name]} {name}" for name in ranked)  # the number first: it is found before its owner
    return Part(rng.choice(states), *choice(rng, question, right, [name for name in names if name != right]), reason=told)


def _count(rng: random.Random, split: Split, count: int, level: int) -> Part:
    top = min(count, (3, 3, 3, 4, 5)[level])
    right = rng.randint(1, top)
    key = word(rng, "list key", split)
    items = several(rng, "noun", split, right)
    state = rng.choice(({key: items}, f"{key}: " + ", ".join(items), f"{key}\n" + "\n".join(f"- {item}" for item in items)))
    texts = [str(number) for number in range(1, max(top, 2) + 1)]
    told = ", ".join(f"{n + 1} {item}" for n, item in enumerate(items))
    return Part(state, listed(rng, COUNT.pick(rng, split, key=key), texts), right - 1, reason=f"{told}: {right}")


def _names(rng: random.Random, split: Split) -> dict[str, str]:
    return {"person": word(rng, "person", split), "noun": word(rng, "noun", split), "place": word(rng, "place", split)}
