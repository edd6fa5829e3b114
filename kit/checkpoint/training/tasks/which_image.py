"""Which image: the one of two to four images that shows a shape, a colour, the fullest gauge or an alarm."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.drawing import STATUS, Screen, colour_word
from kit.checkpoint.training.tasks.parts import Part, choice, listed, single
from kit.checkpoint.training.tasks.places import ORDINALS
from kit.checkpoint.training.vocabulary import Wordings

LEVELS = 3
SIZE = (256, 256)  # of the smallest area that is not enlarged: four images are 256 tokens
SHAPES = ("circle", "square", "triangle", "cross")
SHAPE = Wordings(
    train=("Which image shows a {what}?", "On which image is a {what}?", "Find the {what}.", "Which picture has the {what}?", "Where is the {what}?", "Which one shows a {what}?", "Which of the pictures shows a {what}?", "Find the image with the {what}.", "Which image has a {what}?"),
    calibration=("Which picture shows a {what}?",), held_out=("Which of the images shows the {what}?", "Find the picture with a {what}."),
)  # fmt: skip
COLOUR = Wordings(
    train=("Which image is {what}?", "Which image shows a {what} banner?", "Find the {what} screen.", "On which picture is something {what}?", "Where is something {what}?", "Which one is {what}?", "Find the image that is {what}.", "Which picture shows something {what}?", "Which image has something {what}?"),
    calibration=("Which picture is {what}?",), held_out=("Which of the images is {what}?", "Find the image with something {what}."),
)  # fmt: skip
FULLEST = Wordings(
    train=("Which image shows the fullest gauge?", "Which disk is fullest?", "Where is the bar longest?", "Which gauge is the most full?", "On which image is the bar longest?", "Which one is the fullest?", "Where is the longest bar?", "Which image has the fullest gauge?", "Which picture shows the longest bar?"),
    calibration=("Which image has the longest bar?",), held_out=("Which image shows the longest bar?", "On which image is the gauge fullest?"),
)  # fmt: skip
OPTIONS = Wordings(
    train=("the {ordinal} image", "image {n}", "The {ordinal} one", "picture {n}", "{ordinal}", "the {ordinal} picture", "{n}", "{ordinal} image", "image number {n}", "number {n}"),
    calibration=("the {ordinal}",), held_out=("picture number {n}", "The {ordinal} image", "the {ordinal} one"),
)  # fmt: skip
STATES = Wordings(
    train=("Images in order.", "{n} screenshots.", "", "Compare the {n} images.", "Images of one wall, in the order given.", "See the images.", "There are {n} pictures.", "The user sent {n} images.", "Screenshots in order."),
    calibration=("{n} pictures in order.",), held_out=("There are {n} images.", "Screenshots in the order given.", "Compare the {n} pictures."),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two has a colour; 1: shapes, three; 2: gauges, four."""
    return single(rng, "which_image", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """Some images and which of them is meant."""
    count = rng.choice(((2,), (2, 2, 3), (2, 2, 3, 3, 4))[level])
    target = rng.randrange(count)
    asked, images = rng.choice((_colours, _shapes, _gauges)[: level + 1])(rng, split, count, target)
    form = rng.choice(OPTIONS.of(split))
    texts = [form.format(ordinal=ORDINALS[n], n=n + 1) for n in range(count)]
    if rng.random() < 0.5:
        question, right = listed(rng, asked, texts), target
    else:
        question, right = choice(rng, asked, texts[target], [text for n, text in enumerate(texts) if n != target])
    return Part(STATES.pick(rng, split, n=count), question, right, images)


def _shapes(rng: random.Random, split: Split, count: int, target: int) -> tuple[str, list[Image.Image]]:
    shape = rng.choice(SHAPES)
    rest = [item for item in SHAPES if item != shape]
    shown = [shape if n == target else rng.choice(rest) for n in range(count)]
    images = []
    for kind in shown:
        screen = Screen(rng, split, SIZE)
        radius = rng.randint(40, 90) if split == "train" else rng.randint(45, 80)
        x, y = (rng.randint(radius + 4, 252 - radius) for _ in range(2))
        screen.shape(kind, x, y, radius, screen.theme.status[rng.choice(STATUS)])
        images.append(screen.image)
    return SHAPE.pick(rng, split, what=shape), images


def _colours(rng: random.Random, split: Split, count: int, target: int) -> tuple[str, list[Image.Image]]:
    colour = rng.choice(STATUS[:4])
    rest = [item for item in STATUS if item != colour]
    images = []
    for n in range(count):
        screen = Screen(rng, split, SIZE)
        fill = screen.theme.status[colour if n == target else rng.choice(rest)]
        if split == "held-out":
            left, top, wide, high = rng.randint(8, 100), rng.randint(8, 100), rng.randint(90, 140), rng.randint(90, 140)
        else:
            left, top, wide, high = 0 if split == "train" else 40, rng.randint(10, 150), 256 if split == "train" else 170, rng.randint(40, 100)
        screen.box((left, top, left + wide, top + high), fill)
        images.append(screen.image)
    return COLOUR.pick(rng, split, what=colour_word(rng, colour)), images


def _gauges(rng: random.Random, split: Split, count: int, target: int) -> tuple[str, list[Image.Image]]:
    highest = rng.randint(45, 98)
    fills = [highest if n == target else rng.randint(4, highest - 16) for n in range(count)]
    top, tall = rng.randint(40, 150), rng.choice((30, 44, 58))
    images = []
    for fill in fills:
        screen = Screen(rng, split, SIZE)
        left, right = (20, 236) if split == "train" else (36, 220)
        screen.box((left, top, right, top + tall), screen.theme.card, screen.theme.ink, 1, 0 if split == "train" else 6)
        screen.box((left, top, left + (right - left) * fill / 100, top + tall), screen.theme.status[rng.choice(STATUS[:4])])
        images.append(screen.image)
    return FULLEST.pick(rng, split), images
