"""What the screens are drawn with: boxes, discs, shapes and bitmap text in whole pixels and flat colours.

Covers: `Page`, everything `pictures.py` draws on. Text is Pillow's built-in 6x11 bitmap font and every curve is made of
boxes, so the pixels depend on no font file and on no antialiasing. Does not cover: encoding (`generate.py`).
"""

from __future__ import annotations

from math import isqrt

from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]

INK, MUTED, LINE, PAPER = (34, 36, 44), (110, 114, 128), (196, 202, 214), (254, 254, 254)
DAY, DUSK, SAND = (242, 244, 240), (30, 34, 42), (246, 240, 230)
GREEN, AMBER, RED, BLUE, GREY = (44, 152, 84), (230, 160, 30), (208, 46, 54), (46, 104, 214), (136, 144, 154)

FONT = ImageFont.load_default_imagefont()
LETTER = (6, 11)  # width and height of one character at scale 1


class Page:
    """An RGB picture of `width` x `height` pixels."""

    def __init__(self, width: int, height: int, background: Colour = DAY) -> None:
        self.image = Image.new("RGB", (width, height), background)
        self.width, self.height = width, height
        self._draw = ImageDraw.Draw(self.image)

    def box(self, x: int, y: int, width: int, height: int, fill: Colour | None = None, edge: Colour | None = None, thick: int = 1) -> None:
        """A rectangle that covers exactly width x height pixels."""
        self._draw.rectangle((x, y, x + width - 1, y + height - 1), fill, edge, thick)

    def text(self, x: int, y: int, words: str, colour: Colour = INK, scale: int = 1) -> None:
        """Latin-1 text with its top left corner at x, y, each font pixel `scale` pixels wide."""
        mask = Image.new("L", (LETTER[0] * len(words), LETTER[1]), 0)
        ImageDraw.Draw(mask).text((0, 0), words, fill=255, font=FONT)
        if scale > 1:
            mask = mask.resize((mask.width * scale, mask.height * scale), Image.Resampling.NEAREST)
        self.image.paste(colour, (x, y), mask)

    def disc(self, x: int, y: int, radius: int, colour: Colour) -> None:
        """A filled circle around x, y."""
        for row in range(-radius, radius + 1):
            half = isqrt(radius * radius + radius - row * row)
            self.box(x - half, y + row, 2 * half + 1, 1, colour)

    def triangle(self, x: int, y: int, radius: int, colour: Colour) -> None:
        """A filled triangle on its base, as wide and as high as a disc of that radius."""
        for row in range(-radius, radius + 1):
            half = (row + radius) // 2
            self.box(x - half, y + row, 2 * half + 1, 1, colour)

    def cross(self, x: int, y: int, radius: int, colour: Colour) -> None:
        """Two diagonal strokes, a third of the radius thick."""
        thick = radius // 3
        for row in range(-radius, radius + 1):
            for along in (row, -row):
                self.box(x + along - thick, y + row, 2 * thick + 1, 1, colour)

    def bar(self, title: str, colour: Colour = (66, 72, 88)) -> None:
        """A strip of 26 pixels along the lower edge with a caption."""
        self.box(0, self.height - 26, self.width, 26, colour)
        self.text(12, self.height - 19, title, PAPER)
