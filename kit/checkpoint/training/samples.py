"""One labelled request: what is asked, what is shown, what is right.

Covers: `Sample`, its request body, the three splits, and the seed of a sample. Does not cover: how a family
makes one (`kit.checkpoint.training.tasks`) or tokens (`kit.checkpoint.training.encode`).
"""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from PIL import Image

Split = Literal["train", "calibration", "held-out"]
SPLITS: tuple[Split, ...] = ("train", "calibration", "held-out")
Question = dict[str, Any]  # contract JSON


@dataclass(frozen=True)
class Sample:
    """A request with the index and the id of the right candidate of every question.

    level: how hard the family was asked to be, from 0. state: a string or JSON. questions: the contract's objects
    by id. images: RGB, in order. reason: by question, what the right answer rests on, in fixed words; an aid of
    training alone, which no body holds.
    """

    family: str
    split: Split
    level: int
    state: object
    questions: Mapping[str, Question]
    expected: Mapping[str, str]
    right: Mapping[str, int]
    images: Sequence[Image.Image] = field(default=())
    reason: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        """The request as a client sends it: compact UTF-8 JSON, images as base64 PNG."""
        document: dict[str, Any] = {"state": self.state, "questions": dict(self.questions)}
        if self.images:
            document["images"] = [_png(image) for image in self.images]
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def seeded(family: str, split: Split, index: int, level: int) -> random.Random:
    """The generator of one sample; the same four values give the same sample on every machine."""
    return random.Random(f"{family}/{split}/{level}/{index}")


def _png(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")
