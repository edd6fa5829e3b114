"""Count: how many marks of one colour a screen shows, or how many in all: none to eight, among others."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import (
    SIGNS,
    STATUS,
    Screen,
    colour_word,
    neutral,
)
from kit.checkpoint.training.tasks.parts import Part, listed, score, single
from kit.checkpoint.training.vocabulary import Wordings

LEVELS = 4
LARGE = (0.0, 0.0, 0.03, 0.22)  # the share of large screens, by level
TOPS: dict[Split, tuple[int, ...]] = {"train": (3, 4, 6, 8, 8, 8), "calibration": (3, 4, 6), "held-out": (3, 4, 6)}  # the highest answer
MOST: dict[Split, int] = {"train": 10, "calibration": 11, "held-out": 11}  # marks in all
VARIED = 0.8  # the share of train's screens whose layout is drawn at random
SHAPES = ("circle", "square", "triangle")
LAYOUTS = {"train": ("grid", "grid", "loose"), "calibration": ("columns",), "held-out": ("shifted", "wide")}
COLOUR = Wordings(
    train=("How many {colour} marks are there?", "Count the {colour} badges.", "How many badges are {colour}?", "How many {colour} items does the screen show?", "Number of {colour} marks?", "How many marks are shown in {colour}?", "Count the {colour} marks.",
           "How many of them are {colour}?", "How many {colour} ones are there?"),
    calibration=("How many marks are {colour}?",), held_out=("How many {colour} badges does the screen show?", "Count the marks that are {colour}.", "Number of {colour} badges?"),
)  # fmt: skip
ALL = Wordings(
    train=("How many marks are there?", "Count the badges.", "How many items does the screen show?", "How many badges in all?", "Number of marks?", "How many are there?", "Count everything.", "How many marks does the image show?", "How many badges are there?"),
    calibration=("How many marks in all?",), held_out=("How many badges does the screen show?", "Count the marks in all.", "How many marks does the screen show?"),
)  # fmt: skip
STATES = Wordings(
    train=("A board with marks.", "Overview screen.", "Screenshot of a board.", "", "Badges on a wall.", "See the image.", "A screenshot.", "The image shows a board.", "Board"),
    calibration=("A screen with badges.",), held_out=("Screenshot with some marks.", "A wall of badges.", "The image shows marks on a wall."),
)  # fmt: skip


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: none to two; 1: to three; 2: to four; 3: to eight, of one colour among others."""
    return single(rng, "count", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One board and how many marks it has."""
    top = (2, 3, 4, rng.choice(TOPS[split]))[level]
    right = rng.randint(0, top)
    colour = rng.choice(STATUS)
    rest = [item for item in STATUS if item != colour]
    every = rng.random() < (0.5, 0.4, 0.4, 0.35)[level]
    if every:
        marks = [rng.choice(STATUS) for _ in range(right)]
        asked = ALL.pick(rng, split)
    else:
        most = min((1, 2, 3, 5)[level], MOST[split] - right)
        marks = [colour] * right + [rng.choice(rest) for _ in range(rng.randint(0, most))]
        word = colour_word(rng, colour)
        asked = asking.how_many(rng, split, "mark", asking.colour(word), COLOUR.pick(rng, split, colour=word))
    unit = rng.choice(("{n}", "{n}", "{n} marks"))
    texts = [unit.format(n=n) for n in range(top + 1)]
    question = score(asked, texts) if rng.random() < 0.6 else listed(rng, asked, texts)
    image, ordered = drawn(rng, split, marks, LARGE[level])
    return Part(STATES.pick(rng, split), question, right, [image], _told(ordered, None if every else colour))


def _told(marks: list[str], colour: str | None) -> str:
    """Every mark in the order of reading, those that count with their number: all of them where no colour is asked for."""
    number, said = 0, []
    for mark in marks:
        counts = colour in (None, mark)
        number += counts
        said.append(f"{number} {mark}" if counts else mark)
    return f"{', '.join(said) or 'nothing'}: {number}"


def drawn(
    rng: random.Random, split: Split, marks: list[str], large: float, size: tuple[int, int] | None = None
) -> tuple[Image.Image, list[str]]:
    """The board and its marks in the order of reading, in train mostly in a layout that no other has. size: one asked for."""
    if size or (split == "train" and rng.random() < VARIED):
        return _varied(rng, split, marks, large, size)
    return _plain(rng, split, marks, large)


def _varied(
    rng: random.Random, split: Split, marks: list[str], large: float, size: tuple[int, int] | None
) -> tuple[Image.Image, list[str]]:
    """A grid of any number of cells over a part of the screen, its marks in the middle of their cells or anywhere in them."""
    screen = Screen(rng, split, size, large)
    left, top, right, bottom = screen.dress(100)
    wide, high = (right - left) * rng.uniform(0.7, 1), (bottom - top) * rng.uniform(0.7, 1)
    left, top = left + rng.random() * (right - left - wide), top + rng.random() * (bottom - top - high)
    if rng.random() < 0.3:
        screen.box((left - 1, top - 1, left + wide + 1, top + high + 1), screen.theme.card, neutral(rng, screen.theme), 1)
    columns, rows = _cells(rng, max(len(marks), 2), wide, high)
    if rng.random() < 0.35:  # filled from the first cell on, as a list is
        places = [(n % columns, n // columns) for n in range(len(marks))]
    else:
        places = rng.sample([(x, y) for y in range(rows) for x in range(columns)], len(marks))
    marks = rng.sample(marks, len(marks))
    across, down = wide / columns, high / rows
    radius = max(min(across, down) * rng.uniform(0.2, 0.42), 6)
    loose, stretch, sizes = rng.choice((0.0, 0.0, rng.random(), 1.0)), rng.choice((1.0, 1.0, rng.uniform(0.7, 1.0))), rng.choice((1.0, 1.0, rng.uniform(0.6, 1.0)))
    kinds = SHAPES if rng.random() < 0.25 else (rng.choice(SIGNS if rng.random() < 0.3 else SHAPES),)
    outline = screen.theme.ink if rng.random() < 0.25 else None
    thick = rng.randint(1, 3)
    for (x, y), colour in zip(places, marks, strict=True):
        r = radius * rng.uniform(sizes, 1)
        half = (r, r * stretch)
        spare_x, spare_y = (max(side / 2 - 1.15 * r - 2, 0) * loose for side in (across, down))
        centre = left + (x + 0.5) * across + rng.uniform(-spare_x, spare_x), top + (y + 0.5) * down + rng.uniform(-spare_y, spare_y)
        screen.sign(rng.choice(kinds), centre, half, screen.theme.status[colour], outline, thick)
    ordered = sorted(zip(places, marks, strict=True), key=lambda placed: (placed[0][1], placed[0][0]))
    return screen.image, [colour for _, colour in ordered]


def _cells(rng: random.Random, count: int, wide: float, high: float) -> tuple[int, int]:
    """Columns and rows with a place for every mark, none smaller than a mark can be seen in."""
    most_columns, most_rows = min(int(wide / 22), 10), min(int(high / 22), 8)
    fits = [(x, y) for x in range(1, most_columns + 1) for y in range(1, most_rows + 1) if count <= x * y <= max(3 * count, 12)]
    return rng.choice(fits or [(most_columns, most_rows)])


def _plain(rng: random.Random, split: Split, marks: list[str], large: float) -> tuple[Image.Image, list[str]]:
    """The board, and its marks in the order of reading."""
    screen = Screen(rng, split, large=large)
    layout = rng.choice(LAYOUTS[split])
    columns, rows = {"columns": (3, 4), "wide": (6, 2)}.get(layout, (4, 3))
    cells = rng.sample([(x, y) for x in range(columns) for y in range(rows)], len(marks))
    shape = rng.choice(SHAPES)
    wide, high = screen.width / columns, screen.bottom / rows
    radius = min(wide, high) * rng.choice((0.26, 0.32, 0.38))
    play = 0.1 if layout == "loose" else 0.0
    for (x, y), colour in zip(cells, marks, strict=True):
        moved = 0.25 if layout == "shifted" and y % 2 else 0.0
        across = min((x + 0.5 + moved + rng.uniform(-play, play)) * wide, screen.width - radius - 2)
        screen.shape(shape, across, (y + 0.5 + rng.uniform(-play, play)) * high, radius, screen.theme.status[colour])
    ordered = sorted(zip(cells, marks, strict=True), key=lambda placed: (placed[0][1], placed[0][0]))
    return screen.image, [colour for _, colour in ordered]
