"""Which rounding and which temperature an answer came from, read off its probabilities alone.

Label logits are BF16 numbers, so the differences between them are whole multiples of a small power of two,
and ln(p_i / p_max) * T gives those differences back. With the right temperature all of them lie on one grid
2**-e; with a wrong temperature, or a probability that was edited, they lie on none.

Covers: finding that grid. Does not cover: engines whose logits are kept finer than 2**-20.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

MAX_EXPONENT = 20
TOLERANCE = 1e-9  # in logits; float64 leaves about 1e-13


@dataclass(frozen=True)
class Lattice:
    """holds: every logit difference is a multiple of 2**-exponent. exponent is None where none fits."""

    holds: bool
    exponent: int | None


def logit_differences(probabilities: Sequence[float], temperature: float) -> list[float]:
    """(logit_i - largest logit) of every candidate whose probability can be inverted.

    A probability that underflowed to zero or to a subnormal number has no usable logarithm (its logit is some
    700 temperatures below the winner's) and is left out: it neither supports nor contradicts a grid.
    """
    top = max(probabilities)
    return [math.log(p / top) * temperature for p in probabilities if p >= sys.float_info.min]


def lattice(probabilities: Sequence[float], temperature: float) -> Lattice:
    """The coarsest grid 2**-e, e in 0..20, that holds every logit difference to 1e-9.

    probabilities: one question's, any order. temperature: the declared one of its modality. A NaN, a negative
    or an all-zero set holds on no grid.
    """
    usable = len(probabilities) > 0 and all(math.isfinite(p) and p >= 0 for p in probabilities)
    if not usable or max(probabilities) < sys.float_info.min or not 0 < temperature < math.inf:
        return Lattice(False, None)
    differences = logit_differences(probabilities, temperature)
    for exponent in range(MAX_EXPONENT + 1):
        scale = 2.0**exponent
        if all(abs(x * scale - round(x * scale)) <= TOLERANCE * scale for x in differences):
            return Lattice(True, exponent)
    return Lattice(False, None)
