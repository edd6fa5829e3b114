"""From what came back to what each gate saw, in three tiers that never look at one another.

1. bitwise: status, token counts, hidden rows, label logits and the answers themselves, bit for bit.
2. steps: label logits, and those the probabilities imply, at most `Yardstick.steps` from the reference's; an answer
   where a refusal belongs, and the reverse, is infinitely many steps away. rows: the bound of class `faithful` on
   the ratio of errors against the oracle, text and images apart. answers: each is the FP64 softmax of its own
   logits. ops: one by one, see `kit.campaign.planted.local`. inputs: tokens, positions and pixels as the contract
   gives them, since the oracle takes them as given (`kit.campaign.planted.trials`).
3. gates: the bounds on probability, confidence, noul and expected value, the winner, token totals, status and
   shape. lattice. repeats: the same request, the same reply but for its latency. All three read the response JSON
   and nothing else, against the reference's response.

Covers: one trial, a list of asks and what was served. Does not cover: which trial (`trials`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kit.campaign.answers import (
    CONSISTENT,
    Answer,
    UnreadableAnswerError,
    input_tokens,
    read_answer,
    response_problems,
)
from kit.campaign.lattice import lattice
from kit.campaign.oracle_errors import BOUND, errors, noninferiority, ratio
from kit.campaign.planted.site import questions_of
from kit.campaign.sensitivity import changed_steps, fails_a_gate, first_maximum
from kit.contract.answer import softmax
from kit.evidence.floats import bf16_spacing, same_bits
from kit.profile import Gates

if TYPE_CHECKING:
    from kit.campaign.planted.asking import Ask
    from kit.campaign.planted.site import Served
    from kit.campaign.planted.yardstick import Expected, Yardstick
    from kit.engine.base import QuestionResult

CONTENTS = 8  # fewer give a bootstrap nothing to resample
ORACLE = ("rows", "ops", "answers", "inputs")  # what is compared with the oracle
TIERS = {"bits": ("bitwise",), "truth": ("steps", *ORACLE), "http": ("gates", "lattice", "repeats")}
COLUMNS = tuple(column for columns in TIERS.values() for column in columns)


@dataclass
class Column:
    """What one gate saw. count of `of` questions (or of repeats, or ops); worst: its largest figure, where it has one."""

    count: int = 0
    of: int = 0
    worst: float | None = None
    first: str = ""

    @property
    def seen(self) -> bool:
        return self.count > 0

    def add(self, bad: bool, where: str, figure: float | None = None) -> None:
        self.of += 1
        if figure is not None:
            self.worst = figure if self.worst is None else max(self.worst, figure)
        if bad:
            self.count += 1
            self.first = self.first or where


@dataclass
class Findings:
    """What every gate saw in one trial."""

    columns: dict[str, Column] = field(default_factory=lambda: {name: Column() for name in COLUMNS})

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def tier(self, name: str) -> bool:
        return any(self.columns[column].seen for column in TIERS[name])


def judge(yardstick: Yardstick, asks: Sequence[Ask], got: Sequence[Served]) -> Findings:
    """Every gate over one trial, `got` in the order of `asks`."""
    findings = Findings()
    ratios: list[tuple[str, str, float]] = []
    for ask, served in zip(asks, got, strict=True):
        pair = Pair(ask, yardstick[ask.expected], served, yardstick)
        pair.bits(findings["bitwise"])
        pair.steps(findings["steps"])
        pair.answers(findings["answers"])
        pair.gates(findings["gates"])
        pair.lattice(findings["lattice"])
        ratios += pair.ratios()
    _rows(findings["rows"], ratios)
    _repeats(findings["repeats"], asks, got)
    return findings


class Pair:
    """One ask, its right outcome, and what came back."""

    def __init__(self, ask: Ask, expected: Expected, served: Served, yardstick: Yardstick) -> None:
        self.ask, self.expected, self.served, self.yardstick = ask, expected, served, yardstick
        ids = [result.question_id for result in expected.served.questions]
        self.ids = tuple(name for name in ids if not ask.questions or name in ask.questions)
        self.right, self.reply = _document(expected.served), _document(served)
        calibration = yardstick.calibration
        self.temperature = calibration.for_images(expected.modality == "image")
        self.answered = expected.served.status == 200

    def bits(self, column: Column) -> None:
        if not self.answered or self.served.status != self.expected.served.status:
            column.add(self.served.status != self.expected.served.status, self.ask.name)
            return
        for name, ours, theirs in self._raw():
            mine, right = (document.get("answers", {}).get(name) for document in (self.reply, self.right))
            equal = ours is not None and _same_result(ours, theirs) and mine == right
            column.add(not equal, f"{self.ask.name}/{name}")

    def steps(self, column: Column) -> None:
        if not self.answered or self.served.status != self.expected.served.status:
            column.add(self.served.status != self.expected.served.status, self.ask.name)
            return
        bound = self.yardstick.steps[self.expected.modality]
        for name, ours, theirs in self._raw():
            moved = max(_moved(ours, theirs), self._implied(name, theirs))
            column.add(not moved <= bound, f"{self.ask.name}/{name}", moved if math.isfinite(moved) else None)

    def answers(self, column: Column) -> None:
        """The last op: probabilities are the FP64 softmax of the recorded logits, at the modality's temperature."""
        for name, ours, _ in self._raw() if self.served.status == 200 and self.answered else ():
            answer = self._answer(self.reply, name)
            if ours is not None:
                column.add(answer is None or not _is_softmax(answer, ours, self.temperature), f"{self.ask.name}/{name}")

    def gates(self, column: Column) -> None:
        if self.served.status != self.expected.served.status or not self.answered:
            column.add(self.served.status != self.expected.served.status, self.ask.name)
            return
        whole = self._whole_problems()
        for name in self.ids:
            right, mine = self._answer(self.right, name), self._answer(self.reply, name)
            assert right is not None
            bad = bool(whole) or mine is None or _refused(right, mine)
            drift = max(abs(a - b) for a, b in zip(mine.probabilities, right.probabilities, strict=False)) if mine else None
            column.add(bad, f"{self.ask.name}/{name}", drift)

    def lattice(self, column: Column) -> None:
        for name in self.reply.get("answers", {}) if self.served.status == 200 else ():
            answer = self._answer(self.reply, name)
            bad = answer is None or not lattice(answer.probabilities, self.temperature).holds
            column.add(bad, f"{self.ask.name}/{name}")

    def ratios(self) -> Iterator[tuple[str, str, float]]:
        """(modality, content, ratio of errors) of every question whose row was recorded."""
        own = {result.question_id: result for result in self.served.questions}
        for truth, theirs in zip(self.expected.truth, self.expected.errors, strict=True):
            result = own.get(truth.question_id)
            if result is None or len(result.logits) != len(truth.logits):
                continue
            mine = errors(truth, result, self.yardstick.dtype).hidden
            value = ratio(mine, theirs.hidden) if math.isfinite(mine) else math.inf
            yield self.expected.modality, self.expected.content, value

    def _raw(self) -> Iterator[tuple[str, QuestionResult | None, QuestionResult]]:
        own = {result.question_id: result for result in self.served.questions}
        for theirs in questions_of(self.expected.served, self.ids):
            yield theirs.question_id, own.get(theirs.question_id), theirs

    def _implied(self, name: str, theirs: QuestionResult) -> float:
        """Steps between the reference's logits and those the answer's probabilities imply."""
        answer = self._answer(self.reply, name)
        if answer is None or len(answer.probabilities) != len(theirs.logits):
            return math.inf
        tiny = [max(value, 5e-324) for value in answer.probabilities]
        shown = [max(value, 5e-324) for value in softmax(theirs.logits, self.temperature)]
        return _steps_apart(theirs.logits, [math.log(a / b) * self.temperature for a, b in zip(tiny, shown, strict=True)])

    def _answer(self, document: dict[str, Any], name: str) -> Answer | None:
        try:
            return read_answer(document, name)
        except UnreadableAnswerError:
            return None

    def _whole_problems(self) -> list[str]:
        """What is wrong with the response as a whole: shape, question ids, token total."""
        found = response_problems(self.reply)
        if list(self.reply.get("answers", {})) != list(self.ids):
            found.append("question ids or their order differ")
        wanted = input_tokens(self.right) if not self.ask.questions else self._tokens()
        if input_tokens(self.reply) != wanted:
            found.append("another token total")
        return found

    def _tokens(self) -> int:
        return sum(result.tokens for result in questions_of(self.expected.served, self.ids))


def _document(served: Served) -> dict[str, Any]:
    try:
        found = json.loads(served.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _same_result(ours: QuestionResult, theirs: QuestionResult) -> bool:
    return ours.hidden == theirs.hidden and same_bits(ours.logits, theirs.logits) and ours.tokens == theirs.tokens


def _moved(ours: QuestionResult | None, theirs: QuestionResult) -> float:
    if ours is None or len(ours.logits) != len(theirs.logits) or not all(map(math.isfinite, ours.logits)):
        return math.inf
    return changed_steps(theirs.logits, ours.logits)


def _steps_apart(logits: Sequence[float], shifts: Sequence[float]) -> float:
    """`changed_steps` of logits that were each shifted by so much."""
    w = first_maximum(logits)
    return max(
        abs(shift - shifts[w]) / bf16_spacing(max(abs(value), abs(logits[w])))
        for value, shift in zip(logits, shifts, strict=True)
    )


def _is_softmax(answer: Answer, result: QuestionResult, temperature: float) -> bool:
    if len(answer.probabilities) != len(result.logits) or not all(map(math.isfinite, result.logits)):
        return False
    wanted = softmax(result.logits, temperature)
    return all(abs(a - b) <= CONSISTENT for a, b in zip(answer.probabilities, wanted, strict=True))


def _refused(right: Answer, mine: Answer) -> bool:
    """What the gates on one answer say."""
    if mine.type != right.type or mine.candidates != right.candidates or mine.problems():
        return True
    return fails_a_gate(right.probabilities, mine.probabilities, right.type, Gates())


def _rows(column: Column, ratios: Sequence[tuple[str, str, float]]) -> None:
    """The bound of class faithful, text and images apart, where there are contents enough to resample."""
    for modality in ("text", "image"):
        own = [(content, value) for found, content, value in ratios if found == modality]
        if len({content for content, _ in own}) < CONTENTS:
            continue
        finite = all(math.isfinite(value) for _, value in own)
        upper = noninferiority([v for _, v in own], [c for c, _ in own]).upper if finite else math.inf
        column.add(not upper <= BOUND, modality, upper if finite else None)


def _repeats(column: Column, asks: Sequence[Ask], got: Sequence[Served]) -> None:
    """The same body answered twice: equal but for the latency."""
    first: dict[bytes, str] = {}
    for ask, served in zip(asks, got, strict=True):
        shown = _without_latency(served)
        if ask.body in first:
            column.add(shown != first[ask.body], ask.name)
        first.setdefault(ask.body, shown)


def _without_latency(served: Served) -> str:
    document = _document(served)
    if isinstance(document.get("usage"), dict):
        document["usage"].pop("latency_ms", None)
    return f"{served.status} {json.dumps(document)}"
