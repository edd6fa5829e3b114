"""How far an engine is from the oracle, and whether a candidate is no further from it than the reference.

Covers: the two errors of a question (final-norm row, label logits), their ratio, and the bound class `faithful`
rests on: the geometric mean of the ratios with bounds from a bootstrap that resamples request contents, because
questions about one content are not independent. The bootstrap is standard library and spelt out, so that the
audit draws the same resamples.
Does not cover: running anything (`kit.engine.oracle`), or which prompts are asked (`kit.campaign.prompts`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kit.campaign.statistics import resample

if TYPE_CHECKING:
    import torch

    from kit.engine.base import QuestionResult
    from kit.engine.oracle import OracleResult

BOUND = 1.10  # largest upper bound of the mean ratio for class faithful
PROMPTS, CONTENTS = 600, 100  # fewest prompts, and fewest distinct contents among them
RESAMPLES, SEED = 1000, 20260722
SHARE = 0.95  # each bound holds with this confidence by itself
FLOOR = 1e-12  # an error below is FP64's own and counts as this


@dataclass(frozen=True)
class Errors:
    """One engine's distance from the oracle on one question.

    hidden: |row - truth| / |truth|, L2. logits: root mean square of the candidates' logit errors, in logits.
    """

    hidden: float
    logits: float


@dataclass(frozen=True)
class Interval:
    """Geometric mean of error ratios, its one-sided 95% bounds, and what they rest on."""

    mean: float
    lower: float
    upper: float
    prompts: int
    contents: int


def errors(truth: OracleResult, result: QuestionResult, dtype: torch.dtype) -> Errors:
    """Errors of an engine's result; dtype: of its hidden row. Raises ValueError where the two do not belong together."""
    if truth.question_id != result.question_id:
        raise ValueError(f"oracle's question {truth.question_id!r} against the engine's {result.question_id!r}")
    if not result.hidden:
        raise ValueError(f"question {result.question_id!r}: the engine gave no hidden row, so it has no distance")
    return Errors(relative_l2(decoded(result.hidden, dtype), truth.hidden), rms(result.logits, truth.logits))


def decoded(row: bytes, dtype: torch.dtype) -> torch.Tensor:
    """A hidden row as engines hand it out, in FP64."""
    from kit.engine.hidden_rows import row_tensor

    return row_tensor(row, dtype).double()


def relative_l2(row: torch.Tensor, truth: torch.Tensor) -> float:
    """|row - truth| / |truth|; both [H]. Raises ValueError for another width or a truth of zeros."""
    if row.shape != truth.shape:
        raise ValueError(f"a row of {tuple(row.shape)} values against the oracle's {tuple(truth.shape)}")
    size = float(truth.double().norm())
    if not size:
        raise ValueError("the oracle's row is zero: nothing is relative to it")
    return float((row.double() - truth.double()).norm()) / size


def rms(logits: Sequence[float], truth: Sequence[float]) -> float:
    """Root mean square of the differences. Raises ValueError for unequal or no logits."""
    if not truth or len(logits) != len(truth):
        raise ValueError(f"{len(logits)} logits against the oracle's {len(truth)}")
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(logits, truth, strict=True)) / len(truth))


def ratio(candidate: float, reference: float) -> float:
    """candidate / reference, either no smaller than FLOOR. Raises ValueError for errors that are not finite."""
    if not (math.isfinite(candidate) and math.isfinite(reference) and candidate >= 0 and reference >= 0):
        raise ValueError(f"errors {candidate} and {reference}: expected finite numbers of at least 0")
    return max(candidate, FLOOR) / max(reference, FLOOR)


def noninferiority(
    ratios: Sequence[float], contents: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """The interval of `ratios`, one a prompt; contents: what each prompt is about, resampled as a whole.

    Contents are put in order by name. A resample draws as many contents as there are (`resample`, one generator for
    all of them); its value is the sum of the logarithms drawn over the number of prompts drawn. Bounds are the values
    at places floor(n * 0.05) and n - 1 - floor(n * 0.05) of the n sorted. Raises ValueError for no ratio, or one that
    is not positive and finite.
    """
    if not ratios or len(ratios) != len(contents):
        raise ValueError(f"{len(ratios)} ratios of {len(contents)} contents: expected as many, and at least one")
    if not all(0 < value < math.inf for value in ratios):
        raise ValueError("a ratio of errors is not a positive number")
    groups: dict[str, list[float]] = {name: [] for name in sorted(set(contents))}
    for value, name in zip(ratios, contents, strict=True):
        groups[name].append(math.log(value))
    sums = [(math.fsum(logs), len(logs)) for logs in groups.values()]
    source = random.Random(seed)
    drawn = sorted(_resampled(sums, source) for _ in range(resamples))
    tail = math.floor(resamples * (1 - SHARE) + 1e-9)
    low, middle, high = drawn[tail], math.fsum(total for total, _ in sums) / len(ratios), drawn[resamples - 1 - tail]
    return Interval(math.exp(middle), math.exp(low), math.exp(high), len(ratios), len(sums))


def _resampled(sums: Sequence[tuple[float, int]], source: random.Random) -> float:
    """The mean logarithm of one resample."""
    picked = [sums[place] for place in resample(source, len(sums))]
    return math.fsum(total for total, _ in picked) / sum(count for _, count in picked)


def problems(interval: Interval, bound: float = BOUND) -> list[str]:
    """Why an interval does not carry class faithful; empty where it does."""
    found = []
    if interval.prompts < PROMPTS:
        found.append(f"{interval.prompts} prompts, the class needs {PROMPTS}")
    if interval.contents < CONTENTS:
        found.append(f"{interval.contents} distinct contents, a bound needs {CONTENTS}")
    if not interval.upper <= bound:
        found.append(f"the mean error ratio may be {interval.upper:.4f}, the class allows {bound:.2f}")
    return found
