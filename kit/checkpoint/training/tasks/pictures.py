"""What one image of several shows in train: a sign, something of a colour, a gauge, of nearly any size, anywhere on it.

Covers: drawing one image. Does not cover: which images stand side by side or what is asked of them (`which_image`).
"""

from __future__ import annotations

import random

from PIL import Image

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks.drawing import STATUS, Screen, mixed, readable


def sign(rng: random.Random, split: Split, size: tuple[int, int], kind: str, colour: str) -> Image.Image:
    """One shape of nearly any size and proportion anywhere on an image, at its edges too, with an outline or without."""
    screen = Screen(rng, split, size)
    left, top, right, bottom = screen.dress(96)
    if rng.random() < 0.2:
        screen.strokes((left, top, right, top + (bottom - top) * 0.3))
    most = min(right - left, bottom - top) / 2
    a = rng.uniform(min(22, most), most * rng.uniform(0.5, 1) if most > 44 else most)
    b = min(a * (rng.uniform(0.86, 1.16) if kind in ("circle", "square") else rng.uniform(0.7, 1.4)), most)
    x, y = _anywhere(rng, left + a, right - a), _anywhere(rng, top + b, bottom - b)
    outline = screen.theme.ink if rng.random() < 0.3 else None
    screen.sign(kind, (x, y), (a, b), screen.theme.status[colour], outline, rng.randint(1, 4))
    return screen.image


def banner(rng: random.Random, split: Split, size: tuple[int, int], colour: str) -> Image.Image:
    """Something of a colour: a banner anywhere, a frame, a lamp, a bar at an edge, or all of the page."""
    screen = Screen(rng, split, size)
    fill, ink = screen.theme.status[colour], screen.theme.ink
    kind = rng.random()
    if kind < 0.06:
        screen.box((0, 0, screen.width, screen.height), fill)
        screen.strokes((20, screen.height * rng.uniform(0.1, 0.7), screen.width - 20, screen.height))
        return screen.image
    left, top, right, bottom = screen.dress(90)
    if kind < 0.12:
        screen.box((left, top, right, bottom), None, fill, rng.randint(6, 18), rng.choice((0, rng.randint(4, 20))))
        screen.strokes((left + 30, top + 30, right - 30, bottom - 30))
        return screen.image
    if kind < 0.55:
        wide, tall = rng.uniform(0.7, 1) * (right - left), rng.uniform(min(26, bottom - top), (bottom - top) * 0.5)
    elif kind < 0.75:
        wide, tall = rng.uniform(22, max((right - left) * 0.4, 30)), rng.uniform(0.6, 1) * (bottom - top)
    else:
        wide, tall = rng.uniform(36, max((right - left) * 0.7, 40)), rng.uniform(36, max((bottom - top) * 0.7, 40))
    wide, tall = min(wide, right - left), min(tall, bottom - top)
    x, y = _anywhere(rng, left, right - wide), _anywhere(rng, top, bottom - tall)
    radius = rng.choice((0, 0, int(rng.uniform(0, min(wide, tall) / 2 - 1))))
    screen.box((x, y, x + wide, y + tall), fill, ink if rng.random() < 0.2 else None, rng.randint(1, 4), radius)
    if rng.random() < 0.4:
        screen.fitted((x + radius / 2 + 6, y, x + wide - radius / 2 - 6, y + tall), screen.words(rng.randint(1, 3)), rng.randint(12, 26), readable(fill), rng.choice((0, 0.5)))
    if y - top > 40:
        screen.strokes((left, top, right, y - 8), 6)
    if bottom - y - tall > 40:
        screen.strokes((left, y + tall + 10, right, bottom), 6)
    return screen.image


def gauge(rng: random.Random, split: Split, size: tuple[int, int], fill: float, upright: bool, length: float) -> Image.Image:
    """One gauge anywhere on its image. length: one that is asked for, or 0."""
    screen = Screen(rng, split, size)
    theme = screen.theme
    left, top, right, bottom = (0, 0, screen.width, screen.bottom) if length else screen.dress(110, aside=False)
    room = (bottom - top if upright else right - left) - 12
    long = min(length or rng.uniform(min(90, room), room), room)
    thick = rng.uniform(14, min(64, (right - left if upright else bottom - top) - 16))
    wide, tall = (thick, long) if upright else (long, thick)
    x, y = _anywhere(rng, left + 4, right - wide - 4), _anywhere(rng, top + 4, bottom - tall - 4)
    colour, radius = theme.status[rng.choice(STATUS[:4])], rng.choice((0, 0, int(thick / 3)))
    ground = rng.choice((theme.card, mixed(theme.page, theme.ink, rng.uniform(0.06, 0.3))))
    edge = rng.choice((theme.ink, theme.line, None)) if ground == theme.card else None
    screen.box((x, y, x + wide, y + tall), ground, edge or theme.line, rng.randint(1, 3), radius)
    full = (x, y + tall * (1 - fill), x + wide, y + tall) if upright else (x, y, x + wide * fill, y + tall)
    screen.box(full, colour, None, 1, radius if min(full[2] - full[0], full[3] - full[1]) > 2 * radius + 1 else 0)
    if rng.random() < 0.3:
        parts = rng.randint(3, 10)
        for n in range(1, parts):
            along = long * n / parts
            screen.line((x, y + along, x + wide, y + along) if upright else (x + along, y, x + along, y + tall), theme.page, 1)
    if rng.random() < 0.4 and not length and y - top > 26:
        screen.fitted((left, top, right, min(y - 2, top + 22)), screen.words(2), rng.randint(12, 18))
    return screen.image


def _anywhere(rng: random.Random, low: float, high: float) -> float:
    """A place between two, at either end as often as not."""
    return low + (max(high, low) - low) * rng.choice((0, 1, rng.random(), rng.random()))
