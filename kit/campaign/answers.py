"""One question's answer as read from a response body, and whether it agrees with itself.

Covers: decoding an answer object from anybody's server without trusting it. Does not cover: making answers
(`kit.contract.answer`) or comparing two of them (`kit.campaign.drift`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.campaign.reading import is_number
from kit.campaign.sensitivity import first_maximum

CONSISTENT = 1e-12  # an answer's own figures, and its probabilities against recorded logits
EXTRA_KEY = {"choice": "choice", "noul": "noul", "score": "expected_value"}
USAGE_KEYS = {"input_tokens", "output_tokens", "latency_ms"}


class UnreadableAnswerError(ValueError):
    """The response holds no usable answer to this question; the message says what is wrong with it."""


@dataclass(frozen=True)
class Answer:
    """type, candidate ids and probabilities in the order given, and the figures beside them."""

    type: str
    candidates: tuple[str, ...]
    probabilities: tuple[float, ...]
    confidence: float
    noul: float | None
    expected_value: float | None
    choice: str | None
    keys: frozenset[str]

    @property
    def winner(self) -> str:
        """The candidate of the first largest probability."""
        return self.candidates[first_maximum(self.probabilities)]

    def problems(self) -> list[str]:
        """What in the answer contradicts the rest of it; empty for a sound answer."""
        found = []
        if self.keys != {"type", "probabilities", "confidence", EXTRA_KEY[self.type]}:
            found.append(f"keys {sorted(self.keys)}")
        if abs(self.confidence - max(self.probabilities)) > CONSISTENT:
            found.append(f"confidence {self.confidence} is not the largest probability")
        if self.type == "choice" and self.choice != self.winner:
            found.append(f"choice {self.choice!r}, the largest probability is {self.winner!r}'s")
        if self.type == "noul" and not _close(self.noul, self.probabilities[0]):
            found.append(f"noul {self.noul} is not p(yes)")
        if self.type == "score" and not _close(self.expected_value, mean(self.probabilities)):
            found.append(f"expected_value {self.expected_value} is not the mean of the scores")
        return found


def read_answer(response: Mapping[str, Any] | None, question: str) -> Answer:
    """The answer to one question. Raises UnreadableAnswerError unless every figure in it is a finite number."""
    answers = (response or {}).get("answers")
    raw = answers.get(question) if isinstance(answers, dict) else None
    if not isinstance(raw, dict):
        raise UnreadableAnswerError("no answer")
    if raw.get("type") not in EXTRA_KEY:
        raise UnreadableAnswerError(f"type {raw.get('type')!r}")
    probabilities = raw.get("probabilities")
    if not isinstance(probabilities, dict) or len(probabilities) < 2:
        raise UnreadableAnswerError("fewer than two probabilities")
    figures = [*probabilities.values(), raw.get("confidence")]
    figures += [raw[key] for key in ("noul", "expected_value") if key in raw]
    if not all(is_number(value) for value in figures):
        raise UnreadableAnswerError("a figure is not a finite number")
    return Answer(
        raw["type"],
        tuple(probabilities),
        tuple(float(value) for value in probabilities.values()),
        float(raw["confidence"]),
        raw.get("noul"),
        raw.get("expected_value"),
        raw.get("choice"),
        frozenset(raw),
    )


def input_tokens(response: Mapping[str, Any] | None) -> int | None:
    """The token total a response reports, None if it has none."""
    usage = (response or {}).get("usage")
    value = usage.get("input_tokens") if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def response_problems(response: Mapping[str, Any]) -> list[str]:
    """What is wrong with a response around its answers: top-level keys, usage keys, latency."""
    found = []
    if set(response) != {"model", "answers", "usage"}:
        found.append(f"keys {sorted(response)}")
    usage = response.get("usage")
    if not isinstance(usage, dict) or set(usage) != USAGE_KEYS:
        return [*found, "usage must hold input_tokens, output_tokens and latency_ms"]
    if usage["output_tokens"] != 0:
        found.append(f"output_tokens {usage['output_tokens']}, a decision generates none")
    if not (is_number(usage["latency_ms"]) and usage["latency_ms"] > 0):
        found.append(f"latency_ms {usage['latency_ms']}")
    return found


def mean(probabilities: Sequence[float]) -> float:
    """Expected score: the sum of index times probability."""
    return math.fsum(i * p for i, p in enumerate(probabilities))


def _close(found: float | None, expected: float) -> bool:
    return found is not None and abs(found - expected) <= CONSISTENT * max(1.0, abs(expected))
