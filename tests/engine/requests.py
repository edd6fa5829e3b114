"""Request bodies for engine tests: every question type, text of any length, images of any size."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence

import numpy as np
from PIL import Image

QUESTIONS = {
    "route": {
        "type": "choice",
        "instructions": "Which team takes this ticket?",
        "criteria": {"billing": "invoices and refunds", "support": "the product", "sales": "new contracts"},
    },
    "urgency": {
        "type": "score",
        "instructions": "How urgent is it?",
        "criteria": ["can wait", "soon", "now", ""],
    },
    "angry": {"type": "noul", "instructions": "Is the customer angry?"},
}


def text(words: int) -> bytes:
    """A ticket of that many words, no two long ones alike."""
    state = " ".join(f"item{(i * 7919) % 997}" for i in range(words))
    return json.dumps({"state": state, "questions": QUESTIONS}).encode()


def images(*sizes: tuple[int, int]) -> bytes:
    """A ticket with one picture of noise a size (width, height)."""
    pictures = []
    for seed, (width, height) in enumerate(sizes):
        values = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(values).save(file, "PNG")
        pictures.append(base64.b64encode(file.getvalue()).decode())
    return json.dumps({"state": "See pictures.", "questions": QUESTIONS, "images": pictures}).encode()


BODIES: Sequence[tuple[str, bytes]] = (
    ("empty text", text(0)),
    ("short text", text(3)),
    ("medium text", text(70)),
    ("long text", text(430)),
    ("one image", images((256, 256))),
    ("two images", images((512, 256), (31, 77))),
    ("three images", images((100, 77), (300, 290), (64, 64))),
    ("four images", images((33, 200), (256, 256), (257, 255), (640, 40))),
)
