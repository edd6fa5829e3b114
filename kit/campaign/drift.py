"""How far each engine's answers are from the reference's: one row a question, figures only.

Covers: every engine under test against the fresh reference (its first measured pass) and every engine against
the answers frozen with the protocol; drift of probabilities, confidence, noul and expected score; drift in
BF16 steps and the smallest step a gate would see; equality of hidden rows and logits; the lattice.
A question that cannot be compared has no row and is named under "missing". For a judged profile the right answers go
with them (`kit.campaign.accuracy`). Does not cover: gates (`kit.campaign.gates`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.campaign.accuracy import accuracy_of
from kit.campaign.answers import (
    CONSISTENT,
    Answer,
    UnreadableAnswerError,
    input_tokens,
    read_answer,
    response_problems,
)
from kit.campaign.lattice import Lattice, lattice
from kit.campaign.reading import Exchange, QuestionRecord, RunRecords, is_number, read_run
from kit.campaign.sensitivity import ROOM_STEPS, changed_steps, detectable, margin, steps_from_answer
from kit.contract.answer import softmax

FORMAT = "kit-drift/1"
WORST = ("probability_drift", "confidence_drift", "noul_drift", "expected_drift", "max_steps")


@dataclass(frozen=True)
class Side:
    """One side of a comparison: an answer, the response it came in, and the raw record where there is one.

    temperature: what the worker says it divided the logits by; None where nothing is recorded.
    """

    answer: Answer
    response: Mapping[str, Any]
    record: QuestionRecord | None = None
    temperature: float | None = None


def compute_drift(run_dir: str | Path) -> dict[str, Any]:
    """drift.json of a run folder, from its records. Raises RecordsError where they contradict themselves."""
    return drift_of(read_run(run_dir))


def drift_of(run: RunRecords) -> dict[str, Any]:
    """drift.json of records already read."""
    rows: list[dict[str, Any]] = []
    missing: list[dict[str, str]] = []
    for engine, against in comparisons(run):
        for case in run.protocol.cases:
            for question in question_ids(case.body):
                where = {"engine": engine, "against": against, "request": case.id, "question": question}
                try:
                    candidate = _measured_side(run, engine, case.id, question)
                    reference = (
                        _measured_side(run, run.profile.campaign.reference, case.id, question)
                        if against == "fresh"
                        else _frozen_side(run, case.id, question)
                    )
                    comparison = _compare(run, case.modality, reference, candidate)
                except UnreadableAnswerError as error:
                    missing.append({**where, "reason": str(error)})
                else:
                    rows.append({**where, **comparison})
    drift: dict[str, Any] = {"format": FORMAT, "rows": rows, "worst": _worst(run, rows)}
    if missing:
        drift["missing"] = missing
    judged = accuracy_of(run)
    return drift if judged is None else drift | {"accuracy": judged}


def comparisons(run: RunRecords) -> list[tuple[str, str]]:
    """(engine, against) in order: what this profile and protocol allow to be compared."""
    reference = run.profile.campaign.reference
    pairs: list[tuple[str, str]] = []
    for engine in run.profile.campaign.engines:
        if reference and engine != reference:
            pairs.append((engine, "fresh"))
        if run.protocol.frozen is not None and run.profile.protocol.frozen:
            pairs.append((engine, "frozen"))
    return pairs


def question_ids(body: bytes) -> list[str]:
    """Ids of the questions of a corpus request, in order."""
    return list(json.loads(body)["questions"])


def _measured_side(run: RunRecords, engine: str, request: str, question: str) -> Side:
    records = run.engines.get(engine)
    exchange = records.measured(1).get(request) if records else None
    if exchange is None or exchange.response is None:
        raise UnreadableAnswerError(f"{engine} left no answer in its first measured pass")
    try:
        answer = read_answer(exchange.response, question)
    except UnreadableAnswerError as error:
        raise UnreadableAnswerError(f"{engine}: {error}") from error
    record = _record(exchange, question, engine)
    return Side(answer, exchange.response, record, (exchange.post or {}).get("temperature") if record else None)


def _record(exchange: Exchange, question: str, engine: str) -> QuestionRecord | None:
    if engine == "remote":
        return None  # a remote server is judged on its probabilities
    record = exchange.questions.get(question)
    if record is None:
        raise UnreadableAnswerError(f"{engine}: the worker recorded no logits")
    if not all(math.isfinite(value) for value in record.logits):
        raise UnreadableAnswerError(f"{engine}: a label logit is not a finite number")
    return record


def _frozen_side(run: RunRecords, request: str, question: str) -> Side:
    response = (run.protocol.frozen or {}).get(request)
    try:
        return Side(read_answer(response, question), response or {})
    except UnreadableAnswerError as error:
        raise UnreadableAnswerError(f"frozen answers: {error}") from error


def _compare(run: RunRecords, modality: str, reference: Side, candidate: Side) -> dict[str, Any]:
    mine, theirs = candidate.answer, reference.answer
    if mine.candidates != theirs.candidates or mine.type != theirs.type:
        raise UnreadableAnswerError("the two answers are about different candidates or of different types")
    temperature = run.temperatures.get(modality, math.nan)
    grid = lattice(mine.probabilities, temperature)
    return {
        "type": theirs.type,
        "modality": modality,
        "reference_winner": theirs.winner,
        "winner": mine.winner,
        "reference_margin": margin(theirs.probabilities),
        "probability_drift": max(abs(a - b) for a, b in zip(mine.probabilities, theirs.probabilities, strict=True)),
        "confidence_drift": abs(mine.confidence - theirs.confidence),
        "noul_drift": _difference(mine.noul, theirs.noul),
        "expected_drift": _difference(mine.expected_value, theirs.expected_value),
        "winner_same": mine.winner == theirs.winner,
        "tokens_same": _same_tokens(reference, candidate),
        "shape_same": not shape_problems(reference, candidate),
        **_raw_comparison(run, temperature, reference, candidate),
        "lattice": lattice_json(grid),
    }


def _raw_comparison(run: RunRecords, temperature: float, reference: Side, candidate: Side) -> dict[str, Any]:
    """Bits and steps, where both sides' raw logits are recorded; detectable shift where the reference's are."""
    result: dict[str, Any] = dict.fromkeys(
        ("hidden_equal", "logits_equal", "max_steps", "detectable_steps", "detectable_logit")
    )
    ours, theirs = candidate.record, reference.record
    if theirs is None:
        return result | _against_answer(run, temperature, reference.answer, ours)
    if math.isfinite(temperature):
        seen = detectable(theirs.logits, temperature, reference.answer.type, run.profile.gates)
        result |= {"detectable_steps": seen.steps, "detectable_logit": seen.logit}
    if ours is None:
        return result
    if len(ours.logits) != len(theirs.logits):
        raise UnreadableAnswerError("the two sides recorded different numbers of logits")
    return result | {
        "hidden_equal": bool(ours.hidden) and ours.hidden == theirs.hidden,
        # Compared as numbers with their sign of zero: -0.0 and 0.0 are different bits.
        "logits_equal": _bits(ours.logits) == _bits(theirs.logits),
        "max_steps": changed_steps(theirs.logits, ours.logits),
    }


def _against_answer(run: RunRecords, temperature: float, answer: Answer, ours: QuestionRecord | None) -> dict[str, Any]:
    """Steps against an answer without recorded logits, where the profile judges frozen answers in steps.

    room: whether the bounds of the field are asked of this question (see ROOM_STEPS).
    """
    if not run.profile.protocol.frozen_steps or ours is None or not (math.isfinite(temperature) and temperature > 0):
        return {}
    if len(ours.logits) != len(answer.probabilities):
        raise UnreadableAnswerError("the two sides have different numbers of candidates")
    seen = detectable(ours.logits, temperature, answer.type, run.profile.gates)
    steps = steps_from_answer(answer.probabilities, ours.logits, temperature)
    room = seen.steps is None or seen.steps > ROOM_STEPS
    return {"max_steps": steps, "detectable_steps": seen.steps, "detectable_logit": seen.logit, "room": room}


def _bits(values: tuple[float, ...]) -> list[tuple[float, float]]:
    return [(value, math.copysign(1.0, value)) for value in values]


def _same_tokens(reference: Side, candidate: Side) -> bool:
    total = input_tokens(candidate.response)
    if total is None or total != input_tokens(reference.response):
        return False
    if reference.record is None or candidate.record is None:
        return True
    return reference.record.tokens == candidate.record.tokens


def shape_problems(reference: Side, candidate: Side) -> list[str]:
    """What makes the candidate's response another shape than the reference's, or contradict itself."""
    found = response_problems(candidate.response) + candidate.answer.problems()
    if list(candidate.response["answers"]) != list(reference.response["answers"]):
        found.append("question ids or their order differ")
    if candidate.answer.keys != reference.answer.keys:
        found.append("the answer has other keys")
    if candidate.record is not None:
        found += logits_problems(candidate.answer, candidate.record, candidate.temperature)
    return found


def logits_problems(answer: Answer, record: QuestionRecord, temperature: Any) -> list[str]:
    """Empty if the probabilities are the softmax of the recorded logits to 1e-12, else what is wrong."""
    if record.candidates != answer.candidates or len(record.logits) != len(answer.candidates):
        return ["the recorded candidates are not the answer's"]
    if not (is_number(temperature) and temperature > 0):
        return [f"the worker recorded temperature {temperature}"]
    expected = softmax(record.logits, temperature)
    worst = max(abs(p - q) for p, q in zip(answer.probabilities, expected, strict=True))
    return [] if worst <= CONSISTENT else [f"probabilities are {worst:.3g} off the softmax of the recorded logits"]


def lattice_json(grid: Lattice) -> dict[str, Any]:
    """A lattice as drift.json has it."""
    return {"holds": grid.holds, "exponent": grid.exponent}


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else abs(a - b)


def _worst(run: RunRecords, rows: list[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    worst: dict[str, dict[str, float | None]] = {}
    for engine, against in comparisons(run):
        mine = [row for row in rows if (row["engine"], row["against"]) == (engine, against)]
        worst[f"{engine}/{against}"] = {key: max(_present(mine, key), default=None) for key in WORST}
    return worst


def _present(rows: list[dict[str, Any]], key: str) -> Iterator[float]:
    return (row[key] for row in rows if row[key] is not None)
