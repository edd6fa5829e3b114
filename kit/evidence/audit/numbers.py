"""Plain arithmetic of answers: softmax, float formats, BF16 steps, quantiles."""

from __future__ import annotations

import math
import struct
from typing import List, Sequence, Tuple

from kit.evidence.audit.rules import Json


def softmax(logits: Sequence[float], temperature: float) -> List[float]:
    top = max(logits)
    weights = [math.exp((x - top) / temperature) for x in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def floats(text: str) -> Tuple[float, ...]:
    """Numbers behind the hex of little-endian float32 values."""
    data = bytes.fromhex(text)
    return struct.unpack("<%df" % (len(data) // 4), data)


def is_bf16(text: str) -> bool:
    """Whether all float32 values behind a hex text are BF16 numbers: their lower halves are empty."""
    return all(text[index : index + 4] == "0000" for index in range(0, len(text), 8))


def bf16(data: bytes) -> Tuple[float, ...]:
    """BF16 values, little endian, as Python floats."""
    halves = struct.unpack("<%dH" % (len(data) // 2), data)
    return struct.unpack(
        "<%df" % len(halves), struct.pack("<%dI" % len(halves), *(half << 16 for half in halves))
    )


def spacing(value: float) -> float:
    """Distance of neighbouring BF16 numbers at |value|."""
    exponent = math.frexp(abs(value))[1] - 1 if value else -126
    return math.ldexp(1.0, max(exponent, -126) - 7)


def winner(answer: Json) -> str:
    """The candidate of the first largest probability."""
    top = max(answer["probabilities"].values())
    return str(next(name for name, p in answer["probabilities"].items() if p == top))


def expectation(probabilities: Sequence[float]) -> float:
    return math.fsum(level * p for level, p in enumerate(probabilities))


def quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
