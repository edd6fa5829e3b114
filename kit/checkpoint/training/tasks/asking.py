"""One question in many words: what is asked of something, put into frames that every family shares.

Covers: `Trait` (what may be so of a row, a button, an image: "is red", "shows a circle"), what it is not, and the frames
it is asked in: which one, the only one, is it this one, how many, is any, every one or none, which colour. Frames, verbs and what stands around them multiply, so that what a question asks is
learned and not how one sentence sounds. Does not cover: the questions that families word themselves.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kit.checkpoint.training.samples import Question, Split
from kit.checkpoint.training.tasks.parts import choice, sentence_case, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings

DENIED = re.compile(r"\b(not|no)\b")  # "all are not empty" can be read in two ways
ARTICLE = re.compile(r"\b([Aa]) (?=(?!one\b)[aeio])")
FRAMED = 0.55  # the share of questions that are put into frames, of those that can be

WHICH = Wordings(
    train=("Which {thing} {does}?", "Name the {thing} that {does}.", "One {thing} {does}. Which?", "There is a {thing} that {does}. Find it.", "Say which {thing} {does}.",
           "Of all the {thing}s, which one {does}?", "The {thing} that {does}, please.", "Look for the {thing} that {does}.", "A {thing} {does}. Where is it?", "Point to the {thing} that {does}.",
           "What {thing} {does}?", "I am looking for the {thing} that {does}.", "Exactly one {thing} {does}. Pick it.", "Choose the {thing} that {does}.", "Where is the {thing} that {does}?",
           "Can you find the {thing} that {does}?", "Only one {thing} {does}: which one is that?", "Which of them is the {thing} that {does}?", "Do you see the {thing} that {does}? Choose it.",
           "Show me the {thing} that {does}.", "We need the {thing} that {does}.", "Tell us which {thing} {does}.", "Among these, what is the {thing} that {does}?", "A single {thing} {does}. Say which it is.",
           "Which {thing} can be said to be one that {does}?", "Which {thing} shown there {does}?", "Which {thing} here {does}?", "See which {thing} {does}.", "Which is the {thing} that {does}?", "Where do you see a {thing} that {does}?",
           "Find out which {thing} {does}.", "Tell me the {thing} that {does}.", "It is about the {thing} that {does}. Which is it?", "What is the {thing} called that {does}?", "The one {thing} that {does}: which is it?",
           "Help me find the {thing} that {does}.", "Somewhere a {thing} {does}. Where?", "Do you know which {thing} {does}?", "Just one of the {thing}s {does}. Name it.", "Look at every {thing}. Which one {does}?", "I see a {thing} that {does}. Which do I mean?",
           "Which of these {thing}s is the one that {does}?", "Go through the {thing}s: which one {does}?"),
    calibration=("Give the {thing} that {does}.", "Which is the one {thing} that {does}?"),
    held_out=("Please name the one {thing} that {does}.", "Some {thing} {does}. Which one would that be?", "Decide which {thing} {does}.", "Try to find the {thing} that {does}."),
)  # fmt: skip
IS_IT = Wordings(
    train=("Is it true that {name} {does}?", "{name} {does}. Right?", "Would you say that {name} {does}?", "Say whether {name} {does}.", "True or false: {name} {does}.", "Can one say that {name} {does}?",
           "Does it hold that {name} {does}?", "Look at {name}: {does}, or not?", "Somebody says that {name} {does}. Is that so?", "Is it so that {name} {does}?", "{name} {does}, yes or no?",
           "Check whether {name} {does}.", "Do you agree that {name} {does}?", "Is it right to say that {name} {does}?", "Decide: {name} {does}.", "We think that {name} {does}. Do you?",
           "What about {name}: {does}?", "Is {name} one that {does}?", "Tell me if {name} {does}.", "Judge for yourself: {name} {does}.", "It is claimed that {name} {does}.",
           "Take {name} alone. Is it one that {does}?", "Of {name} it is said that it {does}. Correct?", "Only about {name}: is it one that {does}?",
           "I would like to know whether {name} {does}.", "Can it be said that {name} {does}?", "Do you see that {name} {does}?", "One thing about {name}: is it one that {does}?", "Now {name}. Does it hold that it {does}?",
           "Am I right that {name} {does}?", "My guess is that {name} {does}. Is it so?", "Surely {name} {does}, or am I wrong?", "They told me that {name} {does}. Is it true?", "Does the screen show that {name} {does}?",
           "Given what is shown, {name} {does}: yes or no?", "Please tell us whether {name} {does}.", "Let me know if {name} {does}.", "Could it be that {name} {does}?", "Look at {name}. Would you say it {does}?"),
    calibration=("Find out whether {name} {does}.", "Is the claim right that {name} {does}?"),
    held_out=("Could one say of {name} that it {does}?", "The claim is that {name} {does}.", "Please check: {name} {does}.", "Let us see whether {name} {does}."),
)  # fmt: skip
HOW_MANY = Wordings(
    train=("How many {thing}s {do}?", "Count the {thing}s that {do}.", "Say how many {thing}s {do}.", "Of these {thing}s, how many {do}?", "Tell the number of {thing}s that {do}.", "Some {thing}s {do}. How many?",
           "How many {thing}s are there that {do}?", "What is the number of {thing}s that {do}?", "Find all the {thing}s that {do} and count them.", "How often is there a {thing} that {does}?",
           "I want to know how many {thing}s {do}.", "Give the count of {thing}s that {do}.", "How many of all the {thing}s {do}?", "Look at the {thing}s that {do}: how many are they?",
           "How many {thing}s can you see that {do}?", "Add up the {thing}s that {do}.", "What is the count of {thing}s that {do}?", "How large is the number of {thing}s that {do}?", "Go through all {thing}s: how many {do}?",
           "Can you count the {thing}s that {do}?", "We need the number of {thing}s that {do}.", "How many times do you see a {thing} that {does}?", "In what is shown, how many {thing}s {do}?", "Please tell me how many {thing}s {do}."),
    calibration=("Work out how many {thing}s {do}.",), held_out=("Please count the {thing}s that {do}.", "Among the {thing}s, how many {do}?", "What number of {thing}s {do}?"),
)  # fmt: skip
ONLY = Wordings(  # for what all but one have, or all but one lack
    train=("Which {thing} is the only one that {does}?", "Only one {thing} {does}. Which?", "All {thing}s but one are alike in this. Which one {does}?", "Find the only {thing} that {does}.", "One {thing} is unlike the others: it {does}. Which one?",
           "The only {thing} that {does}: name it.", "There is one exception, a {thing} that {does}. Where is it?", "Which is the one and only {thing} that {does}?", "Say which {thing}, alone among them, {does}.", "Of all these {thing}s a single one {does}. Find it.",
           "Which one differs from the rest, in that it {does}?", "Name the {thing} that {does}, the only one of its kind.", "Look for the odd {thing} out: it {does}.", "No other {thing} does so, but one {does}. Which one?", "Which {thing} stands apart because it {does}?"),
    calibration=("Which single {thing} {does}?",), held_out=("Among the {thing}s only one {does}. Which one is that?", "Point out the only {thing} that {does}."),
)  # fmt: skip
ANY = Wordings(
    train=("Is there any {thing} that {does}?", "Is there a {thing} that {does}?", "Is some {thing} one that {does}?", "Can you see a {thing} that {does}?", "At least one {thing} {does}. Right?", "Is it so that at least one {thing} {does}?", "Do you find a {thing} that {does}?",
           "Is there even one {thing} that {does}?", "Say whether some {thing} {does}.", "Does one of the {thing}s look as if it {does}?", "Would you find any {thing} that {does}?", "One {thing} or more {does}. True?", "Are there {thing}s that {do}?", "Are there any {thing}s that {do}?",
           "Check if any {thing} {does}.", "Do we have a {thing} that {does}?", "Is anything among the {thing}s such that it {does}?", "Is at least one of the {thing}s one that {does}?", "Some {thing} {does}: yes or no?", "Is there something that {does}?", "Is there anything that {does}?"),
    calibration=("Does any {thing} at all count as one that {does}?",), held_out=("Could you find any {thing} that {does}?", "There is at least one {thing} that {does}. Is that so?"),
)  # fmt: skip
EVERY = Wordings(
    train=("Is it true that every {thing} {does}?", "Every {thing} {does}. Right?", "Is it so that all {thing}s {do}?", "All {thing}s {do}, yes or no?", "Does it hold for each {thing} that it {does}?", "Each {thing} {does}. Is that so?", "Do you agree that all the {thing}s {do}?",
           "Would you say that every single {thing} {does}?", "Say whether all {thing}s {do}.", "Check that each {thing} {does}.", "Can one say that all of the {thing}s {do}?", "Is each of the {thing}s one that {does}?", "Without exception the {thing}s {do}. True?", "Is everything here such that it {does}?",
           "Are all of them {thing}s that {do}?", "Is every {thing} one that {does}?", "Is there no {thing} but those that {do}?"),
    calibration=("Is it the case that the {thing}s all {do}?",), held_out=("Could one say that each and every {thing} {does}?", "All of the {thing}s {do}. Is that so?"),
)  # fmt: skip
NONE = Wordings(
    train=("Is it true that no {thing} {does}?", "No {thing} {does}. Right?", "Is it so that none of the {thing}s {do}?", "None of the {thing}s {do}, yes or no?", "Not one {thing} {does}. Is that so?", "Is there no {thing} that {does}?", "Do you agree that no {thing} {does}?",
           "Would you say that not a single {thing} {does}?", "Say whether we are free of any {thing} that {does}.", "Check that no {thing} {does}.", "Can one say that no {thing} {does}?", "Is nothing here such that it {does}?", "Are there no {thing}s that {do}?", "Is it right that nothing {does}?", "Nothing {does}. Is it so?"),
    calibration=("Is it the case that not one {thing} {does}?",), held_out=("Could one say that none of the {thing}s {do}?", "There is not one {thing} that {does}. Is that so?"),
)  # fmt: skip
SAID = {ANY: ("at least one|none at all", "there is one|there is none", "one or more|not one", "yes, some|no, none"), EVERY: ("all of them|not all of them", "each one|at least one is not", "yes, every one|no, there is an exception"),
        NONE: ("none at all|one at least", "not one|there is one or more", "yes, none|no, there is")}  # fmt: skip
WHICH_COLOUR = Wordings(
    train=("Which colour is {name}?", "What colour is shown for {name}?", "Say the colour of {name}.", "In what colour does {name} appear?", "Name the colour of {name}.", "Of which colour is {name}?", "Look at {name}: which colour?", "{name}: what colour is it?", "Which colour do you see on {name}?",
           "By its colour, what is {name}?", "Tell me which colour {name} has.", "What is the colour seen on {name}?", "Which colour stands for {name}?", "What colour has been given to {name}?", "I want to know the colour of {name}.", "Which of the colours belongs to {name}?", "{name} is of one colour. Which?", "How is {name} coloured?"),
    calibration=("Give the colour of {name}.",), held_out=("Which colour would you say {name} has?", "What colour belongs to {name}?"),
)  # fmt: skip
QUANTIFIED: dict[Split, float] = {"train": 0.16, "calibration": 0.1, "held-out": 0.04}  # share of any, every, none; few where figures are compared
UNLIKE: dict[Split, float] = {"train": 0.12, "calibration": 0.1, "held-out": 0.04}  # share of the only one that is not
THINGS = {
    "row": ("row", "service", "entry", "line", "stage", "system", "item", "component"),
    "field": ("field", "box", "entry", "input", "row"),
    "button": ("button", "choice", "option"),
    "bar": ("bar", "column"),
    "lying bar": ("bar", "bar", "strip", "row"),
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
    does = ("is {c}", "is shown in {c}", "has a {c} mark", "came up {c}", "is painted {c}", "has turned {c}", "is coloured {c}", "stands in {c}", "is drawn in {c}", "has something {c}", "shows {c}", "went {c}", "lights up {c}", "appears in {c}", "is marked {c}", "is marked in {c}", "carries {c}", "wears {c}", "glows {c}", "has gone {c}", "has the colour {c}", "bears something {c}", "comes in {c}", "looks {c}", "is given in {c}")
    do = ("are {c}", "are shown in {c}", "came up {c}", "are painted {c}", "have turned {c}", "are coloured {c}", "are drawn in {c}", "show something {c}", "have something {c}", "appear in {c}", "are marked {c}", "have the colour {c}", "look {c}", "come in {c}", "have gone {c}", "carry something {c}")
    return Trait([text.format(c=word) for text in does], [text.format(c=word) for text in do], (word, word, f"in {word}", f"coloured {word}", f"shown in {word}", f"something {word}"))


def shape(word: str) -> Trait:
    """A shape that an image shows."""
    does = ("shows a {s}", "has a {s}", "contains a {s}", "has a {s} on it", "displays a {s}", "holds a {s}", "carries a {s}", "bears a {s}", "is the one of the {s}", "is a picture of a {s}", "presents a {s}", "has a {s} drawn on it", "pictures a {s}", "includes a {s}", "depicts a {s}", "lets us see a {s}")
    do = ("show a {s}", "have a {s}", "contain a {s}", "display a {s}", "hold a {s}", "carry a {s}", "depict a {s}", "include a {s}", "present a {s}")
    return Trait([text.format(s=word) for text in does], [text.format(s=word) for text in do], (f"a {word}", f"the {word}", f"with a {word}", f"one with a {word}"))


def unlike(does: Sequence[str], do: Sequence[str], what: str) -> Trait:
    """What is not so; given with verbs that can be denied, as "is red", "shows a circle"."""
    denied = [_denied(text) for text in does]
    return Trait(denied, [_denied(text) for text in do], (f"not {what}", f"other than {what}", f"anything but {what}"))


def not_colour(word: str) -> Trait:
    """A row or an image of another colour."""
    return unlike(
        (f"is {word}", f"is shown in {word}", f"is marked {word}", f"is coloured {word}", f"has a {word} mark", f"shows {word}", f"has turned {word}", f"is painted {word}"),
        (f"are {word}", f"are shown in {word}", f"are marked {word}", f"have turned {word}"), word,
    )  # fmt: skip


def not_shape(word: str) -> Trait:
    """An image with another shape."""
    return unlike((f"shows a {word}", f"has a {word}", f"contains a {word}", f"displays a {word}"), (f"show a {word}", f"have a {word}", f"contain a {word}"), f"a {word}")


def _denied(text: str) -> str:
    """A verb with what follows it, denied: "is not red", "does not show a circle"."""
    verb, _, rest = text.partition(" ")
    if verb in ("is", "are") or rest.split()[0] in ("turned", "gone"):
        return f"{verb} not {rest}"
    base = {"has": "have", "shows": "show", "contains": "contain", "displays": "display"}.get(verb)
    return f"does not {base} {rest}" if base else f"do not {text}"


WRONG = Trait(
    ("is wrong", "has an error", "is marked red", "must be corrected", "is in error", "has a red frame", "was filled in badly", "is not accepted", "has to be changed", "is faulty", "is marked as wrong", "needs to be put right", "has been refused", "has a problem", "holds a mistake", "did not pass the check", "is not right", "calls for a correction", "is outlined in red"),
    ("are wrong", "have an error", "are marked red"), ("wrong", "in error", "marked red", "faulty", "refused", "to be corrected")
)  # fmt: skip
BLANK = Trait(
    ("is empty", "is still empty", "is not filled in", "has no value", "is blank", "was left out", "holds nothing", "is without a value", "has nothing in it", "has not been filled in", "lacks a value", "still has no text", "was not written in", "has yet to be filled", "contains nothing", "is left blank", "still waits for a value", "has no entry"),
    ("are empty", "are still empty", "are not filled in", "have no value", "are blank", "hold nothing", "were left out", "have nothing in them", "lack a value", "contain nothing", "are left blank", "have not been filled in"),
    ("empty", "left empty", "blank", "without a value", "left blank"),
)  # fmt: skip
FILLED = Trait(
    ("is filled in", "has a value", "is filled", "holds a value", "has been filled in", "has something in it", "is not empty", "holds some text", "contains something", "was written in", "already has a value", "carries an entry", "contains a value", "is not blank", "has text in it", "has been completed"),
    ("are filled in", "have a value", "hold a value", "are not empty", "contain something", "have been filled in", "have something in them"), ("filled", "filled in", "with a value", "completed", "written in"),
)  # fmt: skip
MAIN = Trait(
    ("is highlighted", "stands out", "is coloured", "is the main one", "is filled with colour", "is the primary one", "is filled", "has a colour", "is the active one", "is painted", "draws the eye", "is the emphasised one", "is set off by a colour", "is the one in colour", "has a filled ground", "is drawn as the main choice", "catches the eye", "is meant to be pressed first", "is the only one in colour"),
    ("are highlighted", "stand out"), ("highlighted", "the main one", "coloured", "the primary one", "filled", "the one that stands out"),
)  # fmt: skip
TALLEST = Trait(
    ("is the tallest", "is the highest", "goes up highest", "has the largest value", "is the longest", "reaches highest", "is larger than all others", "has the highest value", "is the top one", "leads", "goes up the most", "rises highest", "towers over the others", "has the greatest value", "is above all others", "ends highest", "comes out on top", "stands for the largest value", "is the maximum", "beats all the others"), ("lead",),
    ("the tallest", "the highest", "the largest", "the maximum", "higher than the others"),
)  # fmt: skip
SHORTEST = Trait(
    ("is the shortest", "is the lowest", "has the smallest value", "is smaller than all others", "ends lowest", "has the lowest value", "is the least", "goes up the least", "comes last", "is the bottom one", "rises least", "is below all others", "stands for the smallest value", "is the minimum", "has the least value", "stays lowest"), ("trail",),
    ("the shortest", "the lowest", "the smallest", "the minimum"),
)  # fmt: skip
LONGEST = Trait(
    ("is the longest", "has the largest value", "reaches farthest", "is larger than all others", "has the highest value", "leads", "goes farthest", "extends the most", "stretches farthest", "has the greatest length", "is the maximum", "stands for the largest value"),
    ("lead",), ("the longest", "the largest", "the maximum", "longer than the others"),
)  # fmt: skip
LEAST = Trait(
    ("is the shortest", "has the smallest value", "is smaller than all others", "has the lowest value", "is the least", "goes least far", "comes last", "ends first", "extends the least", "is the minimum", "has the least length", "stands for the smallest value"),
    ("trail",), ("the shortest", "the smallest", "the minimum"),
)  # fmt: skip
FULLEST = Trait(
    ("shows the fullest gauge", "has the longest bar", "is the fullest", "is filled the most", "shows the most", "has the fullest bar", "is closest to full", "has the highest level", "is the most full", "shows the highest share", "is nearest to full", "has used the most", "has the least room left"), ("are full",), ("the fullest",)
)  # fmt: skip


def which(rng: random.Random, split: Split, thing: str, trait: Trait, own: str) -> str:
    """Which one has a trait: `own` words of a family, or a frame. thing: of THINGS."""
    return written(WHICH.pick(rng, split, thing=rng.choice(THINGS[thing]), does=rng.choice(trait.does))) if rng.random() < FRAMED else own


def is_it(rng: random.Random, split: Split, name: str, trait: Trait, own: str) -> str:
    """Whether the one of this name has it."""
    if rng.random() >= FRAMED:
        return own
    return sentence_case(IS_IT.pick(rng, split, name=name, does=rng.choice(trait.does)))


def how_many(rng: random.Random, split: Split, thing: str, trait: Trait, own: str) -> str:
    """How many have it."""
    if rng.random() >= FRAMED:
        return own
    return written(HOW_MANY.pick(rng, split, thing=rng.choice(THINGS[thing]), does=rng.choice(trait.does), do=rng.choice(trait.do)))


def only(rng: random.Random, split: Split, thing: str, trait: Trait) -> str:
    """Which is the only one that has a trait, that the others do not have."""
    return written(ONLY.pick(rng, split, thing=rng.choice(THINGS[thing]), does=rng.choice(trait.does)))


def quantified(
    rng: random.Random, split: Split, thing: str, trait: Trait, count: int
) -> tuple[Question, int, list[bool]]:
    """Is any, every one or none so: the question, its right answer, and of which of `count` it is then so."""
    plain = [text for text in trait.do if not DENIED.search(text)]
    frames, answer = rng.choice((ANY, ANY, EVERY, NONE) if plain else (ANY,)), rng.random() < 0.5
    if frames is EVERY:
        so = count if answer else rng.choice((count - 1, rng.randint(0, count - 1)))
    else:
        so = rng.choice((1, rng.randint(1, count))) if answer is (frames is ANY) else 0
    which_so = [n < so for n in range(count)]
    rng.shuffle(which_so)
    does = [text for text in trait.does if not text.startswith("is the ") and (frames is ANY or not DENIED.search(text))]
    asked = written(frames.pick(rng, split, thing=rng.choice(THINGS[thing]), does=rng.choice(does), do=rng.choice(plain or trait.do)))
    if split == "train" and rng.random() < 0.3:
        yes, no = rng.choice(SAID[frames]).split("|")
        return *choice(rng, asked, yes if answer else no, [no if answer else yes]), which_so
    return *yes_or_no(rng, split, asked, answer), which_so


def colour_of(rng: random.Random, split: Split, name: str, own: str) -> str:
    """In which colour the one of this name is: `own` words of a family, or a frame."""
    return sentence_case(WHICH_COLOUR.pick(rng, split, name=name) if rng.random() < FRAMED else own)


def written(text: str) -> str:
    """A frame filled in, put right: things that take more than an s, and articles before a vowel."""
    return ARTICLE.sub(r"\1n ", text.replace("entrys", "entries").replace("boxs", "boxes"))
