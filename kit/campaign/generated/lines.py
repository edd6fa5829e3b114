"""records/generated.jsonl: one line a question, with the raw outcome of both sides and the errors against the oracle.

Covers: format kit-generated/1, writing whole and reading back. Logits are hex of little-endian float32 (the oracle's
of float64), hidden rows are named by their SHA-256: rows of thousands of questions are not kept, so of the oracle's
two figures that of the logits can be computed again and that of the row is the session's word.
Does not cover: figures over all lines (`kit.campaign.generated.summary`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.generated.source import generator_of
from kit.campaign.prompts import content_of
from kit.campaign.reading import read_lines
from kit.evidence.floats import decode_float32, decode_float64, float32_hex, float64_hex
from kit.evidence.records import sha256_bytes, write_atomic

if TYPE_CHECKING:
    from kit.campaign.protocol import Case
    from kit.engine.base import QuestionResult
    from kit.profile import Generated

FORMAT = "kit-generated/1"
FILE = "records/generated.jsonl"


@dataclass(frozen=True)
class Truth:
    """The oracle on one question: its logits, and how far each side's hidden row is from its own, relative L2."""

    logits: tuple[float, ...]
    reference: float
    candidate: float


@dataclass(frozen=True)
class Line:
    """One question, decoded. sha256: of the request's body. expected: index of the right candidate, None where none is known."""

    request: str
    sha256: str
    modality: str
    content: str
    type: str
    tokens: int
    expected: int | None
    reference: tuple[float, ...]
    candidate: tuple[float, ...]
    hidden_same: bool
    truth: Truth | None


def candidate_of(engines: Sequence[str]) -> str:
    """The engine that stands for the candidates: the graph engine where it runs, as that is what would serve."""
    return "graph" if "graph" in engines else "native"


def line(case: Case, reference: QuestionResult, candidate: QuestionResult, truth: Truth | None) -> dict[str, Any]:
    """The line of one request, which asks one question."""
    (question,) = case.questions
    ids = [item.id for item in question.candidates]
    return {
        "request": case.id,
        "modality": case.modality,
        "content": content_of(case),
        "request_sha256": sha256_bytes(case.body),
        "question": question.id,
        "type": question.type,
        "candidates": ids,
        "expected": case.expected.get(question.id),
        "tokens": reference.tokens,
        "reference": _side(reference),
        "candidate": _side(candidate) | {"action": candidate.event.action},
        "oracle": None if truth is None else {
            "logits": float64_hex(truth.logits),
            "reference": truth.reference,
            "candidate": truth.candidate,
        },
    }  # fmt: skip


def write(file: Path, wanted: Generated, candidate: str, lines: Iterable[Mapping[str, Any]]) -> None:
    """The whole file at once, so that a stage that was killed leaves none. wanted: what the profile declares."""
    header = {"format": FORMAT, "generator": generator_of(wanted), "seed": wanted.seed, "candidate": candidate}
    encoded = (json.dumps(item, ensure_ascii=False, separators=(",", ":"), allow_nan=False) for item in (header, *lines))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, "".join(f"{text}\n" for text in encoded).encode())


def read(file: Path) -> list[Line]:
    """All lines, decoded. Raises RecordsError for a file that is not this format."""
    return [decoded(item) for item in read_lines(file, FORMAT)]


def decoded(item: Mapping[str, Any]) -> Line:
    """One line as data."""
    candidates, expected, oracle = item["candidates"], item["expected"], item["oracle"]
    return Line(
        item["request"],
        item["request_sha256"],
        item["modality"],
        item["content"],
        item["type"],
        item["tokens"],
        None if expected is None else candidates.index(expected),
        decode_float32(item["reference"]["logits"]),
        decode_float32(item["candidate"]["logits"]),
        item["reference"]["hidden"] == item["candidate"]["hidden"],
        None if oracle is None else Truth(decode_float64(oracle["logits"]), oracle["reference"], oracle["candidate"]),
    )


def _side(result: QuestionResult) -> dict[str, Any]:
    return {"logits": float32_hex(result.logits), "hidden": sha256_bytes(result.hidden)}
