"""Every generated question by reference and candidate, then the oracle's errors of both.

Covers: the order of the work, its time budget (questions that were not reached are counted, never passed over), and
generated.jsonl with generated.json of a run. The oracle is asked about the first `ORACLE_QUESTIONS`, after both
sides gave their memory back. Does not cover: how a side answers (`sides`), or what the figures mean (`summary`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.campaign.generated import lines, summary
from kit.campaign.generated.lines import Truth
from kit.campaign.prompts import generate_mixed

if TYPE_CHECKING:
    from pathlib import Path

    from kit.campaign.protocol import Case
    from kit.engine.base import QuestionResult
    from kit.profile import Profile

ORACLE_QUESTIONS = 600
# Prompts that go through the oracle's layers together: pixels and rows of all of them are held at once.
TOGETHER = {"cpu": 120, "cuda": 600}


@dataclass(frozen=True)
class Answered:
    """One question by both sides."""

    case: Case
    reference: QuestionResult
    candidate: QuestionResult


def measure(profile: Profile, folder: Path, budget_s: float, clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    """generated.json of a run folder, its lines written beside it. budget_s: for answering, loading included; 0: no limit.

    The process settings of the profile must be in force (`kit.runtime.configure`). Raises what loading raises.
    """
    from kit.campaign.generated.sides import Sides, candidate_of
    from kit.checkpoint import locate

    started = clock()
    wanted, candidate = profile.generated, candidate_of(profile.campaign.engines)
    sides = Sides(profile)
    try:
        cases = generate_mixed(wanted.questions, seed=wanted.seed)
        end = started + budget_s if budget_s > 0 else float("inf")
        answered = list(_answers(sides, cases, lambda: clock() < end))
        facts = sides.facts()
    finally:
        sides.close()
    answering = clock() - started
    truths = _truths(profile, answered[:ORACLE_QUESTIONS])
    records = [
        lines.line(item.case, item.reference, item.candidate, truth)
        for item, truth in zip(answered, [*truths, *[None] * (len(answered) - len(truths))], strict=True)
    ]
    lines.write(folder / lines.FILE, wanted.seed, candidate, records)
    calibration = locate(profile).calibration
    found = summary.summarise(
        [lines.decoded(item) for item in records],
        {"text": calibration.for_images(False), "image": calibration.for_images(True)},
        seed=wanted.seed,
        declared=wanted.questions,
        candidate=candidate,
    )
    seconds = {"answering": round(answering, 3), "oracle": round(clock() - started - answering, 3)}
    return found | {"how": facts, "budget_s": budget_s, "seconds": seconds}


def _answers(sides: Any, cases: Iterator[Case], in_time: Callable[[], bool]) -> Iterator[Answered]:
    for case in cases:
        if not in_time():
            return
        prepared = sides.candidate.prepare(case.body)
        yield Answered(case, *sides.answer(prepared))


def _truths(profile: Profile, answered: Sequence[Answered]) -> list[Truth]:
    """The oracle's logits and both sides' errors, question by question."""
    import torch

    from kit.campaign.oracle_errors import errors
    from kit.engine.oracle import load_oracle

    dtype = getattr(torch, profile.runtime.dtype)
    oracle = load_oracle(profile)
    truths = []
    try:
        step = TOGETHER[profile.runtime.device]
        for start in range(0, len(answered), step):
            part = answered[start : start + step]
            found = oracle.decide_all([oracle.prepare(item.case.body) for item in part])
            for item, (result,) in zip(part, found, strict=True):
                theirs = errors(result, item.reference, dtype).hidden
                ours = errors(result, item.candidate, dtype).hidden
                truths.append(Truth(result.logits, theirs, ours))
    finally:
        oracle.close()
    return truths
