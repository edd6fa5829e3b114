"""Temperatures, the error of stated confidence before and after, and a threshold, from label logits.

Covers: what `decision_config.json` holds, fitted on the calibration split in float64. Does not cover: logits (`evaluation`).
The threshold gates nothing in the contract; here it is the smallest confidence from which answers were right in TRUST of
the cases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.evidence.reliability import reliability

TRUST = 0.99
COLDEST, HOTTEST = 0.05, 20.0
ROUNDS = 80  # of the golden section: far below the resolution of a double
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def probabilities(logits: Floats, temperature: float) -> Floats:
    """Softmax of logits / temperature along the last axis; -inf gives 0."""
    scaled = logits / temperature
    weights = np.exp(scaled - scaled.max(-1, keepdims=True))
    shares: Floats = weights / weights.sum(-1, keepdims=True)
    return shares


def scaled(logits: Floats, images: NDArray[np.bool_], temperature: float, mm_temperature: float) -> Floats:
    """Each question's logits over the temperature of its kind. images: whether it has some."""
    divided: Floats = logits / np.where(images, mm_temperature, temperature)[:, None]
    return divided


def loss(logits: Floats, right: Indices, temperature: float) -> float:
    """Mean negative log likelihood of the right labels, in nats."""
    scaled = logits / temperature
    top = scaled.max(-1, keepdims=True)
    total = np.log(np.exp(scaled - top).sum(-1)) + top[:, 0]
    return float((total - scaled[np.arange(len(right)), right]).mean())


def fit(logits: Floats, right: Indices) -> float:
    """The temperature of least loss, by golden section over its logarithm. Raises ValueError without samples."""
    if not len(right):
        raise ValueError("no sample to fit a temperature on")
    low, high = np.log(COLDEST), np.log(HOTTEST)
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(ROUNDS):
        left, other = high - ratio * (high - low), low + ratio * (high - low)
        if loss(logits, right, float(np.exp(left))) <= loss(logits, right, float(np.exp(other))):
            high = other
        else:
            low = left
    return float(np.exp((low + high) / 2))


def error(logits: Floats, right: Indices, temperature: float) -> float:
    """Expected calibration error of the winners, in the bins a judged run counts by. Raises ValueError without samples."""
    shares = probabilities(logits, temperature)
    hits = shares.argmax(-1) == right
    return float(reliability(list(zip(shares.max(-1).tolist(), hits.tolist(), strict=True)))["ece"])


def threshold(confidence: Floats, hits: NDArray[np.bool_], trust: float = TRUST) -> float:
    """The smallest confidence c such that answers of confidence c or more were right in `trust` of the cases; 1 where none.

    Answers of one confidence count together.
    """
    order = np.argsort(-confidence)
    falling = confidence[order]
    accuracy = np.cumsum(hits[order]) / np.arange(1, len(order) + 1)
    last = np.append(falling[1:] < falling[:-1], True)  # of its confidence
    good = np.flatnonzero((accuracy >= trust) & last)
    return float(falling[good[-1]]) if len(good) else 1.0


@dataclass(frozen=True)
class Fitted:
    """temperature: of requests without images. mm_temperature: with. Errors: of calibration samples, before (1) and after."""

    temperature: float
    mm_temperature: float
    threshold: float
    before: float
    after: float

    def document(self) -> dict[str, object]:
        """decision_config.json."""
        return {
            "format": "decision-config/1",
            "temperature": self.temperature,
            "mm_temperature": self.mm_temperature,
            "threshold": self.threshold,
        }


def fitted(logits: Floats, right: Indices, images: NDArray[np.bool_]) -> Fitted:
    """Fit both temperatures; where one kind has no samples, its temperature is the other's."""
    kinds = [fit(logits[mask], right[mask]) if mask.any() else None for mask in (~images, images)]
    temperature, pictured = kinds[0] or kinds[1] or 1.0, kinds[1] or kinds[0] or 1.0
    cooled = scaled(logits, images, temperature, pictured)
    shares = probabilities(cooled, 1.0)
    hits = shares.argmax(-1) == right
    return Fitted(
        temperature, pictured, threshold(shares.max(-1), hits),
        before=error(logits, right, 1.0), after=error(cooled, right, 1.0),
    )  # fmt: skip
