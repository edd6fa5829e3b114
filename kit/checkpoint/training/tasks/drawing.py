"""What screens are drawn with: palettes, sizes, marks and text.

Covers: a `Screen` to draw on, and the look of each split, which no other split has: palettes, sizes, marks.
Every size is a multiple of 32 with 65,536 pixels or more, so that no image is resized on its way to the model, and
most have at most 288 patches, so that a batch of screens has one shape; some are larger, to 1,536 patches.
Does not cover: what a screen shows (the modules of the screen families).
"""

from __future__ import annotations

import functools
import io
import math
import random
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks import palette
from kit.checkpoint.training.tasks.palette import STATUS, Colour, Theme, colour_word, mixed, neutral, readable
from kit.checkpoint.training.vocabulary import word

__all__ = ["LARGE", "MARKS", "SIZES", "STATUS", "Box", "Colour", "Screen", "Theme", "colour_word", "mixed", "neutral", "readable", "worn"]

Box = tuple[float, float, float, float]
CAPTIONS = ("page 1 of 2", "updated just now", "release notes", "help", "night shift", "ready", "part two", "overview")
SIZES: dict[Split, tuple[tuple[int, int], ...]] = {
    "train": (
        (256, 256), (256, 256), (288, 256), (256, 288), (352, 192), (320, 224), (192, 352), (192, 384), (160, 416), (416, 160), (448, 160), (160, 448),
    ),
    "calibration": ((192, 384), (320, 224)),
    "held-out": ((224, 320), (384, 192), (288, 256)),
}
LARGE: dict[Split, tuple[tuple[int, int], ...]] = {
    "train": ((384, 256), (512, 256), (320, 320), (448, 320), (640, 384), (480, 288), (256, 384), (320, 416), (416, 320), (544, 288), (288, 480), (256, 512),
              (512, 512), (512, 512), (768, 512), (640, 384), (512, 384), (384, 512), (640, 512), (480, 480), (576, 448), (512, 640), (704, 384)),
    "calibration": ((416, 256),),
    "held-out": ((352, 288), (512, 320), (576, 352), (512, 480), (544, 512), (480, 576), (736, 512)),
}
MARKS: dict[Split, tuple[str, ...]] = {
    "train": ("dot", "pill", "bar", "chip", "stripe", "block", "block"), "calibration": ("square",), "held-out": ("diamond", "ring", "flag"),
}  # fmt: skip
SIGNS = ("circle", "square", "triangle", "cross", "star", "arrow", "heart")
WIDTHS = (0.82, 0.9, 1.0, 1.1, 1.22)  # of letters, in train
PLAIN = (1.0, 0)
SMALLEST = 10  # pixels, of letters


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
        self.theme = palette.theme(rng, split)
        self.image = Image.new("RGB", (self.width, self.height), self.theme.page)
        self._draw = ImageDraw.Draw(self.image)
        self.bottom = self.height
        self.style = PLAIN if split != "train" or rng.random() < 0.4 else (rng.choice(WIDTHS), rng.randint(0, 1))
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
        mask, x, y = _written(text, size, *self.style)
        self._draw.bitmap((int(left) + x, int(middle) + y), mask, colour or self.theme.ink)

    def wide(self, text: str, size: int) -> int:
        """How many pixels a text takes."""
        mask, x, _ = _written(text, size, *self.style)
        return mask.width + x

    def fitted(self, box: Box, text: str, size: int, colour: Colour | None = None, at: float = 0.0) -> None:
        """Text in the middle of a box's height, smaller or cut where it would not fit; at: 0 left, 0.5 centred, 1 right."""
        left, top, right, bottom = box
        size = max(min(size, int((bottom - top) * 0.95)), SMALLEST)
        room = right - left
        if (taken := self.wide(text, size)) > room:
            size = max(int(size * room / taken), SMALLEST)
            while len(text) > 1 and (taken := self.wide(text, size)) > room:
                text = text[: min(int(len(text) * room / taken), len(text) - 1)] or text[:1]
        self.text(left + max(room - self.wide(text, size), 0) * at, (top + bottom) / 2, text, size, colour)

    def words(self, count: int = 1) -> str:
        """Any words, that say nothing of what is asked."""
        return " ".join(word(self.rng, "noun", self.split) for _ in range(count))

    def dots(self, left: float, middle: float, count: int, radius: float, colour: Colour | None = None) -> None:
        """A row of dots, as a hidden value has."""
        for n in range(count):
            x = left + radius + 3 * radius * n
            self._draw.ellipse((x - radius, middle - radius, x + radius, middle + radius), colour or self.theme.ink)

    def strokes(self, box: Box, most: int = 4) -> None:
        """Text from far away: some strokes of a neutral colour, as many as the box has room for."""
        rng, (left, top, right, bottom) = self.rng, box
        thick = rng.randint(2, 7)
        gap, colour = thick + rng.randint(4, 10), mixed(self.theme.page, self.theme.ink, rng.uniform(0.12, 0.4))
        for n in range(min(rng.randint(0, most), int((bottom - top) / gap))):
            end = left + (right - left) * rng.uniform(0.25, 1)
            self.box((left, top + gap * n, end, top + gap * n + thick), colour)

    def dress(self, least: float, coloured: Sequence[str] = (), aside: bool = True) -> Box:
        """Bars with words at the edges, some of the time; what is left between them, with a margin. Of train's layouts.

        least: the height that must be left. coloured: the status colours that a bar may have. aside: whether one may stand
        at the left or right.
        """
        rng = self.rng
        left, top, right, bottom = 0.0, 0.0, float(self.width), float(self.bottom)
        for place in rng.sample(("top", "bottom", "side"), rng.choice((0, 1, 1, 1, 2, 2))):
            tall = rng.randint(14, 40)
            if place == "side":
                if aside and self.width >= 256 and rng.random() < 0.5:
                    thick = rng.randint(10, self.width // 5)
                    first = rng.random() < 0.7
                    bar = (left, top, left + thick, bottom) if first else (right - thick, top, right, bottom)
                    self._bar(bar, coloured, thick > 40)
                    left, right = (left + thick, right) if first else (left, right - thick)
            elif bottom - top - tall >= least + 12:
                if place == "top":
                    self._bar((left, top, right, top + tall), coloured)
                    top += tall
                else:
                    self._bar((left, bottom - tall, right, bottom), coloured)
                    bottom -= tall
        across = rng.uniform(2, min(24, (right - left) * 0.08))
        spare = max(bottom - top - least, 4)
        return left + across, top + rng.uniform(2, min(20, spare / 2)), right - across, bottom - rng.uniform(2, min(20, spare / 2))

    def _bar(self, box: Box, coloured: Sequence[str], words: bool = True) -> None:
        rng = self.rng
        colour = self.theme.status[rng.choice(coloured)] if coloured and rng.random() < 0.4 else neutral(rng, self.theme)
        if rng.random() < 0.15:
            self.line((box[0], box[3] - 1, box[2], box[3] - 1), colour, rng.randint(1, 3))
            colour = self.theme.page
        else:
            self.box(box, colour)
        if words and rng.random() < 0.8:
            tall = min(box[3] - box[1], 34)
            inner = (box[0] + rng.randint(4, 14), box[1] + 1, box[2] - 6, box[1] + tall)
            self.fitted(inner, self.words(rng.randint(1, 3)), rng.randint(11, 20), readable(colour), rng.choice((0, 0, 0.5, 1)))

    def sign(self, kind: str, centre: tuple[float, float], half: tuple[float, float], colour: Colour, outline: Colour | None = None, thick: int = 1) -> None:
        """A shape of SIGNS around a centre, `half` as wide and as high on either side, with an outline or none."""
        (x, y), (a, b) = centre, half
        if kind == "circle":
            self._draw.ellipse((x - a, y - b, x + a, y + b), colour, outline, thick)
        elif kind == "square":
            self._draw.rectangle((x - a, y - b, x + a, y + b), colour, outline, thick)
        else:
            points = [(x + a * u, y + b * v) for u, v in _points(kind, self.rng)]
            self._draw.polygon(points, colour)
            if outline:
                self._draw.line([*points, points[0]], outline, thick)

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


def _points(kind: str, rng: random.Random) -> Sequence[tuple[float, float]]:
    """The corners of a shape within a square of 2 around 0, upright or turned where that is the same shape."""
    if kind in ("triangle", "arrow"):
        points: Sequence[tuple[float, float]] = TRIANGLE if kind == "triangle" else ARROW
        for _ in range(rng.randrange(4)):
            points = [(-y, x) for x, y in points]
        return points
    if kind == "cross":
        arm = rng.uniform(0.12, 0.36)
        plus = ((-arm, -1), (arm, -1), (arm, -arm), (1, -arm), (1, arm), (arm, arm), (arm, 1), (-arm, 1), (-arm, arm), (-1, arm), (-1, -arm), (-arm, -arm))
        if rng.random() < 0.3:
            return plus
        return [((x - y) / (1 + arm), (x + y) / (1 + arm)) for x, y in plus]
    if kind == "star":
        inner, count = rng.uniform(0.36, 0.5), rng.choice((5, 5, 6))
        turns = [math.pi * n / count for n in range(2 * count)]
        return [((inner if n % 2 else 1) * math.sin(turn), -(inner if n % 2 else 1) * math.cos(turn)) for n, turn in enumerate(turns)]
    if kind == "heart":
        return HEART
    raise ValueError(f"no sign {kind}")


TRIANGLE = ((0.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
ARROW = ((0.0, -1.0), (1.0, 0.0), (0.4, 0.0), (0.4, 1.0), (-0.4, 1.0), (-0.4, 0.0), (-1.0, 0.0))
HEART = tuple(
    (math.sin(t) ** 3, -(13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) / 16) for t in (math.pi * n / 16 for n in range(32))
)


@functools.lru_cache(30_000)
def _written(text: str, size: int, width: float = 1.0, bold: int = 0) -> tuple[Image.Image, int, int]:
    """The mask of a text and where its corner lies from (left, middle): most words are drawn many times.

    width: of letters, beside the font's own. bold: by how many pixels strokes are thicker.
    """
    left, top, right, bottom = (int(edge) for edge in _font(size).getbbox(text, anchor="lm"))
    mask = Image.new("L", (right - left + bold, bottom - top))
    drawn = ImageDraw.Draw(mask)
    for moved in range(bold + 1):
        drawn.text((moved - left, -top), text, 255, _font(size), anchor="lm")
    if width != 1.0 and text:
        mask = mask.resize((max(int(mask.width * width), 1), max(mask.height, 1)), Image.Resampling.BILINEAR)
    return mask, left, top


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font
