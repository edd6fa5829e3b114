"""What screens are drawn with: text from a kept mask has the pixels that Pillow itself draws; a worn image is the same screen."""

from __future__ import annotations

import random

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageStat

from kit.checkpoint.training.tasks.drawing import Screen, worn

LETTERS = "abcdefghijklmnopqrstuvwxyzÄÖÜßéñçŁø ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;-_/()[]%&|"


def texts(count: int) -> list[tuple[str, int]]:
    """Texts of any length, some of letters alone that hang under the line, with the size they are drawn at."""
    rng = random.Random(7)
    drawn = ["".join(rng.choices(LETTERS, k=rng.randint(1, 14))) for _ in range(count)]
    return [(text, rng.choice((11, 12, 13, 15, 17, 19))) for text in [*drawn, "", " ", "gypq", "'", "|"]]


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (46, 158, 79)])
def test_a_text_has_the_pixels_that_pillow_draws(colour: tuple[int, int, int]) -> None:
    for text, size in texts(200):
        screen = Screen(random.Random(3), "held-out", (128, 64))
        plain = screen.image.copy()
        screen.text(20.6, 30.4, text, size, colour)
        font = ImageFont.load_default(size)
        ImageDraw.Draw(plain).text((20, 30), text, colour, font, anchor="lm")
        assert same(screen.image, plain), text


def test_a_text_over_the_edge_is_cut_as_pillow_cuts_it() -> None:
    for left, middle in ((-5, 10), (120, 10), (10, 0), (10, 64)):
        screen = Screen(random.Random(3), "held-out", (128, 64))
        plain = screen.image.copy()
        screen.text(left, middle, "deployment", 15, (1, 2, 3))
        ImageDraw.Draw(plain).text((left, middle), "deployment", (1, 2, 3), ImageFont.load_default(15), anchor="lm")
        assert same(screen.image, plain)


@pytest.mark.parametrize("seed", range(4))
def test_a_worn_image_has_its_size_and_nearly_its_colours(seed: int) -> None:
    screen = Screen(random.Random(3), "train", (128, 64))
    screen.text(10, 30, "deployment", 15, (46, 158, 79))
    found = worn(random.Random(seed), screen.image)
    assert (found.mode, found.size) == ("RGB", screen.image.size)
    assert not same(found, screen.image)
    assert max(ImageStat.Stat(ImageChops.difference(found, screen.image)).mean) < 8


def same(one: Image.Image, other: Image.Image) -> bool:
    return ImageChops.difference(one, other).getbbox() is None
