"""Whether a candidate is no further from the oracle than the reference: the bootstrap of error ratios, drawn again."""

from __future__ import annotations

import math
import random
from typing import Dict, List, NamedTuple, Sequence, Tuple

RATIO_BOUND = 1.10
RATIO_PROMPTS, RATIO_CONTENTS = 600, 100
RATIO_RESAMPLES, RATIO_SEED, RATIO_SHARE = 1000, 20260722, 0.95
RATIO_FLOOR = 1e-12


class Ratios(NamedTuple):
    """Geometric mean of error ratios, one-sided 95% bounds, and what they rest on."""

    mean: float
    lower: float
    upper: float
    prompts: int
    contents: int


def error_ratios(errors: Sequence[Tuple[float, float]], contents: Sequence[str]) -> Ratios:
    """errors: (reference, candidate) a prompt. Contents are resampled whole, in the order of their names."""
    groups: Dict[str, List[float]] = {name: [] for name in sorted(set(contents))}
    for (theirs, ours), name in zip(errors, contents):
        groups[name].append(math.log(max(ours, RATIO_FLOOR) / max(theirs, RATIO_FLOOR)))
    sums = [(math.fsum(logs), len(logs)) for logs in groups.values()]
    middle = math.exp(math.fsum(total for total, _ in sums) / len(errors))
    if not any(value for logs in groups.values() for value in logs):
        return Ratios(middle, middle, middle, len(errors), len(sums))  # every resample is the same
    source, count, means = random.Random(RATIO_SEED), len(sums), []
    for _ in range(RATIO_RESAMPLES):
        drawn = [sums[int(source.random() * count)] for _ in sums]
        means.append(math.fsum(total for total, _ in drawn) / sum(number for _, number in drawn))
    means.sort()
    tail = math.floor(RATIO_RESAMPLES * (1 - RATIO_SHARE) + 1e-9)
    lower, upper = math.exp(means[tail]), math.exp(means[RATIO_RESAMPLES - 1 - tail])
    return Ratios(middle, lower, upper, len(errors), count)


def carries_faithful(found: Ratios) -> bool:
    """Enough prompts and contents, and an upper bound that class faithful allows."""
    return found.prompts >= RATIO_PROMPTS and found.contents >= RATIO_CONTENTS and found.upper <= RATIO_BOUND
