"""Which image: the one of two to four images that shows a shape, a colour, or the fullest gauge; whether one does; how many do."""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import STATUS, Screen, colour_word
from kit.checkpoint.training.tasks.parts import Part, choice, listed, score, single, told, yes_or_no
from kit.checkpoint.training.tasks.places import ORDINALS, caption
from kit.checkpoint.training.vocabulary import Wordings

LEVELS = 4
SIZE = (256, 256)  # of the smallest area that is not enlarged: four images are 256 tokens
OTHERS = ((320, 256), (256, 288), (384, 192), (288, 256), (192, 384), (352, 256))
ODD = 0.35  # the share of images that are of another size
SHAPES = ("circle", "square", "triangle", "cross")
Shown = tuple[str, list[Image.Image], list[str]]  # the question, the images, what each shows
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
IS_SHAPE = Wordings(
    train=("Is a {what} on {name}?", "Does {name} show a {what}?", "Is there a {what} on {name}?", "Has {name} a {what}?", "Is the {what} on {name}?", "Is {name} the one with a {what}?", "Can a {what} be seen on {name}?"),
    calibration=("Is it {name} that shows a {what}?",), held_out=("Is {name} the one that shows a {what}?", "Does {name} have a {what}?"),
)  # fmt: skip
IS_COLOUR = Wordings(
    train=("Is {name} {what}?", "Does {name} show something {what}?", "Is something {what} on {name}?", "Is there anything {what} on {name}?", "Is {name} the {what} one?", "Has {name} something {what}?", "Is {name} the one with {what} in it?"),
    calibration=("Is it {name} that is {what}?",), held_out=("Is {name} the one that is {what}?", "Does {name} have something {what}?"),
)  # fmt: skip
MANY_SHAPES = Wordings(
    train=("How many images show a {what}?", "On how many images is a {what}?", "How many pictures have a {what}?", "Count the images with a {what}.", "How many of the images show a {what}?"),
    calibration=("How many pictures show a {what}?",), held_out=("On how many pictures is a {what}?", "Count the pictures that show a {what}."),
)  # fmt: skip
MANY_COLOURS = Wordings(
    train=("How many images are {what}?", "On how many images is something {what}?", "How many pictures show something {what}?", "Count the images that are {what}.", "How many of the images are {what}?"),
    calibration=("How many pictures are {what}?",), held_out=("On how many pictures is something {what}?", "Count the pictures that show something {what}."),
)  # fmt: skip
NAMED = Wordings(
    train=("the {ordinal} image", "image {n}", "the {ordinal} picture", "picture {n}", "the {ordinal} one", "image number {n}", "the {ordinal} screen"),
    calibration=("the {ordinal}",), held_out=("picture number {n}", "the {ordinal} of the images"),
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
    """0: which of two has a colour; 1: is one, how many, three; 2: shapes; 3: gauges, four."""
    return single(rng, "which_image", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """Some images and which of them is meant, whether one is, or how many are."""
    count = rng.choice(((2,), (2, 2, 3), (2, 2, 3), (2, 3, 3, 4, 4))[level])
    kind = rng.choice((_colours, _shapes, _gauges)[: max(level, 1)])
    state = STATES.pick(rng, split, n=count)
    if level > 0 and kind is not _gauges and rng.random() < 0.6:
        question, right, images, shown = _judged(rng, split, count, kind is _shapes)
        return Part(state, question, right, images, caption(ORDINALS, shown, told(question, right)))
    target = rng.randrange(count)
    asked, images, shown = kind(rng, split, count, target)
    texts = _named(rng, split, OPTIONS, count)
    if level == 0 or rng.random() < 0.5:
        question, right = listed(rng, asked, texts), target
    else:
        question, right = choice(rng, asked, texts[target], [text for n, text in enumerate(texts) if n != target])
    return Part(state, question, right, images, caption(ORDINALS, shown, told(question, right)))


def _judged(rng: random.Random, split: Split, count: int, shapes: bool) -> tuple[Question, int, list[Image.Image], list[str]]:
    """Yes or no about one image, or how many of them show it; the images and what each shows."""
    what = rng.choice(SHAPES if shapes else STATUS[:4])
    rest = [item for item in (SHAPES if shapes else STATUS) if item != what]
    called = what if shapes else colour_word(rng, what)
    trait = (asking.shape if shapes else asking.colour)(called)
    if rng.random() < 0.5:
        target, answer = rng.randrange(count), rng.random() < 0.5
        shown = [rng.choice((what, *rest)) for _ in range(count)]
        shown[target] = what if answer else rng.choice(rest)
        name = _named(rng, split, NAMED, count)[target]
        asked = asking.is_it(rng, split, name, trait, (IS_SHAPE if shapes else IS_COLOUR).pick(rng, split, name=name, what=called))
        question, right = yes_or_no(rng, split, asked, answer, what=rng.choice(trait.what))
    else:
        right = rng.randint(0, count)
        shown = [what] * right + [rng.choice(rest) for _ in range(count - right)]
        rng.shuffle(shown)
        asked = asking.how_many(rng, split, "image", trait, (MANY_SHAPES if shapes else MANY_COLOURS).pick(rng, split, what=called))
        question = score(asked, [str(n) for n in range(count + 1)])
    return question, right, *(_shape_images if shapes else _colour_images)(rng, split, shown)


def _named(rng: random.Random, split: Split, wordings: Wordings, count: int) -> list[str]:
    form = rng.choice(wordings.of(split))
    return [form.format(ordinal=ORDINALS[n], n=n + 1) for n in range(count)]


def _size(rng: random.Random) -> tuple[int, int]:
    """Of one image; with sizes all alike its place alone would say which image a patch belongs to."""
    return rng.choice(OTHERS) if rng.random() < ODD else SIZE


def _shapes(rng: random.Random, split: Split, count: int, target: int) -> Shown:
    shape = rng.choice(SHAPES)
    rest = [item for item in SHAPES if item != shape]
    shown = [shape if n == target else rng.choice(rest) for n in range(count)]
    asked = asking.which(rng, split, "image", asking.shape(shape), SHAPE.pick(rng, split, what=shape))
    return asked, *_shape_images(rng, split, shown)


def _shape_images(rng: random.Random, split: Split, shown: list[str]) -> tuple[list[Image.Image], list[str]]:
    """Images of these shapes, and the shapes with their colours."""
    return _signs(rng, split, [(kind, rng.choice(STATUS)) for kind in shown])


def _signs(rng: random.Random, split: Split, signs: Sequence[tuple[str, str]]) -> tuple[list[Image.Image], list[str]]:
    """An image of each shape in its colour, and what they show."""
    images, seen = [], []
    for kind, colour in signs:
        screen = Screen(rng, split, _size(rng))
        wide, high = screen.width - 4, screen.bottom - 4
        most = min(90 if split == "train" else 80, high // 2 - 4)
        radius = rng.randint(40, most)
        x, y = rng.randint(radius + 4, wide - radius), rng.randint(radius + 4, high - radius)
        screen.shape(kind, x, y, radius, screen.theme.status[colour])
        images.append(screen.image)
        seen.append(f"{colour} {kind}")
    return images, seen


def _colours(rng: random.Random, split: Split, count: int, target: int) -> Shown:
    colour = rng.choice(STATUS[:4])
    rest = [item for item in STATUS if item != colour]
    shown = [colour if n == target else rng.choice(rest) for n in range(count)]
    word = colour_word(rng, colour)
    asked = asking.which(rng, split, "image", asking.colour(word), COLOUR.pick(rng, split, what=word))
    return asked, *_colour_images(rng, split, shown)


def _colour_images(rng: random.Random, split: Split, shown: list[str]) -> tuple[list[Image.Image], list[str]]:
    """Images of something in these colours, a banner or a shape, and the colours."""
    if rng.random() < 0.35:
        return _signs(rng, split, [(rng.choice(SHAPES), colour) for colour in shown])
    images = []
    for colour in shown:
        screen = Screen(rng, split, _size(rng))
        wide, high = screen.width, screen.bottom
        if split == "held-out":
            left, top, across, tall = rng.randint(8, wide // 3), rng.randint(8, high // 3), rng.randint(90, wide // 2), rng.randint(80, high // 2)
        else:
            left = 0 if split == "train" and rng.random() < 0.5 else rng.randint(10, 40)
            top, across, tall = rng.randint(6, high // 2), wide - 2 * left, rng.randint(40, min(110, high // 2))
        screen.box((left, top, left + across, top + tall), screen.theme.status[colour])
        for line in range(rng.randint(0, 3)):
            y = (top + tall + 12 if top < high / 3 else 8) + 13 * line
            screen.box((left + 12, y, left + rng.randint(60, 150), y + 6), screen.theme.line)
        images.append(screen.image)
    return images, shown


def _gauges(rng: random.Random, split: Split, count: int, target: int) -> Shown:
    highest = rng.randint(45, 98)
    fills = [highest if n == target else rng.randint(4, highest - 16) for n in range(count)]
    top, tall = rng.randint(40, 120), rng.choice((30, 44, 58))
    images = []
    for fill in fills:
        screen = Screen(rng, split, _size(rng))
        aside = 20 if split == "train" else 36
        left, right = aside, screen.width - aside
        screen.box((left, top, right, top + tall), screen.theme.card, screen.theme.ink, 1, 0 if split == "train" else 6)
        screen.box((left, top, left + (right - left) * fill / 100, top + tall), screen.theme.status[rng.choice(STATUS[:4])])
        images.append(screen.image)
    asked = asking.which(rng, split, "image", asking.FULLEST, FULLEST.pick(rng, split))
    return asked, images, [str(fill // 10) for fill in fills]
