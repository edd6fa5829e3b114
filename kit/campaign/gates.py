"""Gates over drift rows: the bounds of the field, the bits an exact claim needs, the lattice, the sums.

Covers: one `Gate` an engine and comparison, and for judged profiles how many requests must be right, which only adds to
the others: being right repairs no drift. A gate fails when a row it needs is missing, when it has no rows
at all, and when a figure is not a number; nothing is retried, rounded or left out for a small margin.
Does not cover: computing the figures (`kit.campaign.drift`) or gates over the records themselves
(`kit.campaign.integrity`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kit.campaign.answers import UnreadableAnswerError, read_answer
from kit.campaign.drift import comparisons, question_ids
from kit.campaign.reading import RunRecords, is_number
from kit.campaign.sensitivity import SLACK, STEP_SLACK, has_room

SUM_TOLERANCE = 1e-6
Row = dict[str, Any]


@dataclass(frozen=True)
class Gate:
    """One outcome. value: what was found (None: it could not be measured); bound: what is allowed at most."""

    gate: str
    engine: str | None
    against: str | None
    passed: bool
    value: float | int | str | None
    bound: float | int | str
    detail: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def drift_gates(run: RunRecords, drift: dict[str, Any]) -> Iterator[Gate]:
    """Every gate over the rows of drift.json, comparison by comparison, then engine by engine."""
    expected = sum(len(question_ids(case.body)) for case in run.protocol.cases)
    gates = run.profile.gates
    for engine, against in comparisons(run):
        rows = [row for row in drift["rows"] if (row["engine"], row["against"]) == (engine, against)]
        steps = run.profile.protocol.frozen_steps if against == "frozen" else 0
        over = _Over(engine, against, rows, expected, steps)
        if steps:
            yield over.in_steps()
        yield over.worst("probability", "probability_drift", gates.probability)
        yield over.worst("confidence", "confidence_drift", gates.confidence)
        yield over.worst("noul", "noul_drift", gates.noul)
        yield over.worst("expected_value", "expected_drift", gates.expected_value)
        yield over.count(
            "winner",
            lambda row: not row["winner_same"] and row["reference_margin"] >= gates.winner_margin and has_room(row),
            f"changed winners where the reference's margin is {gates.winner_margin} or more",
        )
        yield over.count("tokens", lambda row: not row["tokens_same"], "questions with another token total")
        yield over.count("shape", lambda row: not row["shape_same"], "answers of another shape or contradicting themselves")
        if run.profile.claim == "exact" and against == "fresh" and engine != "remote":
            yield over.count("hidden_bitwise", lambda row: row["hidden_equal"] is not True, "hidden rows that differ")
            yield over.count("logits_bitwise", lambda row: row["logits_equal"] is not True, "logit rows that differ")
    for engine in dict.fromkeys(engine for engine, _ in comparisons(run)):
        rows = [row for row in drift["rows"] if row["engine"] == engine]
        sides = sum(name == engine for name, _ in comparisons(run))
        over = _Over(engine, None, rows, expected * sides)
        yield over.count("lattice", lambda row: not row["lattice"]["holds"], "answers on no grid of logit differences")
        yield over.count("probability_sum", lambda row: not _sums_to_one(run, row), "answers that do not sum to 1")


def accuracy_gates(run: RunRecords, drift: dict[str, Any]) -> Iterator[Gate]:
    """One gate an engine: no more requests with a wrong answer, in any pass, than the profile allows."""
    least, found = run.profile.protocol.least_right, drift.get("accuracy")
    if found is None or not least:
        return
    allowed = found["requests"] - least
    for engine in run.profile.campaign.engines:
        right = min(item["requests_right"] for item in found["passes"] if item["engine"] == engine)
        detail = f"{right} of {found['requests']} requests are right, at least {least} must be"
        yield Gate("accuracy", engine, None, right >= least, found["requests"] - right, allowed, detail)


@dataclass(frozen=True)
class _Over:
    """The rows one gate is about, and how many there must be.

    steps: of frozen answers that another CPU may be off by so many BF16 steps. The bounds of the field are then asked of
    the questions with room alone (`kit.campaign.sensitivity.ROOM_STEPS`).
    """

    engine: str
    against: str | None
    rows: Sequence[Row]
    expected: int
    steps: int = 0

    def in_steps(self) -> Gate:
        """The largest change of a logit difference, of all rows; names those without room for the other bounds."""
        bound = self.steps + STEP_SLACK
        if self._incomplete():
            return self._gate("frozen_steps", False, None, bound, self._incomplete())
        if not all(is_number(row["max_steps"]) for row in self.rows):
            return self._gate("frozen_steps", False, None, bound, "a question has no steps")
        row = max(self.rows, key=lambda row: row["max_steps"])
        narrow = [f"{row['request']}/{row['question']}" for row in self.rows if not has_room(row)]
        told = f"largest at {row['request']}/{row['question']}; without room for the other bounds: {', '.join(narrow) or 'none'}"
        return self._gate("frozen_steps", row["max_steps"] <= bound, row["max_steps"], bound, told)

    def worst(self, name: str, key: str, limit: float) -> Gate:
        """Largest figure of a column against its bound; a question type that does not occur passes with 0."""
        bound = limit + SLACK
        if self._incomplete():
            return self._gate(name, False, None, bound, self._incomplete())
        values = [(row[key], row) for row in self.rows if row[key] is not None and has_room(row)]
        if not values:
            return self._gate(name, True, 0.0, bound, "no question of this type")
        if not all(is_number(value) for value, _ in values):
            return self._gate(name, False, None, bound, "a figure is not a finite number")
        value, row = max(values, key=lambda pair: pair[0])
        return self._gate(name, value <= bound, value, bound, f"largest at {row['request']}/{row['question']}")

    def count(self, name: str, bad: Callable[[Row], bool], what: str) -> Gate:
        """Number of rows that are bad, none allowed."""
        if self._incomplete():
            return self._gate(name, False, None, 0, self._incomplete())
        found = [f"{row['request']}/{row['question']}" for row in self.rows if bad(row)]
        detail = f"{len(found)} {what}" + (f": {', '.join(found[:3])}" if found else f" of {len(self.rows)}")
        return self._gate(name, not found, len(found), 0, detail)

    def _incomplete(self) -> str:
        if self.expected == 0:
            return "nothing to compare"
        missing = self.expected - len(self.rows)
        return f"{missing} of {self.expected} comparisons are missing" if missing else ""

    def _gate(self, name: str, passed: bool, value: float | int | None, bound: float, detail: str) -> Gate:
        return Gate(name, self.engine, self.against, passed, value, bound, detail)


def _sums_to_one(run: RunRecords, row: Row) -> bool:
    exchange = run.engines[row["engine"]].measured(1).get(row["request"])
    try:
        answer = read_answer(exchange.response if exchange else None, row["question"])
    except UnreadableAnswerError:
        return False
    return abs(math.fsum(answer.probabilities) - 1) <= SUM_TOLERANCE
