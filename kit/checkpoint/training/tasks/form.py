"""Form: fields that are filled, empty or marked wrong: which one is wrong, is one filled, how many are empty."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.drawing import ORDINALS, Screen
from kit.checkpoint.training.tasks.parts import Part, choice, score, single, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, several, word

LAYOUTS = {"train": ("framed", "filled", "thick"), "calibration": ("rounded",), "held-out": ("underlined", "double")}
WRONG = Wordings(
    train=("Which field is wrong?", "Which field has an error?", "Which field is marked red?", "Find the field with the red frame.", "What must be corrected?"),
    calibration=("Which field has a red frame?",), held_out=("Which field is marked as wrong?", "Which field must be corrected?"),
)  # fmt: skip
FILLED = Wordings(
    train=("Is {name} filled in?", "Does {name} hold a value?", "Has {name} been filled?", "Is there something in the field {name}?"),
    calibration=("Is there a value in {name}?",), held_out=("Does the field {name} hold a value?", "Has the field {name} been filled in?"),
)  # fmt: skip
EMPTY = Wordings(
    train=("Is {name} empty?", "Is the field {name} still empty?", "Is nothing in {name}?"), calibration=("Is the field {name} empty?",), held_out=("Has {name} been left empty?", "Is nothing in the field {name}?"),
)  # fmt: skip
MANY = Wordings(
    train=("How many fields are empty?", "Count the empty fields.", "How many fields hold nothing?"), calibration=("How many are empty?",), held_out=("How many of the fields are empty?", "Count the fields that hold nothing."),
)  # fmt: skip
STATES = Wordings(
    train=("Form with the fields {names}, from top to bottom.", "Fields: {names}", "A form; in order: {names}."), calibration=("The form has {names}.",), held_out=("Fields of the form from the top: {names}.", "A screenshot of a form ({names})."),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample of two to four fields."""
    return single(rng, "form", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One form and a question about it."""
    names = several(rng, "text key", split, rng.randint(2, min(most, 4)))
    filled = [rng.random() < 0.5 for _ in names]
    wrong = rng.randrange(len(names))
    state: object = {"form": names} if rng.random() < 0.5 else STATES.pick(rng, split, names=", ".join(names))
    kind = rng.random()
    if kind < 0.45:
        texts = names if rng.random() < 0.6 else [f"the {ORDINALS[n]} field" for n in range(len(names))]
        question, right = choice(rng, WRONG.pick(rng, split), texts[wrong], [text for n, text in enumerate(texts) if n != wrong])
    elif kind < 0.75:
        target, answer, asks_filled = rng.randrange(len(names)), rng.random() < 0.5, rng.random() < 0.5
        filled[target] = answer if asks_filled else not answer
        question, right = yes_or_no(rng, split, (FILLED if asks_filled else EMPTY).pick(rng, split, name=names[target]), answer)
    else:
        right = rng.randint(0, len(names))
        filled = [n >= right for n in range(len(names))]
        rng.shuffle(filled)
        unit = rng.choice(("{n}", "{n} empty"))
        texts = [unit.format(n=n) for n in range(len(names) + 1)]
        question = score(MANY.pick(rng, split), texts)
    return Part(state, question, right, [_drawn(rng, split, names, filled, wrong if rng.random() < 0.5 or kind < 0.45 else -1)])


def _drawn(rng: random.Random, split: Split, names: list[str], filled: list[bool], wrong: int) -> Image.Image:
    screen = Screen(rng, split)
    layout = rng.choice(LAYOUTS[split])
    theme = screen.theme
    for n, (left, top, right, bottom) in enumerate(screen.rows(len(names), screen.title("form"), screen.height, 4)):
        screen.text(left, top + 9, names[n], 14, theme.status["red"] if n == wrong else None)
        edge = theme.status["red"] if n == wrong else theme.line
        frame = (left, top + 19, right, bottom)
        thick = 3 if n == wrong else 1
        if layout == "underlined":
            screen.box((left, bottom - 2 - thick, right, bottom), edge)
        else:
            radius = {"framed": 0, "filled": 3, "thick": 2, "rounded": 10, "double": 6}[layout]
            screen.box(frame, theme.card, edge, thick + (layout == "thick"), radius)
        if layout == "double":
            screen.box((left + 4, top + 23, right - 4, bottom - 4), None, edge, 1, 4)
        if filled[n]:
            middle = (top + 19 + bottom) / 2
            value = word(rng, rng.choice(("value", "person", "place")), split)
            screen.text(left + 12, middle, value, min(22, int(bottom - top - 24)))
    return screen.image
