"""Dialog: a box with a row of buttons: which is highlighted, in which colour, is it a certain one."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import Screen, colour_word
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 3
LARGE = (0.0, 0.0, 0.07)  # the share of large screens, by level
LAYOUTS = {"train": ("bottom", "bottom-wide", "middle"), "calibration": ("high",), "held-out": ("low", "top")}
WHICH = Wordings(
    train=("Which button is highlighted?", "Which button is the primary one?", "Which button is filled with colour?", "Find the main button.", "Which button stands out?", "Which button is the main one?", "Which button is coloured?",
           "Which one is the primary button?", "Which of the buttons stands out?", "Find the highlighted button.", "Which button should the user press?", "Which one is highlighted?", "One button is coloured. Which one?", "Which button is filled?", "Which of these buttons has a colour?"),
    calibration=("Which one is the main button?",), held_out=("Which of the buttons is highlighted?", "Which button is the coloured one?", "Find the button that stands out."),
)  # fmt: skip
IS_IT = Wordings(
    train=("Is {name} highlighted?", "Is {name} the primary button?", "Is {name} filled with colour?", "Does {name} stand out?", "Is {name} the main one?", "Is {name} coloured?", "Is {name} the highlighted button?", "Is {name} the button that stands out?"),
    calibration=("Is {name} the main button?",), held_out=("Is {name} the coloured button?", "Is the main button {name}?"),
)  # fmt: skip
COLOUR = Wordings(
    train=("Which colour has the highlighted button?", "What colour is the primary button?", "In which colour is the button filled?", "What is the colour of the main button?", "Which colour does the button have?", "Colour of the highlighted button?",
           "What colour does the primary button have?"),
    calibration=("What colour is the main button?",), held_out=("What is the colour of the highlighted button?", "Which colour does the primary button have?"),
)  # fmt: skip
COLOURS = ("blue", "green", "red", "amber")
SCREENS = ("dialog", "message box", "window", "confirmation dialog")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two buttons; 1: three, colours, yes or no; 2: four, names."""
    return single(rng, "dialog", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One dialog and a question about it."""
    names = [sentence_case(name) for name in several(rng, "verb", split, rng.randint(2, (2, 3, 4)[level]))]
    buttons = places(rng, split, rng.choice(SCREENS), "button", "from the left", names, level >= 2)
    main, colour = rng.randrange(len(names)), rng.choice(COLOURS)
    kind = rng.random() * (0.4, 1.0, 1.0)[level]
    if kind < 0.4:
        question, right = buttons.which(rng, asking.which(rng, split, "button", asking.MAIN, WHICH.pick(rng, split)), main, level)
    elif kind < 0.8:
        answer = rng.random() < 0.5
        named = main if answer else rng.choice([n for n in range(len(names)) if n != main])
        name = buttons.names[named]
        asked = asking.is_it(rng, split, name, asking.MAIN, IS_IT.pick(rng, split, name=name))
        question, right = yes_or_no(rng, split, asked, answer, what=rng.choice(asking.MAIN.what))
    else:
        others = [colour_word(rng, item) for item in (*COLOURS, "grey") if item != colour]
        question, right = choice(rng, COLOUR.pick(rng, split), colour_word(rng, colour), rng.sample(others, rng.randint(1, 3)))
    told = buttons.caption([colour if n == main else "plain" for n in range(len(names))], question, right)
    return Part(buttons.state, question, right, [_drawn(rng, split, names, main, colour, LARGE[level])], told)


def _drawn(rng: random.Random, split: Split, names: list[str], main: int, colour: str, large: float) -> Image.Image:
    screen = Screen(rng, split, large=large)
    theme, layout = screen.theme, rng.choice(LAYOUTS[split])
    margin = rng.choice((8, 14, 20))
    box = (margin, margin, screen.width - margin, screen.bottom - margin)
    screen.box(box, theme.card, theme.line, 2, rng.choice((0, 6)))
    tall = rng.choice((34, 40, 46))
    height = screen.bottom
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
