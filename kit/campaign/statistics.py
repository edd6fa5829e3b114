"""Medians, quantiles, resamples, and how sure a ratio of two medians is.

Covers: interpolated quantiles, drawing with replacement, and the 95% interval of a ratio by resampling whole blocks,
so that what drifts between blocks (clocks, temperature) widens the interval instead of hiding in it. Plain Python;
the same seed gives the same interval everywhere, so an auditor can compute it again.
Does not cover: taking samples (`kit.campaign.performance.timing`), what a resample is of (whoever asks).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

RESAMPLES = 1000
SEED = 20261130

Blocks = Sequence[Sequence[float]]


def quantile(values: Iterable[float], q: float) -> float:
    """The q-quantile, interpolated between neighbours (q = 0.5 is the median). Raises ValueError if empty."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values to take a quantile of")
    return quantile_of_sorted(ordered, q)


def quantile_of_sorted(values: Sequence[float], q: float) -> float:
    """`quantile` of values that are in order already, at least one."""
    position = q * (len(values) - 1)
    low = math.floor(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


def median(values: Iterable[float]) -> float:
    """Middle value. Raises ValueError if empty."""
    return quantile(values, 0.5)


def resample(chance: random.Random, count: int) -> list[int]:
    """As many places of `count` things as there are things, with replacement: `int(random() * count)` each.

    `random.Random.random` is the one sequence Python promises never to change, so an auditor draws the same.
    """
    return [int(chance.random() * count) for _ in range(count)]


def pooled(blocks: Blocks) -> list[float]:
    """All samples of all blocks."""
    return [value for block in blocks for value in block]


def ratio_of_medians(ours: Blocks, theirs: Blocks) -> dict[str, float]:
    """`ratio` of the medians, and `low` and `high`, the ends of its 95% interval.

    ours, theirs: samples block by block, block i of both taken in the same interleaved round. Blocks are drawn
    in pairs with replacement, RESAMPLES times. Raises ValueError unless both have as many blocks, at least one.
    """
    if len(ours) != len(theirs) or not ours:
        raise ValueError(f"{len(ours)} and {len(theirs)} blocks: expected as many, and at least one")
    chance, count = random.Random(SEED), len(ours)
    ratios = []
    for _ in range(RESAMPLES):
        drawn = resample(chance, count)
        ratios.append(median(pooled([ours[i] for i in drawn])) / median(pooled([theirs[i] for i in drawn])))
    return {
        "ratio": median(pooled(ours)) / median(pooled(theirs)),
        "low": quantile(ratios, 0.025),
        "high": quantile(ratios, 0.975),
    }
