"""Chart: three to five upright bars: which is the tallest or the shortest, is it a certain one."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import STATUS, Screen
from kit.checkpoint.training.tasks.parts import Part, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 3
LARGE = (0.0, 0.0, 0.07)  # the share of large screens, by level
LAYOUTS = {"train": ("plain", "axis", "one-colour", "boxed", "shaded", "striped"), "calibration": ("outlined",), "held-out": ("ruled", "thin")}
STEPS = (0.3, 0.2, 0.13)  # of the chart's height, between any bar and the one asked for, by level
TALLEST = Wordings(
    train=("Which bar is the tallest?", "Which bar is highest?", "Who has the largest bar?", "Where is the maximum?", "Which one is the top bar?", "Which bar is the largest?", "Which has the highest value?", "Find the highest bar.", "Which one is the tallest?",
           "Which bar is the longest?", "What is the maximum?", "One bar is higher than the others. Which one?", "Which bar goes up the most?", "Which one has the highest bar?"),
    calibration=("Which one has the tallest bar?",), held_out=("Which bar of the chart is the highest?", "Find the tallest bar.", "Which has the largest bar?"),
)  # fmt: skip
SHORTEST = Wordings(
    train=("Which bar is the shortest?", "Which bar is lowest?", "Who has the smallest bar?", "Where is the minimum?", "Which bar is the smallest?", "Which has the lowest value?", "Find the lowest bar.", "Which one is the shortest?", "What is the minimum?", "One bar is lower than the others. Which one?", "Which bar goes up the least?", "Which one has the lowest bar?"),
    calibration=("Which one has the shortest bar?",), held_out=("Which bar of the chart is the lowest?", "Find the shortest bar.", "Which has the smallest bar?"),
)  # fmt: skip
IS_IT = Wordings(
    train=("Is {name} the tallest?", "Is the bar of {name} the highest?", "Has {name} the largest bar?", "Is {name} the highest?", "Is {name} the maximum?", "Is {name} higher than all others?", "Does {name} have the highest bar?", "Is {name} the largest?"),
    calibration=("Is {name} the highest bar?",), held_out=("Is the bar of {name} the tallest?", "Does {name} have the largest bar?"),
)  # fmt: skip
SCREENS = ("chart", "bar chart", "report", "diagram")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: the taller of two; 1: of three, shortest, yes or no; 2: to five bars, names."""
    return single(rng, "chart", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One chart and a question about it."""
    count = rng.randint((2, 2, 3)[level], (2, 3, 5)[level])
    names = several(rng, rng.choice(("person", "place")), split, count)
    bars = places(rng, split, rng.choice(SCREENS), "bar", "from the left", names, level >= 2)
    target, tallest = rng.randrange(count), level == 0 or rng.random() < 0.65
    if level > 0 and tallest and rng.random() < 0.4:
        answer = rng.random() < 0.5
        asked = target if answer else rng.choice([n for n in range(count) if n != target])
        name = bars.names[asked]
        said = asking.is_it(rng, split, name, asking.TALLEST, IS_IT.pick(rng, split, name=name))
        question, right = yes_or_no(rng, split, said, answer, what=rng.choice(asking.TALLEST.what))
    else:
        trait = asking.TALLEST if tallest else asking.SHORTEST
        said = asking.which(rng, split, "bar", trait, (TALLEST if tallest else SHORTEST).pick(rng, split))
        question, right = bars.which(rng, said, target, level)
    heights = _heights(rng, count, target, tallest, STEPS[level])
    told = bars.caption([str(int(10 * height)) for height in heights], question, right)
    return Part(bars.state, question, right, [_drawn(rng, split, heights, LARGE[level])], told)


def _heights(rng: random.Random, count: int, target: int, tallest: bool, step: float) -> list[float]:
    if tallest:
        top = rng.uniform(0.5, 1.0)
        return [top if n == target else rng.uniform(0.06, top - step) for n in range(count)]
    low = rng.uniform(0.06, 0.5)
    return [low if n == target else rng.uniform(low + step, 1.0) for n in range(count)]


def _drawn(rng: random.Random, split: Split, heights: list[float], large: float) -> Image.Image:
    screen = Screen(rng, split, large=large)
    theme, layout = screen.theme, rng.choice(LAYOUTS[split])
    top, bottom, left, right = 14, screen.bottom - 14, 16, screen.width - 16
    step = (right - left) / len(heights)
    share = {"thin": 0.35, "ruled": 0.5}.get(layout, rng.uniform(0.42, 0.9))
    one = theme.status[rng.choice(STATUS)]
    if layout == "ruled":
        for n in range(5):
            y = top + (bottom - top) * n / 5
            screen.line((left, y, right, y), theme.line)
    if layout == "boxed":
        screen.box((left - 8, top - 8, right + 8, bottom), theme.card, theme.line, rng.choice((1, 2)))
    if layout in ("shaded", "striped"):
        for n in range(len(heights)):
            edge = left + step * n
            if layout == "shaded":
                screen.box((edge + 3, top, edge + step - 3, bottom), theme.card)
            else:
                screen.line((edge, top, edge, bottom), theme.line)
    if layout != "plain":
        screen.line((left, bottom, right, bottom), theme.ink, 2)
    for n, height in enumerate(heights):
        middle = left + step * (n + 0.5)
        box = (middle - step * share / 2, bottom - (bottom - top) * height, middle + step * share / 2, bottom)
        fill = one if layout in ("one-colour", "thin", "outlined") else theme.status[rng.choice(STATUS)]
        screen.box(box, fill, theme.ink if layout == "outlined" else None)
    return screen.image
