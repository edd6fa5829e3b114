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
           "In {place} the {noun} is always {adjective}.", "I met {person} near the {noun}.", "The trip to {place} was long.",
           "{person} sends greetings from {place}.", "Somebody left a {adjective} {noun} here.", "We had tea and spoke about {place}.", "The {noun} came from {place}.", "{other} has a {adjective} {noun} at home.", "There is a new {noun} in {place}.", "{person} likes to {verb} things.", "Lunch was good, said {other}.", "The {noun} and the {noun2} are both {adjective}.", "{person} told {other} about {place}.",
           "Nobody minds the {adjective} {noun}.", "They say that {place} is {adjective} at this time.", "{other} wants to {verb} the {noun} one day.", "I found a picture of {place}.", "{person} sang on the way to {place}.", "The path to {place} is {adjective}.", "A letter from {other} lies on the {noun}.", "{person} has never been to {place}."),
    calibration=("{person} saw the {noun} in {place}.", "The {noun} was {adjective}, as always."),
    held_out=("{person} and {other} were in {place} for a day.", "The {adjective} {noun} stands in the hall.", "{other} will come by next week.",
              "It was a long day for {person}."),
)  # fmt: skip


def sentence(rng: random.Random, split: Split) -> str:
    """One sentence about nothing."""
    kinds = ("person", "place", "noun", "adjective", "verb")
    more = {"other": word(rng, "person", split), "noun2": word(rng, "noun", split)}
    return SENTENCES.pick(rng, split, **more, **{kind: word(rng, kind, split) for kind in kinds})


def around(rng: random.Random, split: Split, text: str, sentences: int, without: Collection[str] = ()) -> str:
    """The text with some sentences before and behind it that hold none of the words in `without`."""
    lines: list[str] = []
    while len(lines) < sentences:
        line = sentence(rng, split)
        if not any(word in line for word in without):
            lines.append(line)
    before = rng.randint(0, sentences)
    return " ".join([*lines[:before], text, *lines[before:]])
