"""Count: how many marks of one colour or shape a screen shows, none to six, among others."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import STATUS, Screen, colour_word
from kit.checkpoint.training.tasks.parts import Part, listed, score, single
from kit.checkpoint.training.vocabulary import Wordings

LEVELS = 4
LARGE = (0.0, 0.0, 0.0, 0.07)  # the share of large screens, by level
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
    """0: none to two; 1: to three; 2: to four; 3: to six, of one colour among others."""
    return single(rng, "count", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One board and how many marks it has."""
    top = (2, 3, 4, rng.choice((3, 4, 6)))[level]
    right = rng.randint(0, top)
    colour = rng.choice(STATUS)
    rest = [item for item in STATUS if item != colour]
    every = rng.random() < (0.5, 0.4, 0.4, 0.35)[level]
    if every:
        marks = [rng.choice(STATUS) for _ in range(right)]
        asked = ALL.pick(rng, split)
    else:
        marks = [colour] * right + [rng.choice(rest) for _ in range(rng.randint(0, (1, 2, 3, 5)[level]))]
        word = colour_word(rng, colour)
        asked = asking.how_many(rng, split, "mark", asking.colour(word), COLOUR.pick(rng, split, colour=word))
    unit = rng.choice(("{n}", "{n}", "{n} marks"))
    texts = [unit.format(n=n) for n in range(top + 1)]
    question = score(asked, texts) if rng.random() < 0.6 else listed(rng, asked, texts)
    image, ordered = _drawn(rng, split, marks, LARGE[level])
    return Part(STATES.pick(rng, split), question, right, [image], _told(ordered, None if every else colour))


def _told(marks: list[str], colour: str | None) -> str:
    """Every mark in the order of reading, those that count with their number: all of them where no colour is asked for."""
    number, said = 0, []
    for mark in marks:
        counts = colour in (None, mark)
        number += counts
        said.append(f"{number} {mark}" if counts else mark)
    return f"{', '.join(said) or 'nothing'}: {number}"


def _drawn(rng: random.Random, split: Split, marks: list[str], large: float) -> tuple[Image.Image, list[str]]:
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
