"""Chart: two to five bars, upright or lying: which is the tallest, the longest or the shortest, is it a certain one."""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import asking
from kit.checkpoint.training.tasks.drawing import STATUS, Box, Colour, Screen, mixed
from kit.checkpoint.training.tasks.parts import Part, single, yes_or_no
from kit.checkpoint.training.tasks.places import places
from kit.checkpoint.training.vocabulary import Wordings, several

LEVELS = 3
LARGE = (0.0, 0.0, 0.2)  # the share of large screens, by level
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
LONGEST = Wordings(  # of bars that lie
    train=("Which bar is the longest?", "Which bar is longest of all?", "Who has the longest bar?", "Where is the maximum?", "Which has the highest value?", "Find the longest bar.", "Which one is the longest?", "Which bar is the largest?", "One bar is longer than the others. Which one?",
           "Which bar reaches farthest?", "Which bar goes on the longest?", "What is the largest value?", "Who leads in this chart?"),
    calibration=("Which one has the longest bar of all?",), held_out=("Which bar of the chart is the longest?", "Find the bar that is longest."),
)  # fmt: skip
LEAST = Wordings(
    train=("Which bar is the shortest?", "Who has the shortest bar?", "Where is the minimum?", "Which has the lowest value?", "Find the shortest of the bars.", "Which one is the shortest?", "Which bar is the smallest?", "One bar is shorter than the others. Which one?",
           "Which bar ends first?", "What is the smallest value?", "Who comes last in this chart?"),
    calibration=("Which one has the shortest bar of all?",), held_out=("Which bar of the chart is the shortest?", "Find the bar that is shortest."),
)  # fmt: skip
IS_LONGEST = Wordings(
    train=("Is {name} the longest?", "Is the bar of {name} the longest?", "Has {name} the longest bar?", "Is {name} the maximum?", "Is {name} longer than all others?", "Does {name} have the largest value?", "Does {name} lead?", "Is {name} the largest?"),
    calibration=("Is {name} the longest bar?",), held_out=("Does the longest bar belong to {name}?", "Is it {name} that has the longest bar?"),
)  # fmt: skip
VARIED = 0.75  # the share of train's screens whose layout is drawn at random
LYING = 0.28  # the share of train's charts whose bars lie
BARS = ("plain", "plain", "plain", "rounded", "rounded", "outlined", "capped", "pin", "blocks", "hatched", "round top")
SCREENS = ("chart", "bar chart", "report", "diagram")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: the taller of two; 1: of three, shortest, yes or no; 2: to five bars, names."""
    return single(rng, "chart", split, level, part(rng, split, level))


def part(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Part:
    """One chart and a question about it."""
    count = rng.randint((2, 2, 3)[level], (2, 3, 5)[level])
    names = several(rng, rng.choice(("person", "place")), split, count)
    lying = split == "train" and rng.random() < LYING
    bars = places(rng, split, rng.choice(SCREENS), "bar", "from the top" if lying else "from the left", names, level >= 2)
    most, least = (asking.LONGEST, asking.LEAST) if lying else (asking.TALLEST, asking.SHORTEST)
    target, tallest = rng.randrange(count), level == 0 or rng.random() < 0.65
    if level > 0 and tallest and rng.random() < 0.4:
        answer = rng.random() < 0.5
        asked = target if answer else rng.choice([n for n in range(count) if n != target])
        name = bars.names[asked]
        said = asking.is_it(rng, split, name, most, (IS_LONGEST if lying else IS_IT).pick(rng, split, name=name))
        question, right = yes_or_no(rng, split, said, answer, what=rng.choice(most.what))
    else:
        own = ((LONGEST if lying else TALLEST) if tallest else LEAST if lying else SHORTEST).pick(rng, split)
        said = asking.which(rng, split, "lying bar" if lying else "bar", most if tallest else least, own)
        question, right = bars.which(rng, said, target, level)
    heights = _heights(rng, count, target, tallest, STEPS[level])
    told = bars.caption([str(int(10 * height)) for height in heights], question, right)
    return Part(bars.state, question, right, [drawn(rng, split, heights, names, LARGE[level], lying)], told)


def _heights(rng: random.Random, count: int, target: int, tallest: bool, step: float) -> list[float]:
    if tallest:
        top = rng.uniform(0.5, 1.0)
        return [top if n == target else rng.uniform(0.06, top - step) for n in range(count)]
    low = rng.uniform(0.06, 0.5)
    return [low if n == target else rng.uniform(low + step, 1.0) for n in range(count)]


def drawn(
    rng: random.Random, split: Split, heights: list[float], names: list[str], large: float, lying: bool, size: tuple[int, int] | None = None
) -> Image.Image:
    """The chart, in train mostly in a layout that no other has. lying: its bars lie. size: one that is asked for."""
    if size or lying or (split == "train" and rng.random() < VARIED):
        return _varied(rng, split, heights, names, large, lying, size)
    return _plain(rng, split, heights, large)


def _varied(
    rng: random.Random, split: Split, heights: list[float], names: list[str], large: float, lying: bool, size: tuple[int, int] | None
) -> Image.Image:
    """Bars of any shape, thickness and colour, upright or lying, with an axis, ticks, words and numbers or without."""
    screen = Screen(rng, split, size, large, 24 * len(heights) + 40 if lying else 0)
    theme, count = screen.theme, len(heights)
    left, top, right, bottom = screen.dress(110, STATUS)
    if rng.random() < 0.3:
        screen.box((left, top, right, bottom), theme.card, theme.line if rng.random() < 0.5 else None, rng.randint(1, 3), rng.choice((0, 0, 8)))
    left, top, right, bottom = (edge + sign * rng.uniform(3, 12) for edge, sign in zip((left, top, right, bottom), (1, 1, -1, -1), strict=True))
    words, numbers = rng.random() < 0.35, rng.random() < 0.25
    before, behind = rng.uniform(24, 60) * words, 26 * numbers * lying + 12 * numbers * (not lying)
    length = (right - left - before - behind) if lying else (bottom - top - min(before, 16) - behind)
    length *= rng.uniform(0.75, 1)
    start = left + before if lying else bottom - min(before, 16)
    step = ((bottom - top) if lying else (right - left)) / count * rng.uniform(0.65, 1)
    offset = (top if lying else left) + rng.choice((0, rng.random(), 0.5)) * (((bottom - top) if lying else (right - left)) - step * count)
    _ground(screen, lying, start, length, offset, step, count)
    share, kind, one = rng.uniform(0.25, 0.95), rng.choice(BARS), theme.status[rng.choice(STATUS)] if rng.random() < 0.6 else None
    for n, height in enumerate(heights):
        colour = one or theme.status[rng.choice(STATUS)]
        middle, half = offset + step * (n + 0.5), step * share / 2
        low, high = middle - half, middle + half
        box = (start, low, start + length * height, high) if lying else (low, start - length * height, high, start)
        _bar(screen, box, kind, colour, lying)
        if words:
            place = (left, low - 4, start - 4, high + 4) if lying else (middle - step / 2 + 1, start + 1, middle + step / 2 - 1, start + 15)
            screen.fitted(place, names[n], 13, at=1 if lying else 0.5)
        if numbers:
            place = (box[2] + 4, low - 4, box[2] + 28, high + 4) if lying else (middle - step / 2, box[1] - 14, middle + step / 2, box[1] - 1)
            screen.fitted(place, str(int(100 * height)), 12, at=0 if lying else 0.5)
    return screen.image


def _ground(screen: Screen, lying: bool, start: float, length: float, offset: float, step: float, count: int) -> None:
    """What bars stand on and before: an axis, a scale of ticks, broken lines, bands behind every other bar."""
    rng, theme = screen.rng, screen.theme
    wide = step * count
    colour = mixed(theme.page, theme.ink, rng.uniform(0.12, 0.4))
    if rng.random() < 0.25:
        band = mixed(theme.page, theme.ink, rng.uniform(0.03, 0.12))
        for n in range(rng.randint(0, 1), count, rng.randint(1, 2)):
            edge = offset + step * n
            screen.box((start, edge + 1, start + length, edge + step - 1) if lying else (edge + 1, start - length, edge + step - 1, start), band)
    if rng.random() < 0.35:
        parts, dash, thick = rng.randint(2, 7), rng.randint(3, 9), rng.randint(1, 2)
        for n in range(1, parts + 1):
            along = length * n / parts
            at = 0.0
            while at < wide:  # broken lines across the bars
                a, b = offset + at, offset + min(at + dash, wide)
                screen.line((start + along, a, start + along, b) if lying else (a, start - along, b, start - along), colour, thick)
                at += 2 * dash
    if rng.random() < 0.3:
        for n in range(rng.randint(3, 9)):
            along = length * n / 8
            screen.line((start + along, offset + wide, start + along, offset + wide + 4) if lying else (offset - 5, start - along, offset, start - along), theme.ink)
    if rng.random() < 0.6:
        thick = rng.randint(1, 3)
        screen.line((start, offset, start, offset + wide) if lying else (offset, start, offset + wide, start), theme.ink, thick)
    if rng.random() < 0.3:
        screen.line((start, offset + wide, start + length, offset + wide) if lying else (offset, start - length, offset, start), theme.ink, 1)


def _bar(screen: Screen, box: Box, kind: str, colour: Colour, lying: bool) -> None:
    """One bar of BARS; its end is where the box ends."""
    left, top, right, bottom = box
    ink, thin = screen.theme.ink, min(right - left, bottom - top)
    if kind == "pin":
        r = min(thin / 2, 9)
        across = (top + bottom) / 2 if lying else (left + right) / 2
        screen.line((left, across, right, across) if lying else (across, top, across, bottom), colour, 3 + int(thin / 12))
        screen.sign("circle", (right - r, across) if lying else (across, top + r), (r, r), colour)
    elif kind == "blocks":
        side, end = 12, (right - left) if lying else (bottom - top)
        for n in range(int(end // side) + 1):
            a, b = side * n, min(side * (n + 1) - 2, end)
            if b > a:
                screen.box((left + a, top, left + b, bottom) if lying else (left, bottom - b, right, bottom - a), colour)
    elif kind == "round top":
        radius = int(min(thin / 2, 12))
        screen.box(box, colour, radius=radius)
        screen.box((left, top, right - radius, bottom) if lying and right - left > radius else (left, top + radius, right, bottom) if not lying and bottom - top > radius else box, colour)
    else:
        screen.box(box, colour, ink if kind == "outlined" else None, 1 + (thin > 20), int(min(thin / 2 - 1, 8)) if kind == "rounded" else 0)
        if kind == "capped":
            screen.box((right - 4, top, right, bottom) if lying else (left, top, right, top + 4), ink)
        elif kind == "hatched":
            pale = mixed(colour, screen.theme.page, 0.5)
            for n in range(1, int(((right - left) if lying else (bottom - top)) // 8)):
                screen.line((left + 8 * n, top, left + 8 * n, bottom) if lying else (left, bottom - 8 * n, right, bottom - 8 * n), pale, 2)


def _plain(rng: random.Random, split: Split, heights: list[float], large: float) -> Image.Image:
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
