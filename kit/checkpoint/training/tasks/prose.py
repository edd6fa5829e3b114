"""Prose that has no bearing on any question: what makes a state long.

Covers: sentences about made-up everyday matters, in words of the split. Does not cover: anything a question asks for.
"""

from __future__ import annotations

import random
from collections.abc import Collection

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.vocabulary import Wordings, word

SENTENCES = Wordings(
    train=("{person} was in {place} last week.", "The {noun} in the hall is {adjective}.", "The day in {place} was {adjective}.",
           "{person} and {other} talked for an hour.", "It rained, so nobody used the {noun}.", "The {adjective} {noun} stands near the door.",
           "Please greet {person} from me.", "Nothing else happened in {place}.", "{person} will {verb} the {noun} some other time.",
           "By the way, the {noun} is {adjective} again.", "{other} came by with the {adjective} {noun}.", "They plan to {verb} it next year.",
           "In {place} the {noun} is always {adjective}.", "I met {person} near the {noun}.", "The trip to {place} was long."),
    calibration=("{person} saw the {noun} in {place}.", "The {noun} was {adjective}, as always."),
    held_out=("{person} and {other} were in {place} for a day.", "The {adjective} {noun} stands in the hall.", "{other} will come by next week.",
              "It was a long day for {person}."),
)  # fmt: skip


def sentence(rng: random.Random, split: Split) -> str:
    """One sentence about nothing."""
    kinds = ("person", "place", "noun", "adjective", "verb")
    return SENTENCES.pick(rng, split, other=word(rng, "person", split), **{kind: word(rng, kind, split) for kind in kinds})


def around(rng: random.Random, split: Split, text: str, sentences: int, without: Collection[str] = ()) -> str:
    """The text with some sentences before and behind it that hold none of the words in `without`."""
    lines: list[str] = []
    while len(lines) < sentences:
        line = sentence(rng, split)
        if not any(word in line for word in without):
            lines.append(line)
    before = rng.randint(0, sentences)
    return " ".join([*lines[:before], text, *lines[before:]])
