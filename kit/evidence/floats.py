"""Floating-point numbers as records hold them, and as BF16 spaces them.

Covers: logits to and from the hex of their little-endian bytes, equality by bits, and the BF16 numbers around a value.
Plain Python, as evidence is read on machines without torch. Does not cover: tensors (`kit.engine.hidden_rows`), or what
an auditor makes of the same hex, which shares no code with this.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

BF16_FRACTION_BITS = 7
BF16_MIN_NORMAL_EXPONENT = -126


def float32_bytes(values: Sequence[float]) -> bytes:
    """Values as little-endian float32."""
    return struct.pack(f"<{len(values)}f", *values)


def float32_hex(values: Sequence[float]) -> str:
    """Hex of values as little-endian float32."""
    return float32_bytes(values).hex()


def float64_hex(values: Sequence[float]) -> str:
    """Hex of values as little-endian float64."""
    return struct.pack(f"<{len(values)}d", *values).hex()


def decode_float32(text: str) -> tuple[float, ...]:
    """Numbers behind the hex of little-endian float32 values. Raises ValueError for what is not that."""
    return _decoded(text, "f")


def decode_float64(text: str) -> tuple[float, ...]:
    """Numbers behind the hex of little-endian float64 values. Raises ValueError for what is not that."""
    return _decoded(text, "d")


def _decoded(text: str, code: str) -> tuple[float, ...]:
    data = bytes.fromhex(text)
    count, rest = divmod(len(data), struct.calcsize(code))
    if rest:
        raise ValueError(f"{len(data)} bytes are no whole number of values of {struct.calcsize(code)} bytes")
    return struct.unpack(f"<{count}{code}", data)


def same_bits(a: Sequence[float], b: Sequence[float]) -> bool:
    """As many values with the same bits: unlike with `==`, 0.0 is not -0.0, and NaN is the same NaN."""
    return float64_hex(a) == float64_hex(b)


def bf16_spacing(value: float) -> float:
    """Distance between neighbouring BF16 numbers at |value|: 2**(floor(log2|value|) - 7), 2**-133 below 2**-126."""
    exponent = math.frexp(abs(value))[1] - 1 if value else BF16_MIN_NORMAL_EXPONENT
    return math.ldexp(1.0, max(exponent, BF16_MIN_NORMAL_EXPONENT) - BF16_FRACTION_BITS)


def bf16_around(value: float, low: float, high: float, most: int) -> list[float]:
    """BF16 numbers from `low` to `high`, in order, at most `most` from the BF16 number `value` either way.

    The bound is for values near zero, where BF16 numbers are almost without end.
    """
    found = [value]
    for direction in (-1, 1):
        number = value
        for _ in range(most):
            number = _next_bf16(number, direction)
            if not low <= number <= high:
                break
            found.append(number)
    return sorted(found)


def _next_bf16(value: float, direction: int) -> float:
    """The next BF16 number up (1) or down (-1). Below a power of two numbers lie twice as close."""
    step = bf16_spacing(value)
    if value * direction < 0 and math.frexp(abs(value))[0] == 0.5:
        step /= 2
    return value + direction * step
