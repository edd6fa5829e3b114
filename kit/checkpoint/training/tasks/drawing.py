"""What screens are drawn with: palettes, sizes, marks and text.

Covers: a `Screen` to draw on, and the look of each split, which no other split has: palettes, sizes, marks.
Every size is a multiple of 32 with 65,536 pixels or more, so that no image is resized on its way to the model, and
most have at most 288 patches, so that a batch of screens has one shape; some are larger.
Does not cover: what a screen shows (the modules of the screen families).
"""

from __future__ import annotations

import functools
import io
import random
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from kit.checkpoint.training.samples import Split

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]
STATUS = ("green", "amber", "red", "blue", "grey")
COLOUR_WORDS = {"amber": ("amber", "yellow", "orange"), "grey": ("grey", "grey", "gray")}  # the others go by their name
CAPTIONS = ("page 1 of 2", "updated just now", "release notes", "help", "night shift", "ready", "part two", "overview")
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
SIZES: dict[Split, tuple[tuple[int, int], ...]] = {
    "train": ((256, 256), (256, 256), (288, 256), (256, 288), (352, 192), (320, 224), (192, 352)),
    "calibration": ((192, 384), (320, 224)),
    "held-out": ((224, 320), (384, 192), (288, 256)),
}
LARGE: dict[Split, tuple[tuple[int, int], ...]] = {
    "train": ((384, 256), (512, 256), (320, 320), (448, 320), (640, 384), (480, 288)),
    "calibration": ((416, 256),),
    "held-out": ((352, 288), (512, 320), (576, 352)),
}
MARKS: dict[Split, tuple[str, ...]] = {
    "train": ("dot", "pill", "bar", "chip", "stripe", "block", "block"), "calibration": ("square",), "held-out": ("diamond", "ring", "flag"),
}  # fmt: skip


class Screen:
    """A picture in the look of a split."""

    def __init__(
        self, rng: random.Random, split: Split, size: tuple[int, int] | None = None, large: float = 0.0, least: int = 0
    ) -> None:
        """large: how often it is one of LARGE. least: pixels it is high, where no size is given.

        bottom: where what it shows may end, above a caption at times.
        """
        self.rng = rng
        self.split = split
        sizes = (LARGE if rng.random() < large else SIZES)[split]
        self.width, self.height = size or rng.choice([size for size in sizes if size[1] >= least])
        self.theme = _jittered(rng, rng.choice(THEMES[split]))
        self.image = Image.new("RGB", (self.width, self.height), self.theme.page)
        self._draw = ImageDraw.Draw(self.image)
        self.bottom = self.height
        if rng.random() < 0.3:
            self.bottom -= rng.choice((18, 22, 26))
            self.box((0, self.bottom, self.width, self.height), rng.choice((self.theme.card, self.theme.line, self.theme.ink)))
            self.text(8, (self.bottom + self.height) / 2, rng.choice(CAPTIONS), 12, self.theme.page)

    def box(self, box: Box, fill: Colour | None = None, outline: Colour | None = None, width: int = 1, radius: int = 0) -> None:
        """A rectangle of (left, top, right, bottom), rounded by `radius`."""
        if radius:
            self._draw.rounded_rectangle(box, radius, fill, outline, width)
        else:
            self._draw.rectangle(box, fill, outline, width)

    def line(self, box: Box, colour: Colour, width: int = 1) -> None:
        """A line from the first corner to the second."""
        self._draw.line(box, colour, width)

    def text(self, left: float, middle: float, text: str, size: int, colour: Colour | None = None) -> None:
        """Text whose middle line is at `middle`, as `ImageDraw.text` draws it from a mask that is kept."""
        mask, x, y = _written(text, size)
        self._draw.bitmap((int(left) + x, int(middle) + y), mask, colour or self.theme.ink)

    def shape(self, kind: str, x: float, y: float, radius: float, colour: Colour) -> None:
        """One of circle, square, triangle, diamond, ring, cross, around a centre."""
        draw, r = self._draw, radius
        if kind == "circle":
            draw.ellipse((x - r, y - r, x + r, y + r), colour)
        elif kind == "ring":
            draw.ellipse((x - r, y - r, x + r, y + r), None, colour, max(int(r * 0.5), 5))
        elif kind == "square":
            draw.rectangle((x - r, y - r, x + r, y + r), colour)
        elif kind == "triangle":
            draw.polygon(((x, y - r), (x + r, y + r), (x - r, y + r)), colour)
        elif kind == "diamond":
            draw.polygon(((x, y - r), (x + r, y), (x, y + r), (x - r, y)), colour)
        elif kind == "cross":
            draw.line((x - r, y - r, x + r, y + r), colour, max(int(r * 0.5), 4))
            draw.line((x - r, y + r, x + r, y - r), colour, max(int(r * 0.5), 4))
        else:
            raise ValueError(f"no shape {kind}")

    def mark(self, kind: str, row: Box, colour: Colour, right: bool) -> None:
        """A status mark of MARKS inside a row, at its left or right end."""
        left, top, end, bottom = row
        middle, r = (top + bottom) / 2, min(max((bottom - top) * 0.36, 12), 18, (bottom - top) / 2)
        x = end - 30 if right else left + 22
        if kind in ("dot", "square", "diamond", "ring"):
            self.shape({"dot": "circle"}.get(kind, kind), x, middle, r, colour)
        elif kind == "pill":
            self.box((x - 26, middle - r, x + 20, middle + r), colour, radius=int(r))
        elif kind == "block":
            wide = min(self.width * 0.3, 76)
            self.box((end - wide, top, end, bottom) if right else (left, top, left + wide, bottom), colour)
        elif kind == "chip":
            self.box((x - 20, middle - r, x + 20, middle + r), colour, radius=3)
        elif kind == "stripe":
            self.box((left + 40, bottom - 14, end - 8, bottom - 2), colour)
        elif kind == "bar":
            edge = end - 18 if right else left
            self.box((edge, top, edge + 18, bottom), colour)
        elif kind == "flag":
            self._draw.polygon(((x - 18, middle - r), (x + 18, middle - r), (x + 8, middle), (x + 18, middle + r), (x - 18, middle + r)), colour)

    def rows(self, count: int, top: float, bottom: float, gap: float = 6) -> list[Box]:
        """Boxes of equal rows between two heights."""
        step = (bottom - top) / count
        inset = self.rng.choice((8, 12, 16))
        return [(inset, top + step * n, self.width - inset, top + step * (n + 1) - gap) for n in range(count)]

    def title(self, text: str) -> float:
        """A heading, drawn two times of three; the height below it."""
        if self.rng.random() < 0.33:
            return 8
        self.box((0, 0, self.width, 30), self.theme.card)
        self.text(10, 15, text, self.rng.choice((15, 17, 19)))
        return 38


def worn(rng: random.Random, image: Image.Image) -> Image.Image:
    """The image as it may come from elsewhere: enlarged from half its size, or kept as a JPEG. The size stays."""
    if rng.random() < 0.5:
        return image.resize((image.width // 2, image.height // 2), Image.Resampling.BICUBIC).resize(image.size, Image.Resampling.BICUBIC)
    packed = io.BytesIO()
    image.save(packed, "JPEG", quality=rng.randint(60, 90))
    return Image.open(packed).convert("RGB")


def colour_word(rng: random.Random, colour: str) -> str:
    """What people call a colour of STATUS."""
    return rng.choice(COLOUR_WORDS.get(colour, (colour,)))


def _jittered(rng: random.Random, theme: Theme) -> Theme:
    def near(colour: Colour) -> Colour:
        red, green, blue = (min(max(value + rng.randint(-JITTER, JITTER), 0), 255) for value in colour)
        return red, green, blue

    status = {name: near(colour) for name, colour in theme.status.items()}
    return Theme(near(theme.page), near(theme.card), near(theme.ink), near(theme.line), status)


@functools.lru_cache(30_000)
def _written(text: str, size: int) -> tuple[Image.Image, int, int]:
    """The mask of a text and where its corner lies from (left, middle): most words are drawn many times."""
    left, top, right, bottom = (int(edge) for edge in _font(size).getbbox(text, anchor="lm"))
    mask = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(mask).text((-left, -top), text, 255, _font(size), anchor="lm")
    return mask, left, top


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font
