"""Drawing primitives for the protocol's screens: boxes, bitmap text, discs, buttons.

Covers: everything `screens.py` draws with, in whole pixels and flat colours. Text is Pillow's built-in 6x11
bitmap font and discs are rows of boxes, so the pixels depend on no font file and on no antialiasing.
Does not cover: encoding (`generate.py`).
"""

from __future__ import annotations

from math import isqrt

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]

INK, MUTED, LINE = (32, 37, 46), (104, 112, 125), (208, 213, 220)
PAPER, PAGE, NIGHT = (255, 255, 255), (240, 242, 246), (22, 27, 34)
GREEN, AMBER, RED, BLUE, GREY = (28, 140, 76), (214, 138, 16), (198, 40, 48), (36, 98, 196), (120, 128, 140)
PALE_GREEN, PALE_RED, PALE_AMBER = (222, 243, 230), (252, 226, 226), (253, 240, 214)

FONT = ImageFont.load_default_imagefont()
CHARACTER = (6, 11)  # width and height of one character at scale 1


class Canvas:
    """An RGB picture of `width` x `height` pixels."""

    def __init__(self, width: int, height: int, background: Colour = PAGE) -> None:
        self.image = Image.new("RGB", (width, height), background)
        self.width, self.height = width, height
        self._draw = ImageDraw.Draw(self.image)

    def box(
        self, x: int, y: int, width: int, height: int, fill: Colour | None = None, edge: Colour | None = None
    ) -> None:
        """A rectangle that covers exactly width x height pixels."""
        self._draw.rectangle((x, y, x + width - 1, y + height - 1), fill=fill, outline=edge)

    def text(self, x: int, y: int, words: str, colour: Colour = INK, scale: int = 1) -> None:
        """Latin-1 text with its top left corner at x, y, each font pixel `scale` pixels wide."""
        width, height = CHARACTER[0] * len(words), CHARACTER[1]
        mask = Image.new("L", (max(width, 1), height), 0)
        ImageDraw.Draw(mask).text((0, 0), words, fill=255, font=FONT)
        if scale > 1:
            mask = mask.resize((mask.width * scale, mask.height * scale), Image.Resampling.NEAREST)
        self.image.paste(colour, (x, y), mask)

    def centred(self, x: int, y: int, width: int, words: str, colour: Colour = INK, scale: int = 1) -> None:
        """Text in the middle of a span of `width` pixels."""
        self.text(x + (width - CHARACTER[0] * scale * len(words)) // 2, y, words, colour, scale)

    def disc(self, x: int, y: int, radius: int, colour: Colour) -> None:
        """A filled circle around x, y."""
        for row in range(-radius, radius + 1):
            half = isqrt(radius * radius + radius - row * row)
            self.box(x - half, y + row, 2 * half + 1, 1, colour)

    def button(
        self, x: int, y: int, words: str, fill: Colour = PAPER, ink: Colour = INK, width: int = 0, height: int = 22
    ) -> int:
        """A labelled button; returns the x where the next one of a row may start."""
        width = width or CHARACTER[0] * len(words) + 18
        self.box(x, y, width, height, fill, LINE if fill == PAPER else fill)
        self.centred(x, y + (height - CHARACTER[1]) // 2, width, words, ink)
        return x + width + 8

    def pill(self, x: int, y: int, words: str, colour: Colour) -> None:
        """A small status label in white on colour."""
        width = CHARACTER[0] * len(words) + 12
        self.box(x + 1, y, width - 2, 15, colour)
        self.box(x, y + 1, width, 13, colour)
        self.text(x + 6, y + 2, words, PAPER)

    def window(self, title: str, bar: Colour = (52, 60, 74)) -> None:
        """A title bar of 20 pixels across the top."""
        self.box(0, 0, self.width, 20, bar)
        for index, colour in enumerate((RED, AMBER, GREEN)):
            self.disc(11 + 13 * index, 10, 4, colour)
        self.text(54, 5, title, PAPER)

    def card(self, x: int, y: int, width: int, height: int, title: str = "") -> None:
        """A white panel with a thin edge and an optional heading."""
        self.box(x, y, width, height, PAPER, LINE)
        if title:
            self.text(x + 8, y + 7, title, MUTED)

    def meter(self, x: int, y: int, width: int, height: int, percent: int, colour: Colour) -> None:
        """A horizontal bar filled to `percent`."""
        self.box(x, y, width, height, (226, 230, 236), LINE)
        self.box(x + 1, y + 1, max((width - 2) * percent // 100, 1), height - 2, colour)

    def switch(self, x: int, y: int, on: bool, scale: int = 1) -> None:
        """A toggle, 28 x 14 pixels at scale 1."""
        self.box(x + 2 * scale, y, 24 * scale, 14 * scale, GREEN if on else GREY)
        self.box(x, y + 2 * scale, 28 * scale, 10 * scale, GREEN if on else GREY)
        self.disc(x + (20 if on else 7) * scale, y + 7 * scale - (scale > 1), 5 * scale, PAPER)
