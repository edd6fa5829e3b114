"""The colours screens are drawn in: themes of every split, and themes drawn at random for train.

Covers: `Theme`, the fixed themes by split, a random one with enough contrast between what must be told apart, and jitter.
Does not cover: who draws with them (`kit.checkpoint.training.tasks.drawing`).
"""

from __future__ import annotations

import colorsys
import random
from dataclasses import dataclass

from kit.checkpoint.training.samples import Split

Colour = tuple[int, int, int]
STATUS = ("green", "amber", "red", "blue", "grey")
COLOUR_WORDS = {"amber": ("amber", "yellow", "orange"), "grey": ("grey", "grey", "gray")}  # the others go by their name
JITTER = 10  # of 255, around every colour of a palette


@dataclass(frozen=True)
class Theme:
    """Colours of one screen; `status` by name of STATUS."""

    page: Colour
    card: Colour
    ink: Colour
    line: Colour
    status: dict[str, Colour]


def _theme(page: str, card: str, ink: str, line: str, *status: str) -> Theme:
    colours = [_rgb(text) for text in (page, card, ink, line, *status)]
    return Theme(colours[0], colours[1], colours[2], colours[3], dict(zip(STATUS, colours[4:], strict=True)))


def _rgb(text: str) -> Colour:
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


THEMES: dict[Split, tuple[Theme, ...]] = {
    "train": (
        _theme("f0f2f5", "ffffff", "202830", "c8ced6", "2e9e4f", "e8a317", "d63031", "2d6cdf", "8a939e"),
        _theme("1c2128", "2a313b", "e6e9ee", "48515e", "3fb968", "f2b134", "ef4444", "4f8ff7", "7b8594"),
        _theme("fbf7ee", "fffdf8", "33291c", "d8cdb8", "4c9a2a", "d98e04", "c0261c", "1f5fa8", "97917f"),
        _theme("e4ecf7", "f8fbff", "14213a", "b4c3da", "1f8a5b", "f0b400", "e02b4b", "3457d5", "7f8b9c"),
        _theme("0d1117", "161d26", "d0d8e0", "38424e", "2ecc71", "f39c12", "e5372b", "1e88e5", "6b7683"),
        _theme("d9dde0", "eceff0", "1d1d1d", "aab0b5", "118c3a", "c98a00", "b71c2b", "244fb0", "73797f"),
    ),
    "calibration": (
        _theme("eef5ee", "fafdfa", "1d2b20", "bdd0c0", "24a148", "dd9a0b", "da2535", "2962cc", "848f88"),
        _theme("241f2e", "322b40", "ece6f4", "554a68", "45c06a", "eaa925", "e63d3d", "4a86ee", "857c94"),
    ),
    "held-out": (
        _theme("f7efef", "fffafa", "2e1f1f", "d9c2c2", "389848", "e39a20", "c92a3a", "2a64c4", "938989"),
        _theme("16242a", "21343c", "e2edf0", "3f5962", "36b35e", "ecab1c", "e84040", "3d80ea", "768990"),
        _theme("e9e6f4", "f9f8fe", "231f38", "c1bad9", "1f9450", "d89a10", "d42c40", "3060d8", "8883a0"),
    ),
}
HUES = {"green": (92, 158), "amber": (30, 50), "red": (346, 365), "blue": (205, 236)}  # degrees, of random themes
APART = 70  # of 255: how far a status colour is from page and card in one channel at least
RANDOM = 0.6  # the share of train's themes that are drawn at random


def theme(rng: random.Random, split: Split) -> Theme:
    """One of the split's, a little off; in train mostly one drawn at random."""
    if split == "train" and rng.random() < RANDOM:
        return random_theme(rng)
    return _jittered(rng, rng.choice(THEMES[split]))


def random_theme(rng: random.Random) -> Theme:
    """Any plausible light or dark page, cards a little off it, ink that can be read, and status colours seen on both."""
    hue, tint = rng.random(), rng.uniform(0, 0.12)
    if rng.random() < 0.6:
        page = _hsv(hue, tint, rng.uniform(0.8, 1.0))
        card = _hsv(hue, tint * rng.random(), rng.uniform(0.86, 1.0))
        ink = _hsv(rng.random(), rng.uniform(0, 0.5), rng.uniform(0, 0.25))
        line = _hsv(hue, tint, rng.uniform(0.6, 0.78))
    else:
        page = _hsv(hue, tint * 3, rng.uniform(0.03, 0.2))
        card = _hsv(hue, tint * 3 * rng.random(), rng.uniform(0.08, 0.27))
        ink = _hsv(rng.random(), rng.uniform(0, 0.1), rng.uniform(0.8, 1.0))
        line = _hsv(hue, tint * 2, rng.uniform(0.33, 0.48))
    return Theme(page, card, ink, line, {name: _status(rng, name, (page, card)) for name in STATUS})


def neutral(rng: random.Random, theme: Theme) -> Colour:
    """A colour that is no status: between the page and the ink, as bars and frames have it."""
    share = rng.choice((rng.uniform(0.04, 0.2), rng.uniform(0.1, 0.45), rng.uniform(0.8, 1.0)))
    return mixed(theme.page, theme.ink, share)


def mixed(ground: Colour, colour: Colour, share: float) -> Colour:
    """A colour between two; share: of the second."""
    red, green, blue = (round((1 - share) * a + share * b) for a, b in zip(ground, colour, strict=True))
    return red, green, blue


def readable(ground: Colour) -> Colour:
    """White or nearly black, whichever is read more easily on a ground."""
    return (16, 16, 20) if sum(ground) + ground[1] > 560 else (255, 255, 255)


def _status(rng: random.Random, name: str, grounds: tuple[Colour, ...]) -> Colour:
    """A colour by its name, as far from its grounds as APART says where ten draws find one."""
    colour = _of_name(rng, name)
    for _ in range(10):
        if all(max(abs(a - b) for a, b in zip(colour, ground, strict=True)) >= APART for ground in grounds):
            break
        colour = _of_name(rng, name)
    return colour


def _of_name(rng: random.Random, name: str) -> Colour:
    if name == "grey":
        return _hsv(rng.random(), rng.uniform(0, 0.12), rng.uniform(0.36, 0.68))
    low, high = HUES[name]
    light = rng.uniform(0.82, 1.0) if name == "amber" else rng.uniform(0.62 if name in ("red", "blue") else 0.45, 0.98)
    return _hsv(rng.uniform(low, high) / 360 % 1, rng.uniform(0.78 if name == "amber" else 0.6, 0.98), light)


def _hsv(hue: float, saturation: float, value: float) -> Colour:
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(hue, min(saturation, 1), min(value, 1)))
    return red, green, blue


def colour_word(rng: random.Random, colour: str) -> str:
    """What people call a colour of STATUS."""
    return rng.choice(COLOUR_WORDS.get(colour, (colour,)))


def _jittered(rng: random.Random, theme: Theme) -> Theme:
    def near(colour: Colour) -> Colour:
        red, green, blue = (min(max(value + rng.randint(-JITTER, JITTER), 0), 255) for value in colour)
        return red, green, blue

    status = {name: near(colour) for name, colour in theme.status.items()}
    return Theme(near(theme.page), near(theme.card), near(theme.ink), near(theme.line), status)
