"""From label logits to the answer a client reads.

Covers: the temperature, a float64 softmax, the fields of each question type in their order, the response.
`math.exp` and `math.fsum` are used on purpose: the offline audit recomputes answers with the same two
functions, and numpy's differ from them in the last bit.
Does not cover: where logits come from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.contract.prompt import Question


class AnswerError(RuntimeError):
    """Logits or a temperature no answer can be made of: an execution failure, not a refused request."""


@dataclass(frozen=True)
class Calibration:
    """Temperatures of text and image requests; the threshold is provenance and gates nothing."""

    temperature: float
    mm_temperature: float
    threshold: float | None = None

    def for_images(self, has_images: bool) -> float:
        return self.mm_temperature if has_images else self.temperature


def softmax(logits: Sequence[float], temperature: float) -> list[float]:
    """Probabilities of `logits / temperature` in float64, the maximum subtracted first.

    Raises AnswerError for an empty or non-finite set or a temperature that is not positive and finite.
    """
    if not logits or not all(math.isfinite(x) for x in logits):
        raise AnswerError(
            f"{sum(not math.isfinite(x) for x in logits)} of {len(logits)} label logits are not finite"
        )
    if not 0 < temperature < math.inf:
        raise AnswerError(f"temperature is {temperature}; expected a positive number")
    top = max(logits)
    weights = [math.exp((x - top) / temperature) for x in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def answer(question: Question, logits: Sequence[float], temperature: float) -> dict[str, Any]:
    """The answer object of one question, keys in the official order; the first maximum wins a tie.

    choice: `choice`, the winner's id. noul: `noul`, the probability of yes. score: `expected_value`, the sum
    of level times probability. All: `probabilities` in candidate order and `confidence`, the largest of them.

    Raises AnswerError when there are not as many logits as candidates.
    """
    if len(logits) != len(question.candidates):
        raise AnswerError(
            f"question {question.id!r}: {len(logits)} logits for {len(question.candidates)} candidates"
        )
    p = softmax(logits, temperature)
    ids = [candidate.id for candidate in question.candidates]
    probabilities, confidence = dict(zip(ids, p, strict=True)), max(p)
    if question.type == "noul":
        return {"type": "noul", "noul": p[0], "probabilities": probabilities, "confidence": confidence}
    if question.type == "score":
        expected = math.fsum(level * value for level, value in enumerate(p))
        return {
            "type": "score",
            "probabilities": probabilities,
            "confidence": confidence,
            "expected_value": expected,
        }
    choice = ids[p.index(confidence)]
    return {"type": "choice", "choice": choice, "probabilities": probabilities, "confidence": confidence}


def response(
    model: str, answers: Mapping[str, Mapping[str, Any]], input_tokens: int, latency_ms: float
) -> dict[str, Any]:
    """The response document: questions in request order; nothing is generated, so no output tokens."""
    return {
        "model": model,
        "answers": dict(answers),
        "usage": {"input_tokens": input_tokens, "output_tokens": 0, "latency_ms": latency_ms},
    }


def response_bytes(
    model: str, answers: Mapping[str, Mapping[str, Any]], input_tokens: int, latency_ms: float
) -> bytes:
    """`response` as compact UTF-8 JSON."""
    document = response(model, answers, input_tokens, latency_ms)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
