"""Drift in the unit it happens in: BF16 steps of the reference's logits.

A probability gate of 0.02 means one BF16 step on one question and thirty on another. So each question carries
the change of its logit differences in steps, and the smallest shift of one logit that some gate would see.

Covers: logit steps, also against an answer without its logits, detectable steps, and which rows of drift.json have room
for the bounds of the field. Does not cover: the spacing of BF16 (`kit.evidence.floats`), probability drift itself
(`kit.campaign.drift`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.contract.answer import softmax
from kit.evidence.floats import bf16_spacing
from kit.profile import Gates

SLACK = 1e-12  # added to each bound, so that a drift of exactly the bound passes despite float64 rounding
STEP_SLACK = 1e-6  # of steps that are read off probabilities
MAX_STEPS = 4096
# Steps of one logit that rounding on another CPU takes easily: half of a small trained model's questions move by two or
# more there, one in ten by eight (`kit floor`). Where so few break a gate, an answer frozen elsewhere cannot be held to it.
ROOM_STEPS = 4


def first_maximum(values: Sequence[float]) -> int:
    """Index of the largest value, the first one at a tie, as the contract decides a choice."""
    return max(range(len(values)), key=lambda i: (values[i], -i))


def margin(probabilities: Sequence[float]) -> float:
    """Largest minus second largest probability."""
    first, second = sorted(probabilities, reverse=True)[:2]
    return first - second


def changed_steps(reference: Sequence[float], candidate: Sequence[float]) -> float:
    """Largest change of a logit difference to the reference's winner, in BF16 steps of the reference.

    A step of the pair (i, winner) is the spacing at the larger of the two magnitudes.
    """
    w = first_maximum(reference)
    return max(
        abs((candidate[i] - candidate[w]) - (reference[i] - reference[w]))
        / bf16_spacing(max(abs(reference[i]), abs(reference[w])))
        for i in range(len(reference))
    )


def steps_from_answer(probabilities: Sequence[float], logits: Sequence[float], temperature: float) -> float | None:
    """`changed_steps` where the reference is known by its answer alone, in BF16 steps of the candidate's logits.

    A probability says its logit up to a constant of the question, and a step to a millionth: less than that is none.
    None for a probability of zero, which says nothing.
    """
    if min(probabilities) <= 0:
        return None
    w = first_maximum(probabilities)
    steps = max(
        abs((logits[i] - logits[w]) - temperature * math.log(probabilities[i] / probabilities[w]))
        / bf16_spacing(max(abs(logits[i]), abs(logits[w])))
        for i in range(len(logits))
    )
    return steps if steps > STEP_SLACK else 0.0


@dataclass(frozen=True)
class Detectable:
    """The smallest visible shift: steps of one logit, and the same in logits. None: nothing up to 4096 steps."""

    steps: int | None
    logit: float | None


def detectable(logits: Sequence[float], temperature: float, question_type: str, gates: Gates) -> Detectable:
    """Smallest n such that moving one label logit by n of its own BF16 steps fails a gate.

    Any candidate, either direction. Each gate's statistic grows with the distance moved, so the first
    failing n of a direction is found by bisection.
    """
    before = softmax(logits, temperature)
    best: int | None = None
    size = 0.0
    for i, step in _moves(logits):

        def seen(n: int, i: int = i, step: float = step) -> bool:
            moved = list(logits)
            moved[i] += n * step
            return fails_a_gate(before, softmax(moved, temperature), question_type, gates)

        low, high = 0, MAX_STEPS if best is None else best - 1  # only a smaller n is of interest
        if high < 1 or not seen(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if seen(middle) else (middle, high)
        best, size = high, high * abs(step)
    return Detectable(best, size if best is not None else None)


def has_room(row: Mapping[str, Any]) -> bool:
    """Whether the bounds of the field are asked of a row of drift.json: not where ROOM_STEPS of an answer frozen elsewhere
    break them. Rows that are not judged in steps say nothing of it and have room."""
    return bool(row.get("room", True))


def fails_a_gate(before: Sequence[float], after: Sequence[float], question_type: str, gates: Gates) -> bool:
    """True when any of the gates would refuse `after` as an answer where `before` was expected."""
    if max(abs(a - b) for a, b in zip(after, before, strict=True)) > gates.probability + SLACK:
        return True
    if abs(max(after) - max(before)) > gates.confidence + SLACK:
        return True
    if question_type == "noul" and abs(after[0] - before[0]) > gates.noul + SLACK:
        return True
    if question_type == "score" and abs(_mean(after) - _mean(before)) > gates.expected_value + SLACK:
        return True
    return margin(before) >= gates.winner_margin and first_maximum(after) != first_maximum(before)


def _moves(logits: Sequence[float]) -> Iterator[tuple[int, float]]:
    for i, value in enumerate(logits):
        step = bf16_spacing(value)
        yield i, step
        yield i, -step


def _mean(probabilities: Sequence[float]) -> float:
    return math.fsum(i * p for i, p in enumerate(probabilities))
