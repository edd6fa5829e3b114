"""Screens to look at: `python -m kit.checkpoint.training.contact FILE [FAMILY ...]`.

Covers: a contact sheet of each family's screens, train and held out, with question and answer below each.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from kit.checkpoint.training.mixture import SCREENS, drawn
from kit.checkpoint.training.samples import Sample, Split
from kit.contract.prompt import state_text
from kit.contract.request import compile_questions

CELL, PICTURE = (400, 420), (392, 326)  # pixels: of a cell, and of the part that shows its images
COLUMNS = 6
SHOWN: tuple[tuple[Split, int], ...] = (("train", 3), ("held-out", 3))  # of every family, at its last level


def sheet(families: Sequence[str]) -> Image.Image:
    """One row a family: what SHOWN says, in cells."""
    samples = [drawn(family, split, index) for family in families for split, count in SHOWN for index in range(count)]
    picture = Image.new("RGB", (CELL[0] * COLUMNS, CELL[1] * -(-len(samples) // COLUMNS)), "white")
    for at, sample in enumerate(samples):
        picture.paste(_cell(sample), (CELL[0] * (at % COLUMNS), CELL[1] * (at // COLUMNS)))
    return picture


def _cell(sample: Sample) -> Image.Image:
    cell = Image.new("RGB", CELL, "white")
    side = 1 if len(sample.images) == 1 else 2
    room = PICTURE[0] // side, PICTURE[1] // side
    for at, image in enumerate(sample.images):
        shown = image.copy()
        shown.thumbnail((room[0] - 6, room[1] - 6))
        cell.paste(shown, (4 + room[0] * (at % side), 4 + room[1] * (at // side)))
    ImageDraw.Draw(cell).text((4, 334), caption(sample), "black", ImageFont.load_default(13))
    return cell


def caption(sample: Sample) -> str:
    """Family, split, state, question and candidates with a star at the right one, in lines."""
    (question,) = compile_questions(sample.questions)
    right = sample.right[question.id]
    texts = [f"{'*' if at == right else ''}{item.text}" for at, item in enumerate(question.candidates)]
    text = f"{sample.family}, {sample.split}: {state_text(sample.state)} {question.instructions} {' / '.join(texts)}"
    return "\n".join(textwrap.wrap(text, 60)[:6])


def main() -> int:
    """Write the sheet; 2 without a file or for a family that has no screens."""
    families = sys.argv[2:] or list(SCREENS)
    if len(sys.argv) < 2 or set(families) - set(SCREENS):
        print(f"usage: python -m kit.checkpoint.training.contact FILE [{' | '.join(SCREENS)} ...]", file=sys.stderr)
        return 2
    sheet(families).save(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
