"""A made-up library: BF16-like logits of six text and six image questions under a few forms."""

from __future__ import annotations

import random

from kit.campaign.diagnosis.matching import Temperatures
from kit.contract.answer import softmax

DECLARED = Temperatures(1.25, 1.5)
MODALITIES = {f"{kind}-{n}": kind for kind in ("text", "image") for n in range(6)}
KEYS = [(request, "q") for request in MODALITIES]
FORMS = {"off": "with its adapter off", "images": "with its images in reverse order", "blank": "with one blank more"}

Answers = dict[tuple[str, str], tuple[float, ...]]


def answers(seed: int, like: Answers | None = None, moved: float = 3.0, only: str = "") -> Answers:
    """Logits of every question, drawn anew or moved a little from others; only: of one modality, the rest alike."""
    draw = random.Random(seed)
    found = {}
    for key in KEYS:
        shift = tuple(round(draw.gauss(0, moved) * 8) / 8 for _ in range(4))
        if like is None:
            found[key] = shift
        else:
            alike = bool(only) and MODALITIES[key[0]] != only
            found[key] = like[key] if alike else tuple(a + b for a, b in zip(like[key], shift, strict=True))
    return found


PLAIN = answers(1)
LIBRARY = {
    "plain": PLAIN,
    "off": answers(2, PLAIN, 1.0),
    "images": answers(3, PLAIN, 0.5, only="image"),
    "blank": answers(4, PLAIN, 0.3),
}


def served(logits: Answers, temperatures: Temperatures = DECLARED, noise: float = 0.0, seed: int = 99) -> Answers:
    """Probabilities a server gives that has these logits, or logits a little off them."""
    draw = random.Random(seed)
    return {
        key: tuple(softmax([x + noise * draw.gauss(0, 1) for x in values], temperatures.of(MODALITIES[key[0]])))
        for key, values in logits.items()
    }
