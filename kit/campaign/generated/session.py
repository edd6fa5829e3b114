"""Every generated question by reference and candidate, a few of them layer by layer, then the oracle's errors of both.

Covers: the order of the work, its time budget (questions that were not reached are counted, never passed over), and
generated.jsonl, layers.json and generated.json of a run. The oracle is asked about the first `ORACLE_QUESTIONS`,
after both sides gave their memory back. Does not cover: how a side answers (`sides`), what the figures mean
(`summary`), or walking layers (`kit.campaign.layers`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.campaign.generated import lines, source, summary
from kit.campaign.generated.lines import Truth
from kit.evidence.records import write_json

if TYPE_CHECKING:
    from pathlib import Path

    from kit.campaign.generated.sides import Sides
    from kit.campaign.protocol import Case
    from kit.engine.base import QuestionResult
    from kit.engine.oracle import Oracle
    from kit.profile import Profile

LAYERS = "layers.json"
ORACLE_QUESTIONS = 600
WALKED = 2  # requests of each modality that are walked layer by layer
# Prompts that go through the oracle's layers together: pixels and rows of all of them are held at once.
TOGETHER = {"cpu": 120, "cuda": 600}


class NothingReachedError(RuntimeError):
    """The budget ended before a single question was answered."""


@dataclass(frozen=True)
class Answered:
    """One question by both sides."""

    case: Case
    reference: QuestionResult
    candidate: QuestionResult


def measure(
    profile: Profile, folder: Path, budget_s: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Any]:
    """generated.json of a run folder, its lines and layers.json written beside it.

    budget_s: for answering, loading included; 0: no limit. The process settings of the profile must be in force
    (`kit.runtime.configure`). Raises NothingReachedError, and what loading and tracing raise.
    """
    from kit.campaign.generated.sides import Sides
    from kit.engine.oracle import load_oracle

    wanted, candidate = profile.generated, lines.candidate_of(profile.campaign.engines)
    watch = _Watch(clock)
    sides = Sides(profile)
    oracle = load_oracle(profile)
    try:
        cases = source.declared(wanted)
        answered = list(_answers(sides, cases, lambda: not 0 < budget_s <= watch.passed()))
        if not answered:
            raise NothingReachedError(
                f"budget_s of {budget_s:g} s was spent before the first question: loading took {watch.passed():.1f} s"
            )
        facts = sides.facts()
        watch.note("answering")
        write_json(folder / LAYERS, _layers(sides, candidate, oracle, answered))
        watch.note("layers")
    finally:
        sides.close()
    truths = _truths(profile, oracle, answered[:ORACLE_QUESTIONS])
    watch.note("oracle")
    records = [
        lines.line(item.case, item.reference, item.candidate, truths.get(item.case.id)) for item in answered
    ]
    lines.write(folder / lines.FILE, wanted, candidate, records)
    found = summary.summarise(
        [lines.decoded(item) for item in records],
        {"text": oracle.calibration.for_images(False), "image": oracle.calibration.for_images(True)},
        wanted=wanted,
        candidate=candidate,
    )
    return found | {"how": facts, "budget_s": budget_s, "seconds": watch.seconds}


class _Watch:
    """Seconds by what they were spent on."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._started = clock, clock()
        self.seconds: dict[str, float] = {}

    def passed(self) -> float:
        return self._clock() - self._started

    def note(self, name: str) -> None:
        self.seconds[name] = round(self.passed() - sum(self.seconds.values()), 3)


def _answers(sides: Sides, cases: Iterator[Case], in_time: Callable[[], bool]) -> Iterator[Answered]:
    for case in cases:
        if not in_time():
            return
        prepared = sides.candidate.prepare(case.body)
        yield Answered(case, *sides.answer(prepared))


def _layers(sides: Sides, candidate: str, oracle: Oracle, answered: Sequence[Answered]) -> dict[str, Any]:
    """layers.json: candidate against reference, and both against the oracle, on the first few of each modality."""
    from kit.campaign.layers import Side, Walked, walk

    chosen = [
        item.case
        for modality in ("text", "image")
        for item in [item for item in answered if item.case.modality == modality][:WALKED]
    ]
    requests = [Walked(case.id, sides.candidate.prepare(case.body)) for case in chosen]
    engines = [
        Side.of(name, engine)
        for name, engine in ((candidate, sides.candidate), ("reference", sides.reference), ("oracle", oracle))
    ]
    pairs = [(candidate, "reference"), ("reference", "oracle"), (candidate, "oracle")]
    return walk(engines, pairs, requests)


def _truths(profile: Profile, oracle: Oracle, answered: Sequence[Answered]) -> dict[str, Truth]:
    """Request id -> the oracle's logits and both sides' errors."""
    import torch

    from kit.campaign.oracle_errors import errors

    dtype, truths = getattr(torch, profile.runtime.dtype), {}
    step = TOGETHER[profile.runtime.device]
    try:
        for start in range(0, len(answered), step):
            part = answered[start : start + step]
            found = oracle.decide_all([oracle.prepare(item.case.body) for item in part])
            for item, (result,) in zip(part, found, strict=True):
                theirs = errors(result, item.reference, dtype).hidden
                ours = errors(result, item.candidate, dtype).hidden
                truths[item.case.id] = Truth(result.logits, theirs, ours)
    finally:
        oracle.close()
    return truths
