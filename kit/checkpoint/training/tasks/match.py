"""Match: the candidate whose text the state names, among candidates that share words with it."""

from __future__ import annotations

import random
import re

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single
from kit.checkpoint.training.vocabulary import Wordings, code, invented, word, written

STATES = Wordings(
    train=("{person} asked for {phrase}.", "The order says: {phrase}", "On the label is written \"{phrase}\".", "Topic: {phrase}",
           "We looked for {phrase} in {place}.", "It was {phrase} that {person} wanted.", "Wanted: {phrase}; by: {person}",
           "{person} wrote '{phrase}' on the {noun}.", "Please find {phrase} before the {noun} closes.", "{phrase}",
           "This is about {phrase}, not about the {noun}.", "The {noun} in {place} is called {phrase}.", "Search term: {phrase}.",
           "Note from {person}: {phrase} is missing.", "The {adjective} {noun} was sold, {phrase} was kept."),
    calibration=("{person} from {place} needs {phrase} today.", "Name on the {noun}: {phrase}", "Only {phrase} was found."),
    held_out=("The {noun} was sent back because {person} ordered {phrase}.", "Somebody wrote: {phrase}!",
              "In {place} they talk of {phrase} and nothing else.", "Title - {phrase} - end of title"),
)  # fmt: skip
ASK = Wordings(
    train=("Which candidate is named in the state?", "Which option does the text mention?", "Pick the candidate the state is about.",
           "What does the state name?", "Which of these is mentioned?", "Choose the option written in the state.",
           "Which text stands in the state?", "Find the candidate that matches.", "What was asked for?"),
    calibration=("Which candidate does the state mention?", "Pick what is written above."),
    held_out=("Which of the candidates is written in the state?", "Choose the one that the text names.", "Which option matches the state?"),
)  # fmt: skip
OPTIONS = Wordings(
    train=("{phrase}", "{phrase}", "{phrase}", "the {phrase}", "{phrase}.", "Item: {phrase}", "about {phrase}"),
    calibration=("named {phrase}",), held_out=("Topic {phrase}", "\"{phrase}\"", "it is {phrase}"),
)  # fmt: skip
FIELDS = ("title", "subject", "name", "query", "wanted", "label", "text")


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample with 2 to 10 candidates, or 16 to `most` in half of the cases where `most` is larger."""
    return single(rng, "match", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One question about the phrase a state holds."""
    count = rng.randint(2, min(most, 10)) if most < 16 or rng.random() < 0.6 else rng.randint(16, most)
    longest = 4 if count <= 10 else 2 if count <= 20 else 1
    right = phrase(rng, split, rng.randint(1, longest), longest > 1)
    state = _state(rng, split, right)
    said = state if isinstance(state, str) else " ".join(map(str, state.values()))
    taken = {plain(right), plain(said)}
    others = [_distractor(rng, split, right, longest, taken) for _ in range(count - 1)]
    frame = rng.choice(OPTIONS.of(split)) if split != "train" or rng.random() < 0.4 else "{phrase}"
    if split != "train" and rng.random() < 0.5:
        frame = "{phrase}"
    question, index = choice(rng, ASK.pick(rng, split), frame.replace("{phrase}", right), [frame.replace("{phrase}", o) for o in others])
    return Part(state, question, index)


def phrase(rng: random.Random, split: Split, length: int, marks: bool = True) -> str:
    """One to four words, the last a noun, a name or an invented word; with `marks`, one alone may be a path, a price and so on."""
    if length == 1 and marks and rng.random() < 0.25:
        return written(rng, split)
    head = invented(rng, split, None if marks else 1) if rng.random() < 0.4 else word(rng, rng.choice(("noun", "noun", "service", "place")), split)
    rest = [invented(rng, split) if rng.random() < 0.25 else word(rng, rng.choice(("adjective", "verb")), split) for _ in range(length - 1)]
    text = " ".join([*rest, head])
    return sentence_case(text) if rng.random() < 0.15 else text


def names(rng: random.Random, split: Split) -> dict[str, str]:
    """What fills the slots of STATES besides the phrase."""
    return {kind: word(rng, kind, split) for kind in ("person", "place", "noun", "adjective")}


def _distractor(rng: random.Random, split: Split, right: str, longest: int, taken: set[str]) -> str:
    """A phrase that is not the right one and, half of the time, has one of its words."""
    while True:
        words = right.split()
        if len(words) > 1 and rng.random() < 0.5:
            words[rng.randrange(len(words))] = word(rng, rng.choice(("adjective", "noun")), split)
            made = " ".join(words)
        else:
            made = phrase(rng, split, rng.randint(1, longest), longest > 1)
        bare = plain(made)
        if not any(bare in other or other in bare for other in taken):
            taken.add(bare)
            return made


def plain(text: str) -> str:
    """The text in small letters, a space for every run of other marks and one at either end."""
    return f" {re.sub(r'[^a-z0-9-]+', ' ', text.casefold()).strip()} "


def _state(rng: random.Random, split: Split, right: str) -> str | dict[str, object]:
    fields = names(rng, split)
    person, place = fields["person"], fields["place"]
    text = STATES.pick(rng, split, phrase=right, **fields)
    kind = rng.random()
    if kind < 0.7:
        return text
    entries: list[tuple[str, object]] = [(rng.choice(FIELDS), right if kind < 0.85 else text), ("ref", code(rng)), ("by", person), ("place", place)]
    entries = entries[: rng.randint(2, 4)]
    rng.shuffle(entries)
    return dict(entries)
