"""Two bundles' answers to the same questions, engine by engine: bits, steps, probabilities, decisions.

Covers: the frozen requests (first measured pass) and, where both have them, the generated questions, matched by the
SHA-256 of the request's bytes, so that a question is compared only with itself; differing bits of hidden rows and
label logits, logit differences in BF16 steps of A, drift of every figure an answer has, and which fixed gates B would
fail if A were its reference. What cannot be compared is named. Does not cover: noise (`kit.campaign.diff.noise`).
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kit.campaign.answers import UnreadableAnswerError, mean, read_answer
from kit.campaign.diff.evidence import Evidence
from kit.campaign.reading import Exchange
from kit.campaign.sensitivity import SLACK, changed_steps, first_maximum, margin
from kit.contract.answer import AnswerError, softmax
from kit.evidence.floats import decode_float32, float32_bytes
from kit.evidence.records import read_jsonl
from kit.profile import Gates

FROZEN, GENERATED = "frozen", "generated"
GENERATED_FILE, GENERATED_FORMAT = "records/generated.jsonl", "kit-generated/1"
GATES = Gates()
ITEM = {"bfloat16": "H", "float32": "f", "float64": "d"}  # array type codes; BF16 is the upper half of float32

Place = tuple[str, str, str, str]  # questions, engine, request id, question id


@dataclass(frozen=True)
class Answered:
    """One side of a comparison. logits and hidden (the digest of a row) are None where only an answer is known."""

    sha256: str
    modality: str
    type: str
    candidates: tuple[str, ...]
    probabilities: tuple[float, ...]
    tokens: int | None
    logits: tuple[float, ...] | None
    hidden: str | None

    @property
    def winner(self) -> str:
        return self.candidates[first_maximum(self.probabilities)]


@dataclass(frozen=True)
class Comparison:
    """One row a question that both sides answered. lost: asked of both, answered by one. unmatched: not the same question.

    engines: those both bundles have; only_in: "a" or "b" -> the others.
    """

    rows: list[dict[str, Any]]
    lost: list[dict[str, str]]
    unmatched: list[dict[str, str]]
    engines: tuple[str, ...]
    only_in: Mapping[str, tuple[str, ...]]


def compare_answers(a: Evidence, b: Evidence) -> Comparison:
    """Compare every engine that both bundles have, on every question that both asked it."""
    ours, theirs = dict(answers_of(a)), dict(answers_of(b))
    shared = tuple(engine for engine in a.engines if engine in b.engines)
    only = {side: tuple(e for e in mine.engines if e not in shared) for side, mine in (("a", a), ("b", b))}
    found = Comparison([], [], [], shared, only)
    asked = {"A": set(_asked(a)), "B": set(_asked(b))}
    for place in [*ours, *(place for place in theirs if place not in ours)]:
        if place[1] not in shared:
            continue
        where = dict(zip(("questions", "engine", "request", "question"), place, strict=True))
        one, other = ours.get(place), theirs.get(place)
        if one is None or other is None:
            side = "A" if one is None else "B"
            gone = place[:3] in asked[side]
            reason = f"not answered in {side}" if gone else f"not asked in {side}"
            (found.lost if gone else found.unmatched).append({**where, "reason": reason})
        elif one.sha256 != other.sha256 or (one.type, one.candidates) != (other.type, other.candidates):
            found.unmatched.append({**where, "reason": "the two requests are not the same"})
        else:
            found.rows.append({**where, **compare(a, b, one, other)})
    return found


def _asked(bundle: Evidence) -> Iterator[tuple[str, str, str]]:
    """Every frozen request an engine was sent, answered or not."""
    for engine, records in bundle.engines.items():
        yield from ((FROZEN, engine, exchange.request_id) for exchange in records.exchanges if exchange.phase == "measured")


# ---------------------------------------------------------------- one side


def answers_of(bundle: Evidence) -> Iterator[tuple[Place, Answered]]:
    """Every readable answer of a bundle, by where it stands."""
    for engine, records in bundle.engines.items():
        for request, exchange in records.measured(1).items():
            for question in (exchange.response or {}).get("answers", {}):
                answered = _frozen(exchange, question)
                if answered is not None:
                    yield (FROZEN, engine, request, question), answered
    yield from _generated(bundle)


def _frozen(exchange: Exchange, question: str) -> Answered | None:
    try:
        answer = read_answer(exchange.response, question)
    except UnreadableAnswerError:
        return None
    record = exchange.questions.get(question)
    return Answered(
        exchange.request_sha256,
        exchange.modality,
        answer.type,
        answer.candidates,
        answer.probabilities,
        record.tokens if record else None,
        record.logits if record else None,
        (record.hidden or None) if record else None,
    )


def _generated(bundle: Evidence) -> Iterator[tuple[Place, Answered]]:
    """Generated questions: their lines hold both sides' logits, so their answers are computed here."""
    file = bundle.folder / GENERATED_FILE
    header, lines = read_jsonl(file, GENERATED_FORMAT) if file.is_file() else ({}, [])
    for line in lines:
        for side, engine in (("reference", "reference"), ("candidate", header["candidate"])):
            logits = decode_float32(line[side]["logits"])
            try:
                probabilities = softmax(logits, bundle.temperatures[line["modality"]])
            except (AnswerError, LookupError):
                continue  # no temperature, or logits that are not finite: no answer either
            yield (GENERATED, engine, line["request"], line["question"]), Answered(
                line["request_sha256"], line["modality"], line["type"], tuple(line["candidates"]), tuple(probabilities),
                line["tokens"], logits, line[side]["hidden"],
            )  # fmt: skip


# ---------------------------------------------------------------- one question


def compare(a: Evidence, b: Evidence, one: Answered, other: Answered) -> dict[str, Any]:
    """The row of one question: A is what B is measured against."""
    drift = _drift(one, other)
    flipped = one.winner != other.winner
    gates = [*_gates(one, drift, flipped), *(["tokens"] if one.tokens != other.tokens else [])]
    return {
        "type": one.type,
        "modality": one.modality,
        **_raw(a, b, one, other),
        **drift,
        "winner_a": one.winner,
        "winner_b": other.winner,
        "margin_a": margin(one.probabilities),
        "flipped": flipped,
        "beyond_gates": gates,
    }


def _drift(one: Answered, other: Answered) -> dict[str, float | None]:
    p, q = one.probabilities, other.probabilities
    return {
        "probability_drift": max(abs(x - y) for x, y in zip(p, q, strict=True)),
        "confidence_drift": abs(max(p) - max(q)),
        "noul_drift": abs(p[0] - q[0]) if one.type == "noul" else None,
        "expected_drift": abs(mean(p) - mean(q)) if one.type == "score" else None,
    }


def _gates(one: Answered, drift: Mapping[str, float | None], flipped: bool) -> Iterator[str]:
    """The fixed gates that B would fail if A were its reference."""
    bounds = {
        "probability_drift": GATES.probability, "confidence_drift": GATES.confidence, "noul_drift": GATES.noul,
        "expected_drift": GATES.expected_value,
    }  # fmt: skip
    for name, bound in bounds.items():
        value = drift[name]
        if value is not None and value > bound + SLACK:
            yield name.removesuffix("_drift")
    if flipped and margin(one.probabilities) >= GATES.winner_margin - SLACK:
        yield "winner"


def _raw(a: Evidence, b: Evidence, one: Answered, other: Answered) -> dict[str, Any]:
    """Bits and steps; None where one side recorded no logits or no row. hidden_rms: relative to A's row."""
    found: dict[str, Any] = dict.fromkeys(("hidden_same", "hidden_bits", "hidden_rms", "logit_bits", "steps"))
    if one.logits is not None and other.logits is not None and len(one.logits) == len(other.logits):
        found["logit_bits"] = differing_bits(float32_bytes(one.logits), float32_bytes(other.logits))
        found["steps"] = changed_steps(one.logits, other.logits)
    if one.hidden is None or other.hidden is None:
        return found
    found["hidden_same"] = one.hidden == other.hidden
    if one.hidden == other.hidden:
        return found | {"hidden_bits": 0, "hidden_rms": 0.0}
    ours, theirs = a.row(one.hidden), b.row(other.hidden)
    if ours is None or theirs is None or len(ours) != len(theirs) or a.dtype != b.dtype:
        return found  # rows of generated questions are not kept: that they differ is all that is known
    return found | {"hidden_bits": differing_bits(ours, theirs), "hidden_rms": relative_rms(ours, theirs, a.dtype)}


def differing_bits(one: bytes, other: bytes) -> int:
    """How many bits differ between two byte strings of one length."""
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).bit_count()


@lru_cache(maxsize=4096)
def relative_rms(one: bytes, other: bytes, dtype: str) -> float | None:
    """|other - one| / |one|, root mean squares; None for a dtype nobody knows, or where `one` is zero."""
    if dtype not in ITEM:
        return None
    x, y = _values(one, dtype), _values(other, dtype)
    size = math.fsum(v * v for v in x)
    return math.sqrt(math.fsum((w - v) ** 2 for v, w in zip(x, y, strict=True)) / size) if size else None


def _values(row: bytes, dtype: str) -> Sequence[float]:
    if dtype != "bfloat16":
        return array(ITEM[dtype], row)
    upper = array("H", row)
    return array("f", b"".join(struct.pack("<HH", 0, value) for value in upper))
