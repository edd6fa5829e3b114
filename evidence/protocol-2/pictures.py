"""The screens of the requests: consoles, a form, dialogs, gauges, alarm tiles, bar charts, badges.

Covers: one function a kind of screen, and `SCREENS`, from file name to picture. The layouts are their own: captions
along the lower edge, blocks of colour at the left or the right end of a row, labels beside their fields.
Everything is made up. Does not cover: what is asked about them (`screen_questions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from brush import AMBER, BLUE, DUSK, GREEN, GREY, INK, LINE, MUTED, PAPER, RED, SAND, Colour, Page
from PIL import Image

PALE_RED = (252, 226, 224)


def console(size: tuple[int, int], rows: Sequence[tuple[str, Colour]], note: str, left: bool = False) -> Page:
    """One row a service with a block of its status colour at the right end, or the left."""
    width, height = size
    page = Page(width, height)
    step = (height - 34) // len(rows)
    for index, (name, colour) in enumerate(rows):
        top = 6 + step * index
        page.box(10, top, width - 20, step - 8, PAPER, LINE)
        page.box(10 if left else width - 74, top, 64, step - 8, colour)
        page.text(90 if left else 22, top + (step - 8) // 2 - 11, name, INK, 2)
    page.bar(note)
    return page


def form(size: tuple[int, int], fields: Sequence[tuple[str, str]], wrong: str) -> Page:
    """Labels at the left, their fields at the right; the wrong one has a thick red frame."""
    width, height = size
    page = Page(width, height, SAND)
    step = (height - 30) // len(fields)
    for index, (label, value) in enumerate(fields):
        top = 8 + step * index
        bad = label == wrong
        page.text(8, top + step // 2 - 10, label, RED if bad else INK)
        page.box(60, top, width - 70, step - 12, PALE_RED if bad else PAPER, RED if bad else GREY, 4 if bad else 1)
        if value:
            page.text(74, top + step // 2 - 16, value, INK, 2)
    page.bar("sign in at the desk", (92, 84, 70))
    return page


def dialog(size: tuple[int, int], lines: Sequence[str], buttons: Sequence[str], main: int, colour: Colour) -> Page:
    """A sheet over a dimmed page: some lines, below them a row of buttons, one of them filled."""
    width, height = size
    page = Page(width, height, (168, 176, 188))
    page.box(16, 18, width - 32, height - 60, PAPER, MUTED)
    for index, line in enumerate(lines):
        page.text(30, 34 + 18 * index, line, MUTED)
    step = (width - 52) // len(buttons)
    top = height - 100
    for index, words in enumerate(buttons):
        fill, ink = (colour, PAPER) if index == main else (PAPER, INK)
        page.box(26 + step * index, top, step - 8, 44, fill, INK)
        page.text(36 + step * index, top + 17, words, ink)
    page.bar("question", (112, 118, 130))
    return page


def gauge(size: tuple[int, int], percent: int, colour: Colour, name: str) -> Page:
    """A tank lying on its side, filled from the left."""
    width, height = size
    page = Page(width, height)
    page.text(24, 30, name, INK, 2)
    page.box(24, 90, width - 48, 64, PAPER, INK, 2)
    page.box(26, 92, (width - 52) * percent // 100, 60, colour)
    page.bar("depot, hour by hour")
    return page


def tile(size: tuple[int, int], shape: str, colour: Colour, ground: Colour) -> Page:
    """One large sign in the middle of a page."""
    width, height = size
    page = Page(width, height, ground)
    x, y, radius = width // 2, (height - 20) // 2, 76
    if shape == "square":
        page.box(x - radius, y - radius, 2 * radius, 2 * radius, colour)
    else:
        {"disc": page.disc, "cross": page.cross, "triangle": page.triangle}[shape](x, y, radius, colour)
    page.bar("sign")
    return page


def banner(size: tuple[int, int], colour: Colour, ground: Colour, top: int, note: str = "release") -> Page:
    """A wide banner of one colour with three strokes of text under or above it."""
    width, height = size
    page = Page(width, height, ground)
    page.box(28, top, width - 56, 110, colour)
    for row in range(3):
        page.box(28, (top + 126 if top < 90 else 20) + 16 * row, width - 90 - 30 * row, 7, GREY)
    page.bar(note)
    return page


def chart(size: tuple[int, int], heights: Sequence[int], colours: Sequence[Colour]) -> Page:
    """Upright bars on a thick line; heights in pixels."""
    width, height = size
    page = Page(width, height, PAPER)
    floor, step = height - 36, (width - 40) // len(heights)
    for index, (tall, colour) in enumerate(zip(heights, colours, strict=True)):
        left = 20 + step * index + step // 6
        page.box(left, floor - tall, step * 2 // 3, tall, colour)
    page.box(12, floor, width - 24, 5, INK)
    page.bar("boxes by place")
    return page


def badges(marks: Sequence[tuple[int, int, Colour]]) -> Page:
    """128 x 128: discs at the places of a grid of three by three."""
    page = Page(128, 128, DUSK)
    for column, row, colour in marks:
        page.disc(22 + 42 * column, 22 + 42 * row, 13, colour)
    return page


SQUARE, WIDE = (256, 256), (384, 256)
SCREENS: dict[str, Callable[[], Page]] = {
    "console-before.png": lambda: console(SQUARE, (("checkout", RED), ("search", GREEN), ("mailer", AMBER)), "rollout 7.3"),
    "console-after.png": lambda: console(SQUARE, (("checkout", GREEN), ("search", GREY), ("mailer", RED)), "rollout 7.3"),
    "stages.png": lambda: console((512, 256), (("Build", GREEN), ("Test", GREEN), ("Scan", RED), ("Deploy", AMBER)), "release 2094", left=True),
    "release-red.png": lambda: banner(SQUARE, RED, (238, 240, 246), 60),
    "release-green.png": lambda: banner(SQUARE, GREEN, (34, 38, 48), 96),
    "tank-low.png": lambda: gauge(SQUARE, 24, GREEN, "Arlow"),
    "tank-high.png": lambda: gauge((320, 256), 91, BLUE, "Kelso"),
    "tank-half.png": lambda: gauge(SQUARE, 55, BLUE, "Pello"),
    "sign-disc.png": lambda: tile(SQUARE, "disc", GREEN, (232, 236, 244)),
    "sign-cross.png": lambda: tile((288, 256), "cross", RED, (236, 238, 232)),
    "sign-square.png": lambda: tile((256, 288), "square", BLUE, (40, 44, 54)),
    "sign-triangle.png": lambda: tile((320, 256), "triangle", AMBER, (28, 32, 40)),
    "boxes.png": lambda: chart(WIDE, (84, 172, 38, 186), (BLUE, AMBER, GREEN, RED)),
    "incident.png": lambda: banner(SQUARE, RED, (236, 242, 240), 92, "ledger, seen at 23:55"),
    "incident-end.png": lambda: banner(SQUARE, GREEN, (240, 238, 228), 48, "ledger, seen at 00:20"),
    "desk-form.jpg": lambda: form((300, 250), (("person", "Nadia"), ("phone", ""), ("reason", "visit")), "reason"),
    "ask-location.webp": lambda: dialog((320, 256), ("Trail map wants to know", "where you are."), ("Once", "Always", "Never"), 0, BLUE),
    "badges.png": lambda: badges(
        ((0, 0, RED), (2, 0, BLUE), (1, 0, RED), (0, 1, GREEN), (1, 1, RED), (2, 1, RED), (0, 2, BLUE), (2, 2, RED)),
    ),
    "alarm-grey.png": lambda: banner(SQUARE, GREY, (246, 242, 232), 40),
    "alarm-blue.png": lambda: banner(WIDE, BLUE, (232, 240, 236), 92),
    "alarm-amber.png": lambda: banner(SQUARE, AMBER, (36, 34, 40), 66),
    "alarm-red.png": lambda: banner(WIDE, RED, (240, 236, 242), 50),
}  # fmt: skip


def draw(name: str) -> Image.Image:
    """The picture of a file name, RGB."""
    return SCREENS[name]().image
