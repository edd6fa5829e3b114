"""One question in many words: what is asked of something, put into frames that every family shares.

Covers: `Trait` (what may be so of a row, a button, an image: "is red", "shows a circle"), and the frames it is asked in:
which one, is it this one, how many. Frames, verbs and what stands around them multiply, so that what a question asks is
learned and not how one sentence sounds. Does not cover: the questions that families word themselves.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.vocabulary import Wordings

FRAMED = 0.55  # the share of questions that are put into frames, of those that can be

WHICH = Wordings(
    train=("Which {thing} {does}?", "Name the {thing} that {does}.", "One {thing} {does}. Which?", "There is a {thing} that {does}. Find it.", "Say which {thing} {does}.",
           "Of all the {thing}s, which one {does}?", "The {thing} that {does}, please.", "Look for the {thing} that {does}.", "A {thing} {does}. Where is it?", "Point to the {thing} that {does}.",
           "What {thing} {does}?", "I am looking for the {thing} that {does}.", "Exactly one {thing} {does}. Pick it.", "Choose the {thing} that {does}.", "Where is the {thing} that {does}?",
           "Can you find the {thing} that {does}?", "Only one {thing} {does}: which one is that?", "Which of them is the {thing} that {does}?", "Do you see the {thing} that {does}? Choose it.",
           "Show me the {thing} that {does}.", "We need the {thing} that {does}.", "Tell us which {thing} {does}.", "Among these, what is the {thing} that {does}?", "A single {thing} {does}. Say which it is."),
    calibration=("Give the {thing} that {does}.", "Which is the one {thing} that {does}?"),
    held_out=("Please name the one {thing} that {does}.", "Some {thing} {does}. Which one would that be?", "Decide which {thing} {does}.", "Try to find the {thing} that {does}."),
)  # fmt: skip
IS_IT = Wordings(
    train=("Is it true that {name} {does}?", "{name} {does}. Right?", "Would you say that {name} {does}?", "Say whether {name} {does}.", "True or false: {name} {does}.", "Can one say that {name} {does}?",
           "Does it hold that {name} {does}?", "Look at {name}: {does}, or not?", "Somebody says that {name} {does}. Is that so?", "Is it so that {name} {does}?", "{name} {does}, yes or no?",
           "Check whether {name} {does}.", "Do you agree that {name} {does}?", "Is it right to say that {name} {does}?", "Decide: {name} {does}.", "We think that {name} {does}. Do you?",
           "What about {name}: {does}?", "Is {name} one that {does}?", "Tell me if {name} {does}.", "Judge for yourself: {name} {does}.", "It is claimed that {name} {does}.",
           "Take {name} alone. Is it one that {does}?", "Of {name} it is said that it {does}. Correct?", "Only about {name}: is it one that {does}?"),
    calibration=("Find out whether {name} {does}.", "Is the claim right that {name} {does}?"),
    held_out=("Could one say of {name} that it {does}?", "The claim is that {name} {does}.", "Please check: {name} {does}.", "Let us see whether {name} {does}."),
)  # fmt: skip
HOW_MANY = Wordings(
    train=("How many {thing}s {do}?", "Count the {thing}s that {do}.", "Say how many {thing}s {do}.", "Of these {thing}s, how many {do}?", "Tell the number of {thing}s that {do}.", "Some {thing}s {do}. How many?",
           "How many {thing}s are there that {do}?", "What is the number of {thing}s that {do}?", "Find all the {thing}s that {do} and count them.", "How often is there a {thing} that {does}?",
           "I want to know how many {thing}s {do}.", "Give the count of {thing}s that {do}.", "How many of all the {thing}s {do}?", "Look at the {thing}s that {do}: how many are they?"),
    calibration=("Work out how many {thing}s {do}.",), held_out=("Please count the {thing}s that {do}.", "Among the {thing}s, how many {do}?", "What number of {thing}s {do}?"),
)  # fmt: skip
THINGS = {
    "row": ("row", "service", "entry", "line", "stage", "system", "item", "component"),
    "field": ("field", "box", "entry", "input", "row"),
    "button": ("button", "choice", "option"),
    "bar": ("bar", "column"),
    "image": ("image", "picture", "screen", "screenshot", "photo", "shot"),
    "mark": ("mark", "badge", "dot", "sign", "item"),
}


@dataclass(frozen=True)
class Trait:
    """What may be so. does: verbs of one thing; do: the same of several; what: an adjective or a noun for it."""

    does: Sequence[str]
    do: Sequence[str]
    what: Sequence[str]


def colour(word: str) -> Trait:
    """A colour of a row or an image, by the word that people use for it."""
    does = ("is {c}", "is shown in {c}", "has a {c} mark", "came up {c}", "is painted {c}", "has turned {c}", "is coloured {c}", "stands in {c}", "is drawn in {c}", "has something {c}", "shows {c}", "went {c}", "lights up {c}")
    do = ("are {c}", "are shown in {c}", "came up {c}", "are painted {c}", "have turned {c}", "are coloured {c}", "are drawn in {c}", "show something {c}", "have something {c}")
    return Trait([text.format(c=word) for text in does], [text.format(c=word) for text in do], (word, word, f"in {word}", f"coloured {word}", f"shown in {word}", f"something {word}"))


def shape(word: str) -> Trait:
    """A shape that an image shows."""
    does = ("shows a {s}", "has a {s}", "contains a {s}", "has a {s} on it", "displays a {s}", "holds a {s}", "carries a {s}", "bears a {s}", "is the one of the {s}")
    do = ("show a {s}", "have a {s}", "contain a {s}", "display a {s}", "hold a {s}", "carry a {s}")
    return Trait([text.format(s=word) for text in does], [text.format(s=word) for text in do], (f"a {word}", f"the {word}", f"with a {word}", f"one with a {word}"))


WRONG = Trait(
    ("is wrong", "has an error", "is marked red", "must be corrected", "is in error", "has a red frame", "was filled in badly", "is not accepted", "has to be changed", "is faulty"), ("are wrong", "have an error", "are marked red"), ("wrong", "in error", "marked red")
)  # fmt: skip
BLANK = Trait(
    ("is empty", "is still empty", "is not filled in", "has no value", "is blank", "was left out", "holds nothing", "is without a value", "has nothing in it"),
    ("are empty", "are still empty", "are not filled in", "have no value", "are blank", "hold nothing", "were left out", "have nothing in them"),
    ("empty", "left empty", "blank", "without a value", "not filled in"),
)  # fmt: skip
FILLED = Trait(
    ("is filled in", "has a value", "is filled", "holds a value", "has been filled in", "has something in it", "is not empty", "holds some text"),
    ("are filled in", "have a value", "hold a value"), ("filled", "filled in", "with a value", "not empty", "written in"),
)  # fmt: skip
MAIN = Trait(
    ("is highlighted", "stands out", "is coloured", "is the main one", "is filled with colour", "is the primary one", "is filled", "has a colour", "is the active one", "is painted", "draws the eye"),
    ("are highlighted", "stand out"), ("highlighted", "the main one", "coloured", "the primary one", "filled", "the one that stands out"),
)  # fmt: skip
TALLEST = Trait(
    ("is the tallest", "is the highest", "goes up highest", "has the largest value", "is the longest", "reaches highest", "is larger than all others", "has the highest value", "is the top one", "leads", "goes up the most"), ("lead",),
    ("the tallest", "the highest", "the largest", "the maximum", "higher than the others"),
)  # fmt: skip
SHORTEST = Trait(
    ("is the shortest", "is the lowest", "has the smallest value", "is smaller than all others", "ends lowest", "has the lowest value", "is the least", "goes up the least", "comes last", "is the bottom one"), ("trail",),
    ("the shortest", "the lowest", "the smallest", "the minimum"),
)  # fmt: skip
FULLEST = Trait(
    ("shows the fullest gauge", "has the longest bar", "is the fullest", "is filled the most", "shows the most", "has the fullest bar", "is closest to full", "has the highest level"), ("are full",), ("the fullest",)
)  # fmt: skip


def which(rng: random.Random, split: Split, thing: str, trait: Trait, own: str) -> str:
    """Which one has a trait: `own` words of a family, or a frame. thing: of THINGS."""
    return WHICH.pick(rng, split, thing=rng.choice(THINGS[thing]), does=rng.choice(trait.does)) if rng.random() < FRAMED else own


def is_it(rng: random.Random, split: Split, name: str, trait: Trait, own: str) -> str:
    """Whether the one of this name has it."""
    if rng.random() >= FRAMED:
        return own
    text = IS_IT.pick(rng, split, name=name, does=rng.choice(trait.does))
    return text[:1].upper() + text[1:]


def how_many(rng: random.Random, split: Split, thing: str, trait: Trait, own: str) -> str:
    """How many have it."""
    if rng.random() >= FRAMED:
        return own
    return HOW_MANY.pick(rng, split, thing=rng.choice(THINGS[thing]), does=rng.choice(trait.does), do=rng.choice(trait.do))
