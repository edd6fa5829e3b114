"""Dialog: a box with a row of buttons: which is highlighted, in which colour, is it a certain one."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks.drawing import ORDINALS, Screen
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single, yes_or_no
from kit.checkpoint.training.vocabulary import Wordings, several

LAYOUTS = {"train": ("bottom", "bottom-wide", "middle"), "calibration": ("high",), "held-out": ("low", "top")}
WHICH = Wordings(
    train=("Which button is highlighted?", "Which button is the primary one?", "Which button is filled with colour?", "Find the main button.", "Which button stands out?"),
    calibration=("Which one is the main button?",), held_out=("Which of the buttons is highlighted?", "Which button is the main one?"),
)  # fmt: skip
IS_IT = Wordings(
    train=("Is {name} highlighted?", "Is {name} the primary button?", "Is the button {name} filled with colour?", "Does {name} stand out?"),
    calibration=("Is {name} the main button?",), held_out=("Is the button {name} highlighted?", "Is the main button {name}?"),
)  # fmt: skip
COLOUR = Wordings(
    train=("Which colour has the highlighted button?", "What colour is the primary button?", "In which colour is the button filled?"),
    calibration=("What colour is the main button?",), held_out=("What is the colour of the highlighted button?", "Which colour does the primary button have?"),
)  # fmt: skip
STATES = Wordings(
    train=("Dialog. Buttons from left to right: {names}.", "Buttons: {names}", "A box with the buttons {names}, in order."), calibration=("The buttons are {names}.",), held_out=("A dialog with buttons in order: {names}", "From left to right the buttons are {names}."),
)  # fmt: skip


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample of two to four buttons."""
    return single(rng, "dialog", split, part(rng, split, most))


def part(rng: random.Random, split: Split, most: int = 10) -> Part:
    """One dialog and a question about it."""
    names = [sentence_case(name) for name in several(rng, "verb", split, rng.randint(2, min(most, 4)))]
    main, colour = rng.randrange(len(names)), rng.choice(("blue", "green", "red"))
    state: object = {"buttons": names} if rng.random() < 0.5 else STATES.pick(rng, split, names=", ".join(names))
    kind = rng.random()
    if kind < 0.5:
        texts = names if rng.random() < 0.6 else [f"the {ORDINALS[n]} button" for n in range(len(names))]
        question, right = choice(rng, WHICH.pick(rng, split), texts[main], [text for n, text in enumerate(texts) if n != main])
    elif kind < 0.8:
        answer = rng.random() < 0.5
        named = main if answer else rng.choice([n for n in range(len(names)) if n != main])
        question, right = yes_or_no(rng, split, IS_IT.pick(rng, split, name=names[named]), answer)
    else:
        others = [item for item in ("blue", "green", "red", "grey") if item != colour]
        question, right = choice(rng, COLOUR.pick(rng, split), colour, rng.sample(others, rng.randint(1, min(most - 1, 3))))
    return Part(state, question, right, [_drawn(rng, split, names, main, colour)])


def _drawn(rng: random.Random, split: Split, names: list[str], main: int, colour: str) -> Image.Image:
    screen = Screen(rng, split)
    theme, layout = screen.theme, rng.choice(LAYOUTS[split])
    margin = rng.choice((8, 14, 20))
    box = (margin, margin, screen.width - margin, screen.height - margin)
    screen.box(box, theme.card, theme.line, 2, rng.choice((0, 6)))
    tall = rng.choice((34, 40, 46))
    height = screen.height
    top = {"bottom": height - margin - tall - 10, "bottom-wide": height - margin - tall - 4, "middle": height * 0.5 - tall / 2,
           "high": height * 0.3, "low": height * 0.66, "top": margin + 12}[layout]  # fmt: skip
    for n in range(rng.randint(1, 3)):  # lines of a message, as grey strokes
        y = margin + 24 + 16 * n if layout not in ("high", "top") else height - margin - 20 - 14 * n
        screen.box((margin + 14, y, margin + rng.randint(80, screen.width - 2 * margin - 20), y + 7), theme.line)
    step = (screen.width - 2 * margin - 12) / len(names)
    for n, name in enumerate(names):
        left = margin + 8 + step * n
        frame = (left, top, left + step - 6, top + tall)
        fill = theme.status[colour] if n == main else None
        screen.box(frame, fill, theme.status[colour] if n == main else theme.ink, 1, rng.choice((2, 5)))
        screen.text(left + 6, top + tall / 2, name, 15 if step > 64 else 12, (255, 255, 255) if n == main else None)
    return screen.image
