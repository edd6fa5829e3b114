"""Form: fields that are filled, empty or marked wrong: which one is wrong, is one filled, how many are empty."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import Colour, Screen
from kit.checkpoint.training.tasks.parts import Part, score, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, several, word

LEVELS = 4
LARGE = (0.0, 0.0, 0.0, 0.07)  # the share of large screens, by level
LAYOUTS = {"train": ("framed", "filled", "thick", "beside", "beside", "tinted", "ruled", "barred", "flagged"), "calibration": ("rounded",), "held-out": ("underlined", "double")}
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
BLANK = Wordings(
    train=("Which field is empty?", "Which field is still empty?", "Which one is not filled in?", "Which field has no value?", "Find the empty field.", "What is missing?", "One field is empty. Which one?", "Where is nothing written?"),
    calibration=("Which one is empty?",), held_out=("Which field was left empty?", "Find the field without a value.", "Which of the fields is empty?"),
)  # fmt: skip
MANY = Wordings(
    train=("How many fields are empty?", "Count the empty fields.", "How many fields hold nothing?", "How many fields have no value?", "Number of empty fields?", "How many are still empty?", "How many fields are not filled in?"),
    calibration=("How many are empty?",), held_out=("How many of the fields are empty?", "Count the fields that hold nothing."),
)  # fmt: skip
SCREENS = ("form", "sign-up form", "web form", "order form")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two fields is wrong; 1: is one filled, which is empty; 2: three fields; 3: four, names, how many are empty."""
    return single(rng, "form", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One form and a question about it."""
    names = several(rng, "text key", split, rng.randint(2, (2, 2, 3, 4)[level]))
    fields = places(rng, split, rng.choice(SCREENS), "field", "from the top", names, level >= 3)
    filled = [rng.random() < 0.5 for _ in names]
    wrong = rng.randrange(len(names))
    kind = rng.random() * (0.3, 0.85, 0.85, 1.0)[level]
    if kind < 0.3:
        question, right = fields.which(rng, asking.which(rng, split, "field", asking.WRONG, WRONG.pick(rng, split)), wrong, level)
    elif kind < 0.45:
        empty = rng.randrange(len(names))
        filled = [n != empty for n in range(len(names))]
        question, right = fields.which(rng, asking.which(rng, split, "field", asking.BLANK, BLANK.pick(rng, split)), empty, level)
    elif kind < 0.85:
        target, answer, asks_filled = rng.randrange(len(names)), rng.random() < 0.5, rng.random() < 0.5
        filled[target] = answer if asks_filled else not answer
        name, trait = fields.names[target], asking.FILLED if asks_filled else asking.BLANK
        asked = asking.is_it(rng, split, name, trait, (FILLED if asks_filled else EMPTY).pick(rng, split, name=name))
        question, right = yes_or_no(rng, split, asked, answer, what=rng.choice(trait.what))
    else:
        right = rng.randint(0, len(names))
        filled = [n >= right for n in range(len(names))]
        rng.shuffle(filled)
        unit = rng.choice(("{n}", "{n} empty"))
        question = score(asking.how_many(rng, split, "field", asking.BLANK, MANY.pick(rng, split)), [unit.format(n=n) for n in range(len(names) + 1)])
    marked = wrong if rng.random() < 0.5 or kind < 0.3 else -1
    shown = [("filled" if full else "empty") + (" wrong" if n == marked else "") for n, full in enumerate(filled)]
    image = _drawn(rng, split, names, filled, marked, LARGE[level])
    return Part(fields.state, question, right, [image], fields.caption(shown, question, right))


def _drawn(rng: random.Random, split: Split, names: list[str], filled: list[bool], wrong: int, large: float) -> Image.Image:
    screen = Screen(rng, split, large=large, least=56 * len(names))
    layout = rng.choice(LAYOUTS[split])
    theme, aside = screen.theme, rng.choice((60, 74, 90))
    for n, (left, top, right, bottom) in enumerate(screen.rows(len(names), screen.title("form"), screen.bottom, 4)):
        edge = theme.status["red"] if n == wrong else theme.line
        if layout == "beside":
            left, top = left + aside, top - 15
            screen.text(left - aside + 4, (top + 19 + bottom) / 2, names[n][: aside // 8], rng.choice((12, 14)), theme.status["red"] if n == wrong else None)
        else:
            screen.text(left, top + 9, names[n], 14, theme.status["red"] if n == wrong else None)
        frame = (left, top + 19, right, bottom)
        thick = 4 if n == wrong else 1
        if layout == "underlined":
            screen.box((left, bottom - 2 - thick, right, bottom), edge)
        elif layout == "ruled":
            screen.box((left, top + 19, right, top + 21 + thick), edge)
        elif layout == "barred":
            screen.box((left, top + 19, left + 2 + thick, bottom), edge)
        else:
            radius = {"framed": 0, "filled": 3, "thick": 2, "rounded": 10, "double": 6, "beside": 0, "tinted": 2, "flagged": 0}[layout]
            fill = _pale(theme.card, edge) if layout == "tinted" and n == wrong else theme.card
            screen.box(frame, fill, edge, thick + (layout == "thick"), radius)
        if layout == "flagged" and n == wrong:
            screen.box((right - 26, top + 19, right, bottom), edge)
        if layout == "double":
            screen.box((left + 4, top + 23, right - 4, bottom - 4), None, edge, 2 if n == wrong else 1, 4)
        if filled[n]:
            middle = (top + 19 + bottom) / 2
            value = word(rng, rng.choice(("value", "person", "place")), split)
            screen.text(left + 12, middle, value, min(rng.choice((15, 19, 24)), int(bottom - top - 22)))
    return screen.image


def _pale(ground: Colour, colour: Colour) -> Colour:
    """A colour of which little is seen on a ground."""
    red, green, blue = (round(0.85 * a + 0.15 * b) for a, b in zip(ground, colour, strict=True))
    return red, green, blue
