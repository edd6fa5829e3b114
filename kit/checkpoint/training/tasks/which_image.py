"""Which image: the one of two to four that shows a shape, a colour, both, a kind of screen or the fullest gauge.

Covers also: whether one image does, how many do, whether any or all do, and in which colour something is. In train images
are of many sizes, and what they show lies anywhere on them, at their edges too: where one ends the next one begins.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image

from kit.checkpoint.training.samples import Question, Sample, Split
from kit.checkpoint.training.tasks import asking, chart, console, dialog, form, pictures, sets
from kit.checkpoint.training.tasks.asking import Trait
from kit.checkpoint.training.tasks.drawing import (
    SIGNS,
    STATUS,
    Screen,
    colour_word,
)
from kit.checkpoint.training.tasks.parts import (
    Part,
    choice,
    listed,
    score,
    sentence_case,
    single,
    told,
    yes_or_no,
)
from kit.checkpoint.training.tasks.places import ORDINALS, caption
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 4
SIZE = (256, 256)  # of the smallest area that is not enlarged: four images are 256 tokens
OTHERS = ((320, 256), (256, 288), (384, 192), (288, 256), (192, 384), (352, 256))
ODD = 0.35  # the share of images that are of another size, in splits that are not train
SIDES = range(128, 641, 32)  # pixels of train's images
TRAINED = tuple((wide, high) for wide in SIDES for high in SIDES if 65_536 <= wide * high <= 131_072 and max(wide, high) <= 3.5 * min(wide, high))
PATCHES = {2: 1024, 3: 1024, 4: 1312}  # of 16x16, of all images of one request at most: with the text they fit every batch
LARGE = (0.0, 0.0, 0.0, 0.22)  # the share of requests with large images, by level
LARGE_SIZES = ((512, 512), (512, 512), (512, 512), (768, 512), (640, 384), (512, 384), (384, 512), (512, 640), (480, 480), (640, 512), (512, 256), (384, 384), (576, 448))
MOST_PATCHES = 4096  # of all images of one request
FULL = 0.3  # the share of the last level's requests whose pictures each show much
LEAST = 256  # patches of one image at least
ALIKE = 0.2  # the share of train's requests whose images are all of one size
SHAPES = ("circle", "square", "triangle", "cross")
NEIGHBOURS = 0.5  # the share of train's questions about one image whose neighbours would be answered otherwise
VARIED = 0.8  # the share of train's requests whose images are drawn in layouts of their own
SCREENS = {  # what whole screens are called
    "form": ("form", "form", "web form", "form with fields"), "chart": ("chart", "bar chart", "chart with bars"),
    "dialog box": ("dialog", "dialog box", "message box", "dialog with buttons"), "status list": ("status list", "list of services", "console", "list of rows"),
}  # fmt: skip
Sizes = list[tuple[int, int]]
Shown = tuple[str, list[Image.Image], list[str]]  # the question, the images, what each shows
SHAPE = Wordings(
    train=("Which image shows a {what}?", "On which image is a {what}?", "Find the {what}.", "Which picture has the {what}?", "Where is the {what}?", "Which one shows a {what}?", "Which of the pictures shows a {what}?", "Find the image with the {what}.", "Which image has a {what}?", "One of the images has a {what}. Which?", "On which of these is there a {what}?", "Somewhere there is a {what}. On which image?", "Which screenshot has the {what} on it?", "I saw a {what} on one of them. On which?"),
    calibration=("Which picture shows a {what}?",), held_out=("Which of the images shows the {what}?", "Find the picture with a {what}."),
)  # fmt: skip
COLOUR = Wordings(
    train=("Which image is {what}?", "Which image shows a {what} banner?", "Find the {what} screen.", "On which picture is something {what}?", "Where is something {what}?", "Which one is {what}?", "Find the image that is {what}.", "Which picture shows something {what}?", "Which image has something {what}?", "One of the images has something {what}. Which?", "On which of these do you see {what}?", "Which screenshot has {what} in it?", "Which of them has a {what} part?", "Somewhere there is {what}. On which image?"),
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
    train=("the {ordinal} image", "image {n}", "the {ordinal} picture", "picture {n}", "the {ordinal} one", "image number {n}", "the {ordinal} screen", "the {ordinal} screenshot", "screen {n}", "the {ordinal} of them", "screenshot {n}", "the {ordinal} photo"),
    calibration=("the {ordinal}",), held_out=("picture number {n}", "the {ordinal} of the images"),
)  # fmt: skip
OPTIONS = Wordings(
    train=("the {ordinal} image", "image {n}", "The {ordinal} one", "picture {n}", "{ordinal}", "the {ordinal} picture", "{n}", "{ordinal} image", "image number {n}", "number {n}", "the {ordinal} screenshot", "screenshot {n}", "{ordinal} picture", "the {ordinal} screen", "on the {ordinal} image", "it is image {n}", "no. {n}", "the {ordinal} of them", "#{n}"),
    calibration=("the {ordinal}",), held_out=("picture number {n}", "The {ordinal} image", "the {ordinal} one"),
)  # fmt: skip
STATES = Wordings(
    train=("Images in order.", "{n} screenshots.", "", "Compare the {n} images.", "Images of one wall, in the order given.", "See the images.", "There are {n} pictures.", "{n} images", "Here are {n} images, in order.", "{n} pictures taken one after the other.", "Shots of the wall screens.", "A set of {n} images.", "Pictures from the control room.", "They sent {n} screenshots.", "What follows are {n} screens.", "The user sent {n} images.", "Screenshots in order."),
    calibration=("{n} pictures in order.",), held_out=("There are {n} images.", "Screenshots in the order given.", "Compare the {n} pictures."),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two has a colour; 1: is one, how many, three; 2: shapes; 3: gauges, four, large ones, much on each."""
    return single(rng, "which_image", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """Some images and which of them is meant, whether one is, or how many are."""
    count = rng.choice(((2,), (2, 2, 3), (2, 2, 3), (2, 3, 3, 4, 4))[level])
    sizes = _large(rng, count) if rng.random() < LARGE[level] else _sizes(rng, split, count)
    kinds = (_colours, _shapes, _gauges)[: max(level, 1)]
    if split == "train" and level > 1:
        kinds = (*kinds, *MORE[level])
    kind = rng.choice(kinds)
    state = STATES.pick(rng, split, n=count)
    if level > 2 and rng.random() < FULL:
        question, right, images, shown = sets.made(rng, split, sizes, _named(rng, split, NAMED, count), _named(rng, split, OPTIONS, count))
    elif level > 0 and kind in (_colours, _shapes) and rng.random() < 0.6:
        judge = _any if rng.random() < asking.QUANTIFIED[split] else _named_colour if split == "train" and rng.random() < 0.12 else _judged
        question, right, images, shown = judge(rng, split, sizes, kind is _shapes)
    else:
        target = rng.randrange(count)
        asked, images, shown = kind(rng, split, sizes, target)
        texts = _named(rng, split, OPTIONS, count)
        if level == 0 or rng.random() < 0.5:
            question, right = listed(rng, asked, texts), target
        else:
            question, right = choice(rng, asked, texts[target], [text for n, text in enumerate(texts) if n != target])
    question["instructions"] = sentence_case(asking.written(question["instructions"]))
    return Part(state, question, right, images, caption(ORDINALS, shown, told(question, right)))


def _judged(rng: random.Random, split: Split, sizes: Sizes, shapes: bool) -> tuple[Question, int, list[Image.Image], list[str]]:
    """Yes or no about one image, or how many of them show it; the images and what each shows."""
    count = len(sizes)
    what, rest = _one(rng, split, shapes)
    called = what if shapes else colour_word(rng, what)
    trait = (asking.shape if shapes else asking.colour)(called)
    if rng.random() < 0.5:
        target, answer = rng.randrange(count), rng.random() < 0.5
        shown = [rng.choice((what, *rest)) for _ in range(count)]
        if split == "train" and rng.random() < NEIGHBOURS:  # what one has, those beside it have not, and the other way round
            shown = [rng.choice(rest) if answer else what for _ in range(count)]
        shown[target] = what if answer else rng.choice(rest)
        name = _named(rng, split, NAMED, count)[target]
        asked = asking.is_it(rng, split, name, trait, (IS_SHAPE if shapes else IS_COLOUR).pick(rng, split, name=name, what=called))
        question, right = yes_or_no(rng, split, asked, answer, what=rng.choice(trait.what))
    else:
        right = rng.randint(0, count)
        shown = [what] * right + [rng.choice(rest) for _ in range(count - right)]
        rng.shuffle(shown)
        asked = asking.how_many(rng, split, "image", trait, (MANY_SHAPES if shapes else MANY_COLOURS).pick(rng, split, what=called))
        top = max(count, sets.MOST) if split == "train" and rng.random() < 0.4 else count
        question = score(asked, [str(n) for n in range(top + 1)])
    return question, right, *(_shape_images if shapes else _colour_images)(rng, split, sizes, shown)


def _one(rng: random.Random, split: Split, shapes: bool) -> tuple[str, list[str]]:
    """A shape or a colour to ask for, and all others."""
    what = rng.choice(_kinds(split) if shapes else STATUS[:4])
    return what, [item for item in (_kinds(split) if shapes else STATUS) if item != what]


def _any(rng: random.Random, split: Split, sizes: Sizes, shapes: bool) -> tuple[Question, int, list[Image.Image], list[str]]:
    """Whether any, every or no image shows it."""
    count = len(sizes)
    what, rest = _one(rng, split, shapes)
    trait = asking.shape(what) if shapes else asking.colour(colour_word(rng, what))
    question, right, which_so = asking.quantified(rng, split, "image", trait, count)
    shown = [what if so else rng.choice(rest) for so in which_so]
    return question, right, *(_shape_images if shapes else _colour_images)(rng, split, sizes, shown)


def _named_colour(rng: random.Random, split: Split, sizes: Sizes, shapes: bool) -> tuple[Question, int, list[Image.Image], list[str]]:
    """In which colour one image has something, be it a shape or a banner."""
    count = len(sizes)
    target, colours = rng.randrange(count), [rng.choice(STATUS[:4]) for _ in range(count)]
    if rng.random() < NEIGHBOURS:
        colours = rng.sample(STATUS[:4], count)
    name = _named(rng, split, NAMED, count)[target]
    asked = asking.colour_of(rng, split, name, f"Which colour does one see on {name}?")
    others = [colour_word(rng, item) for item in STATUS if item != colours[target]]
    question, right = choice(rng, asked, colour_word(rng, colours[target]), rng.sample(others, rng.randint(1, 4)))
    if shapes:
        return question, right, *_signs(rng, split, sizes, [(rng.choice(_kinds(split)), colour) for colour in colours])
    return question, right, *_colour_images(rng, split, sizes, colours)


def _named(rng: random.Random, split: Split, wordings: Wordings, count: int) -> list[str]:
    form = rng.choice(wordings.of(split))
    return [form.format(ordinal=ORDINALS[n], n=n + 1) for n in range(count)]


def _sizes(rng: random.Random, split: Split, count: int) -> Sizes:
    """Of all images of a request; with sizes all alike its place alone would say which image a patch belongs to."""
    if split != "train":
        return [rng.choice(OTHERS) if rng.random() < ODD else SIZE for _ in range(count)]
    most = rng.choice((PATCHES[count], rng.randint(LEAST * count, PATCHES[count]), int(LEAST * count * 1.2)))
    if rng.random() < ALIKE:
        return [SIZE if rng.random() < 0.5 else rng.choice([size for size in TRAINED if _patches(size) * count <= most])] * count
    sizes: Sizes = []
    for n in range(count):
        room = most - sum(map(_patches, sizes)) - LEAST * (count - n - 1)
        square = rng.random() < 0.5
        sizes.append(rng.choice([size for size in TRAINED if _patches(size) <= room and (not square or max(size) < 1.6 * min(size))]))
    return rng.sample(sizes, count)


def _large(rng: random.Random, count: int) -> Sizes:
    """Large images, of one size at times, that fit a batch together."""
    while True:
        sizes = [rng.choice(LARGE_SIZES)] * count if rng.random() < ALIKE else [rng.choice(LARGE_SIZES) for _ in range(count)]
        if sum(map(_patches, sizes)) <= MOST_PATCHES:
            return sizes


def _patches(size: tuple[int, int]) -> int:
    return size[0] * size[1] // 256


def _kinds(split: Split) -> Sequence[str]:
    """The shapes of a split."""
    return SIGNS if split == "train" else SHAPES


def _shapes(rng: random.Random, split: Split, sizes: Sizes, target: int) -> Shown:
    count = len(sizes)
    shape, rest = _one(rng, split, True)
    if count > 2 and rng.random() < asking.UNLIKE[split]:
        other = rng.choice(rest)
        shown = [other if n == target else shape for n in range(count)]
        return asking.only(rng, split, "image", asking.not_shape(shape)), *_shape_images(rng, split, sizes, shown)
    shown = [shape if n == target else rng.choice(rest) for n in range(count)]
    asked = asking.which(rng, split, "image", asking.shape(shape), SHAPE.pick(rng, split, what=shape))
    return asked, *_shape_images(rng, split, sizes, shown)


def _shape_images(rng: random.Random, split: Split, sizes: Sizes, shown: list[str]) -> tuple[list[Image.Image], list[str]]:
    """Images of these shapes, and the shapes with their colours."""
    return _signs(rng, split, sizes, [(kind, rng.choice(STATUS)) for kind in shown])


def _signs(rng: random.Random, split: Split, sizes: Sizes, signs: Sequence[tuple[str, str]]) -> tuple[list[Image.Image], list[str]]:
    """An image of each shape in its colour, and what they show."""
    images, seen = [], []
    varied = split == "train" and rng.random() < VARIED
    for (kind, colour), size in zip(signs, sizes, strict=True):
        if varied or kind not in SHAPES:
            images.append(pictures.sign(rng, split, size, kind, colour))
            seen.append(f"{colour} {kind}")
            continue
        screen = Screen(rng, split, size)
        wide, high = screen.width - 4, screen.bottom - 4
        most = min(90 if split == "train" else 80, high // 2 - 4, wide // 2 - 4)
        radius = rng.randint(min(40, most), most)
        x, y = rng.randint(radius + 4, wide - radius), rng.randint(radius + 4, high - radius)
        screen.shape(kind, x, y, radius, screen.theme.status[colour])
        images.append(screen.image)
        seen.append(f"{colour} {kind}")
    return images, seen


def _colours(rng: random.Random, split: Split, sizes: Sizes, target: int) -> Shown:
    count = len(sizes)
    colour, rest = _one(rng, split, False)
    if count > 2 and rng.random() < asking.UNLIKE[split]:
        other = rng.choice(rest)
        shown = [other if n == target else colour for n in range(count)]
        return asking.only(rng, split, "image", asking.not_colour(colour_word(rng, colour))), *_colour_images(rng, split, sizes, shown)
    shown = [colour if n == target else rng.choice(rest) for n in range(count)]
    word = colour_word(rng, colour)
    asked = asking.which(rng, split, "image", asking.colour(word), COLOUR.pick(rng, split, what=word))
    return asked, *_colour_images(rng, split, sizes, shown)


def _colour_images(rng: random.Random, split: Split, sizes: Sizes, shown: list[str]) -> tuple[list[Image.Image], list[str]]:
    """Images of something in these colours, a banner or a shape, and the colours."""
    if rng.random() < 0.35:
        return _signs(rng, split, sizes, [(rng.choice(_kinds(split)), colour) for colour in shown])
    if split == "train" and rng.random() < VARIED:
        return [pictures.banner(rng, split, size, colour) for size, colour in zip(sizes, shown, strict=True)], shown
    images = []
    for colour, size in zip(shown, sizes, strict=True):
        screen = Screen(rng, split, size)
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


def _gauges(rng: random.Random, split: Split, sizes: Sizes, target: int) -> Shown:
    """Gauges that are filled to different parts; in train also upright, of any size, and not all alike."""
    count = len(sizes)
    if split == "train" and rng.random() < VARIED:
        return _free_gauges(rng, split, sizes, target)
    highest = rng.randint(45, 98)
    fills = [highest if n == target else rng.randint(4, highest - 16) for n in range(count)]
    top, tall = rng.randint(40, 120), rng.choice((30, 44, 58))
    images = []
    for fill, size in zip(fills, sizes, strict=True):
        screen = Screen(rng, split, size)
        if split == "train":  # whose images may be lower than all of this
            top, tall = min(top, screen.bottom - 50), min(tall, 46)
        aside = 20 if split == "train" else 36
        left, right = aside, screen.width - aside
        screen.box((left, top, right, top + tall), screen.theme.card, screen.theme.ink, 1, 0 if split == "train" else 6)
        screen.box((left, top, left + (right - left) * fill / 100, top + tall), screen.theme.status[rng.choice(STATUS[:4])])
        images.append(screen.image)
    asked = asking.which(rng, split, "image", asking.FULLEST, FULLEST.pick(rng, split))
    return asked, images, [str(fill // 10) for fill in fills]


def _free_gauges(rng: random.Random, split: Split, sizes: Sizes, target: int) -> Shown:
    """Lying or upright, of any size where only how full they are is asked, else all of one length."""
    count = len(sizes)
    highest = rng.randint(40, 99)
    fills = [highest if n == target else rng.randint(3, highest - 16) for n in range(count)]
    alike, upright = rng.random() < 0.4, rng.random() < 0.4
    length = rng.uniform(90, min(size[1] if upright else size[0] for size in sizes) - 44)
    images = []
    for fill, size in zip(fills, sizes, strict=True):
        images.append(pictures.gauge(rng, split, size, fill / 100, upright if alike else rng.random() < 0.5, length if alike else 0))
    traits = asking.FULLEST if alike else Trait([text for text in asking.FULLEST.does if "long" not in text], asking.FULLEST.do, asking.FULLEST.what)
    own = FULLEST.pick(rng, split) if alike and not upright else rng.choice([text for text in FULLEST.of(split) if "ull" in text])
    return asking.which(rng, split, "image", traits, own), images, [str(fill // 10) for fill in fills]


def _both(rng: random.Random, split: Split, sizes: Sizes, target: int) -> Shown:
    """A shape in a colour, among that shape in other colours and other shapes in that colour."""
    count = len(sizes)
    shape, others = _one(rng, split, True)
    colour, rest = _one(rng, split, False)
    near = [(shape, rng.choice(rest)), (rng.choice(others), colour)]
    signs = [(shape, colour) if n == target else rng.choice(near) for n in range(count)]
    called = f"{colour_word(rng, colour)} {shape}"
    asked = asking.which(rng, split, "image", asking.shape(called), SHAPE.pick(rng, split, what=called))
    return asked, *_signs(rng, split, sizes, signs)


def _screens(rng: random.Random, split: Split, sizes: Sizes, target: int) -> Shown:
    """Whole screens of different kinds: which of them is a form, a chart, a dialog, a list."""
    count = len(sizes)
    kind = rng.choice(list(SCREENS))
    rest = [item for item in SCREENS if item != kind]
    shown = [kind if n == target else rng.choice(rest) for n in range(count)]
    images = [_whole(rng, split, size, item) for item, size in zip(shown, sizes, strict=True)]
    called = rng.choice(SCREENS[kind])
    return asking.which(rng, split, "image", asking.shape(called), SHAPE.pick(rng, split, what=called)), images, shown


def _whole(rng: random.Random, split: Split, size: tuple[int, int], kind: str) -> Image.Image:
    """A screen of one of SCREENS, as its own family draws it."""
    names = several(rng, "noun", split, rng.randint(3, 4) if size[1] > 200 else 2)
    if kind == "form":
        return form.drawn(rng, split, names, [rng.random() < 0.6 for _ in names], rng.choice((-1, 0, 1)), 0.0, size)
    if kind == "chart":
        return chart.drawn(rng, split, [rng.uniform(0.15, 1) for _ in names], names, 0.0, rng.random() < 0.3, size)
    if kind == "dialog box":
        return dialog.drawn(rng, split, names[:3], rng.randrange(2), rng.choice(dialog.COLOURS), 0.0, False, size)
    return console.drawn(rng, split, names, [rng.choice(STATUS) for _ in names], 0.0, size)


MORE = {2: (_both,), 3: (_both, _screens)}  # what only train shows, by level
