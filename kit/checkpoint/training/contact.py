"""A contact sheet of screens, to look at: `python -m kit.checkpoint.training.contact FILE`."""

from __future__ import annotations

import json
import sys
import textwrap

from PIL import Image, ImageDraw, ImageFont

from kit.checkpoint.training.samples import SPLITS, Sample, seeded
from kit.checkpoint.training.tasks import SCREENS

CELL = (400, 410)


def sheet(columns: int = 6) -> Image.Image:
    """Twenty-four screens: four of each family, two of them of train, with question and answer below."""
    splits = (SPLITS[0], SPLITS[0], SPLITS[1], SPLITS[2])
    samples = [make(seeded(name, split, 3 * n), split) for name, make in SCREENS.items() for n, split in enumerate(splits)]
    picture = Image.new("RGB", (CELL[0] * columns, CELL[1] * -(-len(samples) // columns)), "white")
    for n, sample in enumerate(samples):
        picture.paste(_cell(sample), (CELL[0] * (n % columns), CELL[1] * (n // columns)))
    return picture


def _cell(sample: Sample) -> Image.Image:
    cell = Image.new("RGB", CELL, "white")
    for n, image in enumerate(sample.images):
        small = image if len(sample.images) == 1 else image.resize((128, 128))
        cell.paste(small, (4 + 132 * (n % 3), 4 + 132 * (n // 3)))
    (question,) = sample.questions.values()
    (right,) = sample.right.values()
    criteria = question.get("criteria", "")
    shown = list(criteria.values()) if question["type"] == "choice" else criteria
    text = f"{sample.family}/{sample.split}: {json.dumps(sample.state)} {question['instructions']} {shown} -> {right}"
    ImageDraw.Draw(cell).text((4, 326), "\n".join(textwrap.wrap(text, 62)[:5]), "black", ImageFont.load_default(13))
    return cell


if __name__ == "__main__":
    sheet().save(sys.argv[1])
