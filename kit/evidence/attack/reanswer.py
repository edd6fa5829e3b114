"""Answers of an engine made again from the logits its record now has, for deeds that edited those.

Covers: every response body under its new digest, in the client's record and the worker's. Does not cover: what follows
from answers (`refigure`), which the re-sealer puts right.
"""

from __future__ import annotations

from typing import Any

from kit.evidence.attack.suspect import Document, Suspect, compact
from kit.evidence.audit.numbers import expectation, floats, softmax


def answers_from_logits(suspect: Suspect, engine: str) -> None:
    """Answer every request of an engine again, from the logits its record now has."""
    posts: dict[Any, Document] = {}
    found: dict[Any, list[Document]] = {}
    for line in suspect.lines(suspect.worker(engine))[1:]:
        if line["kind"] == "post":
            posts[line["sequence"]] = line
        elif line["kind"] == "question":
            found.setdefault(line["sequence"], []).append(line)
    exchanges = suspect.lines(suspect.exchanges(engine))
    told: dict[Any, str] = {}
    for exchange in exchanges[1:]:
        if exchange["status"] == 200:
            sequence = exchange["sequence"]
            response = json_body(suspect, exchange["response_sha256"])
            for question in found[sequence]:
                answer(response["answers"][question["question"]], question, posts[sequence]["temperature"])
            told[sequence] = exchange["response_sha256"] = suspect.store("bodies", compact(response))
    suspect.write(suspect.exchanges(engine), b"".join(compact(line) + b"\n" for line in exchanges))

    def tell(lines: list[Document]) -> None:
        for line in lines[1:]:
            if line["kind"] == "post" and line["sequence"] in told:
                line["response_sha256"] = told[line["sequence"]]

    suspect.edit_worker(engine, tell)


def json_body(suspect: Suspect, digest: str) -> Any:
    return suspect.json(f"records/bodies/{digest}")


def answer(document: Document, question: Document, temperature: float) -> None:
    """An answer as its logits give it."""
    p = softmax(floats(question["logits"]), temperature)
    settle(document, dict(zip(question["candidates"], p, strict=True)))


def settle(document: Document, probabilities: dict[str, float]) -> None:
    """An answer around given probabilities: everything else in it follows from them."""
    document["probabilities"] = probabilities
    p = list(probabilities.values())
    document["confidence"] = max(p)
    if document["type"] == "choice":
        document["choice"] = next(name for name, value in probabilities.items() if value == max(p))
    elif document["type"] == "noul":
        document["noul"] = p[0]
    else:
        document["expected_value"] = expectation(p)
