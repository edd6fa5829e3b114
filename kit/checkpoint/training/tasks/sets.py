"""Sets of pictures that each show much: a board of marks or a list of services on every one of them.

Covers: how many marks one picture has, which picture has so many, on how many pictures something is, what a service looks
like on one of them, on which picture it is so. Does not cover: pictures of one thing each (`which_image`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image

from kit.checkpoint.training.samples import Question, Split
from kit.checkpoint.training.tasks import asking, console
from kit.checkpoint.training.tasks import count as board
from kit.checkpoint.training.tasks.drawing import STATUS, colour_word
from kit.checkpoint.training.tasks.parts import choice, listed, score, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, distinct, invented, word

Sizes = Sequence[tuple[int, int]]
Made = tuple[Question, int, list[Image.Image], list[str]]  # the question, the right answer, the images, what each shows
MOST = 4  # marks of the colour asked for on one picture, and the last criterion of a score
COUNTED = Wordings(
    train=("How many {colour} marks are on {name}?", "Count the {colour} marks of {name}.", "Look at {name}: how many {colour} marks does it have?", "On {name}, how many marks are {colour}?", "How many {colour} badges does {name} show?", "{name}: the number of {colour} marks?", "Only {name} counts. How many {colour} marks are there?",
           "What is the number of {colour} marks on {name}?", "How many of the marks on {name} are {colour}?", "Go to {name} and count what is {colour}."),
    calibration=("How many {colour} marks can be counted on {name}?",), held_out=("Say how many {colour} badges there are on {name}.", "Count what is {colour} on {name}.", "How often is there a {colour} mark on {name}?"),
)  # fmt: skip
WITH = Wordings(
    train=("Which picture has {n} {colour} {marks}?", "On which picture are there just {n} {colour} {marks}?", "Find the picture with {n} {colour} {marks}.", "Where do you count {n} {colour} {marks}?", "One picture has {n} {colour} {marks}. Which one?", "Which of the images shows {n} {colour} {marks}, no more and no fewer?", "Name the image with {n} {colour} {marks} on it."),
    calibration=("Which image is the one of {n} {colour} {marks}?",), held_out=("Which of the pictures has exactly {n} {colour} {marks}?", "Look for the picture on which {n} {colour} {marks} can be seen."),
)  # fmt: skip
MOST_OF = Wordings(
    train=("Which picture has the most {colour} marks?", "On which image are there more {colour} marks than on any other?", "Where are most of the {colour} marks?", "Which of them leads in {colour} marks?", "Find the picture with the most {colour} marks."),
    calibration=("Which image is richest in {colour} marks?",), held_out=("Which of the pictures shows the largest number of {colour} marks?", "On which picture do you count the most {colour} marks?"),
)  # fmt: skip
ON_HOW_MANY = Wordings(
    train=("On how many pictures is there a {colour} mark?", "How many of the images have any {colour} mark?", "Count the pictures with at least one {colour} mark.", "On how many of them do you see something {colour}?", "How many pictures show a {colour} mark, one or more?", "Of all the images, how many have a {colour} mark?"),
    calibration=("How many images have some {colour} mark?",), held_out=("On how many of the pictures can a {colour} mark be seen?", "What number of pictures has a {colour} mark, be it one or several?"),
)  # fmt: skip
SHOWS = Wordings(
    train=("On which picture is {service} {colour}?", "Which image shows {service} in {colour}?", "Find the picture where {service} is {colour}.", "Where is {service} marked {colour}?", "{service} is {colour} on one of them. Which one?", "Which of the screens has {service} in {colour}?", "Once {service} turned {colour}. On which picture?"),
    calibration=("Which image has {service} with a {colour} mark?",), held_out=("Which of the pictures has {service} in {colour}?", "On which of the images is {service} shown as {colour}?"),
)  # fmt: skip
SHOWN_ON = Wordings(
    train=("On how many pictures is {service} {colour}?", "How many images show {service} in {colour}?", "Count the pictures where {service} is {colour}.", "How often is {service} {colour}?", "On how many of them has {service} a {colour} mark?", "How many of the screens have {service} in {colour}?"),
    calibration=("How many images have {service} marked {colour}?",), held_out=("On how many of the pictures is {service} shown in {colour}?", "In how many images does {service} have the colour {colour}?"),
)  # fmt: skip
COLOUR_ON = Wordings(
    train=("Which colour has {service} on {name}?", "What is the colour of {service} on {name}?", "On {name}, how is {service} marked?", "Look at {name}. In which colour is {service}?", "{service} on {name}: which colour?", "Say the colour of {service}, as {name} shows it."),
    calibration=("In which colour does {name} give {service}?",), held_out=("Which colour does {service} have on {name}?", "By which colour is {service} marked on {name}?"),
)  # fmt: skip
IS_ON = Wordings(
    train=("Is {service} {colour} on {name}?", "Does {name} show {service} in {colour}?", "On {name}, is {service} {colour}?", "Look at {name}: is {service} marked {colour}?", "Has {service} a {colour} mark on {name}?", "Would you say that {service} is {colour} on {name}?"),
    calibration=("Is it {colour} that {service} has on {name}?",), held_out=("Is {service} shown in {colour} on {name}?", "Does {service} have a {colour} mark on {name}?"),
)  # fmt: skip


def made(rng: random.Random, split: Split, sizes: Sizes, names: Sequence[str], options: Sequence[str]) -> Made:
    """A set of boards or of consoles and a question. names, options: what each picture is called in a question, as a candidate."""
    return (_boards if rng.random() < 0.5 else _consoles)(rng, split, sizes, names, options)


def counted(rng: random.Random, asked: str, right: int, top: int) -> Question:
    """A score by a number, its criteria mostly from none to four, or to `top`, or a choice of the same in order."""
    texts = [str(n) for n in range(1 + (max(MOST, top) if rng.random() < 0.6 else max(top, right, 1)))]
    return score(asked, texts) if rng.random() < 0.7 else listed(rng, asked, texts)


def _boards(rng: random.Random, split: Split, sizes: Sizes, names: Sequence[str], options: Sequence[str]) -> Made:
    """Marks of a colour among others on every picture."""
    colour = rng.choice(STATUS)
    called, rest = colour_word(rng, colour), [item for item in STATUS if item != colour]
    numbers = [rng.randint(0, MOST) for _ in sizes]
    kind, target = rng.randrange(4), rng.randrange(len(sizes))
    if kind in (1, 2):
        numbers = rng.sample(range(MOST + 1), len(sizes))
    elif kind == 3:
        numbers = [rng.randint(1, MOST) if rng.random() < 0.5 else 0 for _ in sizes]
    images, shown = [], []
    for number, size in zip(numbers, sizes, strict=True):
        image, _ = board.drawn(rng, split, [colour] * number + [rng.choice(rest) for _ in range(rng.randint(0, 4))], 0.0, size)
        images.append(image)
        shown.append(f"{number} {colour}")
    if kind == 0:
        asked = COUNTED.pick(rng, split, colour=called, name=names[target])
        return counted(rng, asked, numbers[target], MOST), numbers[target], images, shown
    if kind == 3:
        right = sum(number > 0 for number in numbers)
        return counted(rng, ON_HOW_MANY.pick(rng, split, colour=called), right, len(sizes)), right, images, shown
    if kind == 2:
        target, asked = numbers.index(max(numbers)), MOST_OF.pick(rng, split, colour=called)
    else:
        n = numbers[target]
        asked = WITH.pick(rng, split, colour=called, n=n or "no", marks="mark" if n == 1 else "marks")
    return *_which(rng, asked, options, target), images, shown


def _consoles(rng: random.Random, split: Split, sizes: Sizes, names: Sequence[str], options: Sequence[str]) -> Made:
    """The same services on every picture, in other colours; one of them is asked for."""
    services = distinct(lambda: invented(rng, split) if rng.random() < 0.3 else word(rng, "service", split), rng.randint(3, 5))  # no "pale" that is red
    service, colour = rng.choice(services), rng.choice(STATUS)
    called, rest = colour_word(rng, colour), [item for item in STATUS if item != colour]
    kind, target = rng.randrange(4), rng.randrange(len(sizes))
    own = [rng.choice((colour, rng.choice(rest))) for _ in sizes]
    if kind == 0:
        own = [colour if n == target else rng.choice(rest) for n in range(len(sizes))]
    images = []
    for mine, size in zip(own, sizes, strict=True):
        colours = [mine if name == service else rng.choice(STATUS) for name in services]
        images.append(console.drawn(rng, split, services, colours, 0.0, size))
    if kind == 0:
        return *_which(rng, SHOWS.pick(rng, split, service=service, colour=called), options, target), images, own
    if kind == 1:
        right = own.count(colour)
        return counted(rng, SHOWN_ON.pick(rng, split, service=service, colour=called), right, len(sizes)), right, images, own
    if kind == 2:
        words = {item: colour_word(rng, item) for item in STATUS}
        others = rng.sample([words[item] for item in STATUS if item != own[target]], rng.randint(1, 4))
        asked = COLOUR_ON.pick(rng, split, service=service, name=names[target])
        return *choice(rng, asked, words[own[target]], others), images, own
    asked = IS_ON.pick(rng, split, service=service, colour=called, name=names[target])
    return *yes_or_no(rng, split, asked, own[target] == colour, what=rng.choice(asking.colour(called).what)), images, own


def _which(rng: random.Random, asked: str, options: Sequence[str], target: int) -> tuple[Question, int]:
    """Which picture, its candidates in order or not."""
    if rng.random() < 0.5:
        return listed(rng, asked, options), target
    return choice(rng, asked, options[target], [text for n, text in enumerate(options) if n != target])
