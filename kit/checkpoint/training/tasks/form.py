"""Form: fields that are filled, empty or marked wrong: which one is wrong, is one filled, how many are empty."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.drawing import Screen
from kit.checkpoint.training.tasks.parts import Part, score, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, several, word

LEVELS = 3
LARGE = (0.0, 0.0, 0.07)  # the share of large screens, by level
LAYOUTS = {"train": ("framed", "filled", "thick", "beside"), "calibration": ("rounded",), "held-out": ("underlined", "double")}
WRONG = Wordings(
    train=("Which field is wrong?", "Which field has an error?", "Which field is marked red?", "Find the field with the red frame.", "What must be corrected?", "Which field is red?", "Where is the error?",
           "Which one is marked as wrong?", "Which field has a problem?", "Find the error.", "Which field has to be corrected?", "A field is marked red. Which one?", "There is one error. Where is it?", "Which one has the red frame?"),
    calibration=("Which field has a red frame?",), held_out=("Which field is marked as wrong?", "Which field must be corrected?", "Find the field with the error."),
)  # fmt: skip
FILLED = Wordings(
    train=("Is {name} filled in?", "Does {name} hold a value?", "Has {name} been filled?", "Is there something in {name}?", "Is {name} filled?", "Does {name} have a value?", "Has {name} been filled in?", "Did somebody fill in {name}?"),
    calibration=("Is there a value in {name}?",), held_out=("Does {name} hold something?", "Did somebody fill {name}?"),
)  # fmt: skip
EMPTY = Wordings(
    train=("Is {name} empty?", "Is {name} still empty?", "Is nothing in {name}?", "Has {name} no value?", "Is {name} without a value?", "Is there nothing in {name}?", "Is {name} left empty?"),
    calibration=("Is {name} an empty field?",), held_out=("Has {name} been left empty?", "Is nothing at all in {name}?"),
)  # fmt: skip
MANY = Wordings(
    train=("How many fields are empty?", "Count the empty fields.", "How many fields hold nothing?", "How many fields have no value?", "Number of empty fields?", "How many are still empty?", "How many fields are not filled in?"),
    calibration=("How many are empty?",), held_out=("How many of the fields are empty?", "Count the fields that hold nothing."),
)  # fmt: skip
SCREENS = ("form", "sign-up form", "web form", "order form")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two fields is wrong; 1: is one of three filled; 2: four fields, names, how many are empty."""
    return single(rng, "form", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One form and a question about it."""
    names = several(rng, "text key", split, rng.randint(2, (2, 3, 4)[level]))
    fields = places(rng, split, rng.choice(SCREENS), "field", "from the top", names, level >= 2)
    filled = [rng.random() < 0.5 for _ in names]
    wrong = rng.randrange(len(names))
    kind = rng.random() * (0.4, 0.75, 1.0)[level]
    if kind < 0.4:
        question, right = fields.which(rng, WRONG.pick(rng, split), wrong, level)
    elif kind < 0.75:
        target, answer, asks_filled = rng.randrange(len(names)), rng.random() < 0.5, rng.random() < 0.5
        filled[target] = answer if asks_filled else not answer
        question, right = yes_or_no(rng, split, (FILLED if asks_filled else EMPTY).pick(rng, split, name=fields.names[target]), answer)
    else:
        right = rng.randint(0, len(names))
        filled = [n >= right for n in range(len(names))]
        rng.shuffle(filled)
        unit = rng.choice(("{n}", "{n} empty"))
        question = score(MANY.pick(rng, split), [unit.format(n=n) for n in range(len(names) + 1)])
    shown = wrong if rng.random() < 0.5 or kind < 0.4 else -1
    return Part(fields.state, question, right, [_drawn(rng, split, names, filled, shown, LARGE[level])])


def _drawn(rng: random.Random, split: Split, names: list[str], filled: list[bool], wrong: int, large: float) -> Image.Image:
    screen = Screen(rng, split, large=large)
    layout = rng.choice(LAYOUTS[split])
    theme = screen.theme
    for n, (left, top, right, bottom) in enumerate(screen.rows(len(names), screen.title("form"), screen.bottom, 4)):
        edge = theme.status["red"] if n == wrong else theme.line
        if layout == "beside":
            left, top = left + 74, top - 15
            screen.text(left - 70, (top + 19 + bottom) / 2, names[n][:9], 14, theme.status["red"] if n == wrong else None)
        else:
            screen.text(left, top + 9, names[n], 14, theme.status["red"] if n == wrong else None)
        frame = (left, top + 19, right, bottom)
        thick = 3 if n == wrong else 1
        if layout == "underlined":
            screen.box((left, bottom - 2 - thick, right, bottom), edge)
        else:
            radius = {"framed": 0, "filled": 3, "thick": 2, "rounded": 10, "double": 6, "beside": 0}[layout]
            screen.box(frame, theme.card, edge, thick + (layout == "thick"), radius)
        if layout == "double":
            screen.box((left + 4, top + 23, right - 4, bottom - 4), None, edge, 1, 4)
        if filled[n]:
            middle = (top + 19 + bottom) / 2
            value = word(rng, rng.choice(("value", "person", "place")), split)
            screen.text(left + 12, middle, value, min(22, int(bottom - top - 24)))
    return screen.image
