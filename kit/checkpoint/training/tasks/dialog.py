"""Dialog: a box with a row of buttons: which is highlighted, in which colour, is it a certain one."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import Box, Colour, Screen, colour_word, mixed, neutral, readable
from kit.checkpoint.training.tasks.parts import Part, choice, sentence_case, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 3
LARGE = (0.0, 0.0, 0.2)  # the share of large screens, by level
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
VARIED = 0.75  # the share of train's screens whose layout is drawn at random
COLUMNS = 0.25  # the share of train's dialogs whose buttons stand in a column
NAMED = ("the highlighted button", "the main button", "the button that stands out", "the coloured button", "the primary button")
SCREENS = ("dialog", "message box", "window", "confirmation dialog")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: which of two buttons; 1: three, colours, yes or no; 2: four, names."""
    return single(rng, "dialog", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One dialog and a question about it."""
    names = [sentence_case(name) for name in several(rng, "verb", split, rng.randint(2, (2, 3, 4)[level]))]
    column = split == "train" and rng.random() < COLUMNS
    buttons = places(rng, split, rng.choice(SCREENS), "button", "from the top" if column else "from the left", names, level >= 2)
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
        asked = COLOUR.pick(rng, split) if split != "train" else asking.colour_of(rng, split, rng.choice(NAMED), COLOUR.pick(rng, split))
        question, right = choice(rng, asked, colour_word(rng, colour), rng.sample(others, rng.randint(1, 3)))
    told = buttons.caption([colour if n == main else "plain" for n in range(len(names))], question, right)
    return Part(buttons.state, question, right, [drawn(rng, split, names, main, colour, LARGE[level], column)], told)


def drawn(
    rng: random.Random, split: Split, names: list[str], main: int, colour: str, large: float, column: bool, size: tuple[int, int] | None = None
) -> Image.Image:
    """The dialog, in train mostly in a layout that no other has. column: buttons below one another. size: one that is asked for."""
    if size or column or (split == "train" and rng.random() < VARIED):
        return _varied(rng, split, names, main, colour, large, column, size)
    return _plain(rng, split, names, main, colour, large)


def _varied(
    rng: random.Random, split: Split, names: list[str], main: int, colour: str, large: float, column: bool, size: tuple[int, int] | None
) -> Image.Image:
    """A box of any proportion, with a bar or without one, strokes or words, and buttons anywhere in it."""
    least = 70.0 + 34 * len(names) * column
    screen = Screen(rng, split, size, large, int(least) + 20)
    theme = screen.theme
    left, top, right, bottom = screen.dress(least)
    if rng.random() < 0.8:
        wide, high = (right - left) * rng.uniform(0.72, 1), max((bottom - top) * rng.uniform(0.6, 1), min(least, bottom - top))
        left, top = left + rng.random() * (right - left - wide), top + rng.random() * (bottom - top - high)
        right, bottom = left + wide, top + high
        if rng.random() < 0.3:
            shift = rng.randint(2, 6)
            screen.box((left + shift, top + shift, right + shift, bottom + shift), mixed(theme.page, (0, 0, 0), 0.4))
        screen.box((left, top, right, bottom), theme.card, mixed(theme.page, theme.ink, rng.uniform(0.15, 0.8)), rng.randint(1, 3), rng.choice((0, 0, rng.randint(3, 16))))
    if bottom - top > least + 26 and rng.random() < 0.5:
        low = top + rng.uniform(16, 26)
        ground = theme.status[rng.choice(("blue", "grey"))] if rng.random() < 0.2 else neutral(rng, theme)
        screen.box((left + 2, top + 2, right - 2, low), ground)
        screen.fitted((left + 10, top + 2, right - 10, low), screen.words(2), rng.randint(11, 17), readable(ground), rng.choice((0, 0, 0.5)))
        top = low
    pad = rng.uniform(6, 14)
    left, top, right, bottom = left + pad, top + pad, right - pad, bottom - pad
    frames = _column(rng, (left, top, right, bottom), len(names)) if column else _row(screen, (left, top, right, bottom), names)
    _message(screen, (left, top, right, min(box[1] for box in frames) - 4))
    _message(screen, (left, max(box[3] for box in frames) + 6, right, bottom))
    look = rng.choice(("outlined", "outlined", "plain", "pale", "both")), rng.choice((0, rng.randint(2, 8), 40)), rng.randint(11, 20), rng.choice((0.5, 0.5, 0.0))
    for n, (name, box) in enumerate(zip(names, frames, strict=True)):
        _button(screen, box, name, theme.status[colour] if n == main else None, *look)
    return screen.image


def _button(screen: Screen, box: Box, name: str, fill: Colour | None, other: str, radius: int, size: int, at: float) -> None:
    """One button, filled with a colour or drawn as the others are: outlined, pale, or its name alone."""
    theme = screen.theme
    radius = min(radius, int((box[3] - box[1]) / 2 - 1), int((box[2] - box[0]) / 2 - 1))
    edge = mixed(theme.card, theme.ink, 0.6)
    if fill:
        screen.box(box, fill, theme.ink if other == "both" else None, 1, radius)
    elif other != "plain":
        screen.box(box, mixed(theme.card, theme.ink, 0.06) if other in ("pale", "both") else None, edge if other != "pale" else None, 1, radius)
    ink = theme.ink if not fill else readable(fill) if size % 2 else (255, 255, 255)
    screen.fitted((box[0] + 5, box[1], box[2] - 5, box[3]), name, size, ink, at)


def _column(rng: random.Random, area: Box, count: int) -> list[Box]:
    """Buttons below one another, at any height and as wide as one likes."""
    left, top, right, bottom = area
    step = min(rng.uniform(28, 56), (bottom - top) / count)
    gap = rng.uniform(3, step * 0.3)
    wide = (right - left) * rng.uniform(0.4, 1)
    left += rng.choice((0, 0.5, 1)) * (right - left - wide)
    top += rng.choice((0, rng.random(), 1, 1)) * (bottom - top - step * count)
    return [(left, top + step * n, left + wide, top + step * (n + 1) - gap) for n in range(count)]


def _row(screen: Screen, area: Box, names: list[str]) -> list[Box]:
    """Buttons side by side at any height: alike, or each as wide as its name; over the whole width, or at one side."""
    rng, (left, top, right, bottom) = screen.rng, area
    tall, gap = min(rng.uniform(22, 56), bottom - top), rng.uniform(3, 16)
    room = right - left - gap * (len(names) - 1)
    each = [float(room / len(names))] * len(names)
    if rng.random() < 0.6:
        asked = [screen.wide(name, 15) + 16.0 + 20 * rng.random() for name in names]
        if rng.random() < 0.5:
            asked = [max(asked)] * len(names)
        each = [wide * min(1, room / sum(asked)) for wide in asked]
    left += rng.choice((0, 0.5, 1, 1)) * (room - sum(each))
    top += rng.choice((rng.random(), 1, 1, 0)) * (bottom - top - tall)
    frames = []
    for wide in each:
        frames.append((left, top, left + wide, top + tall))
        left += wide + gap
    return frames


def _message(screen: Screen, box: Box) -> None:
    """What the dialog says, where there is room: strokes, or some words."""
    rng, (left, top, right, bottom) = screen.rng, box
    if bottom - top < 14:
        return
    if rng.random() < 0.6:
        screen.strokes(box, 5)
        return
    size = rng.randint(11, 17)
    for n in range(min(rng.randint(1, 3), int((bottom - top) / (size + 6)))):
        screen.fitted((left, top + (size + 6) * n, right, top + (size + 6) * (n + 1)), screen.words(rng.randint(1, 4)), size)


def _plain(rng: random.Random, split: Split, names: list[str], main: int, colour: str, large: float) -> Image.Image:
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
        size, ink = 15 if step > 64 else 12, (255, 255, 255) if n == main else None
        if split == "train":
            screen.fitted((left + 6, top, left + step - 8, top + tall), name, size, ink)
        else:
            screen.text(left + 6, top + tall / 2, name, size, ink)
    return screen.image
