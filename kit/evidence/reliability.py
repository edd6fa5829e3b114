"""Confidence against being right: how far a probability of 0.8 is from right four times of five.

Covers: the reliability diagram's bins and the expected calibration error over answers with a known right one.
Does not cover: who is right (`kit.campaign.accuracy`, `kit.campaign.generated.summary`), drawing
(`kit.campaign.accuracy_figures`), or fitting temperatures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

BINS = 10  # of equal width; a bin holds its upper end

Judged = tuple[float, bool]  # the winner's probability, and whether it was right


def reliability(answers: Sequence[Judged]) -> dict[str, Any]:
    """`ece` and the bins that hold an answer: questions, mean confidence and how many were right.

    ece: the mean distance between confidence and share of right answers over the bins, weighted by their answers.
    Raises ValueError without an answer.
    """
    if not answers:
        raise ValueError("no answers to judge the confidence of")
    by_bin: dict[int, list[Judged]] = {}
    for answer in answers:
        by_bin.setdefault(bin_of(answer[0]), []).append(answer)
    bins: list[dict[str, Any]] = []
    gaps: list[float] = []
    for index, inside in sorted(by_bin.items()):
        total, right = math.fsum(confidence for confidence, _ in inside), sum(right for _, right in inside)
        bins.append({
            "over": index / BINS, "to": (index + 1) / BINS, "questions": len(inside),
            "confidence": total / len(inside), "right": right,
        })  # fmt: skip
        gaps.append(abs(total - right))
    return {"ece": math.fsum(gaps) / len(answers), "bins": bins}


def bin_of(confidence: float) -> int:
    """The bin of a confidence in 0..1."""
    return min(max(math.ceil(confidence * BINS) - 1, 0), BINS - 1)
