"""Right answers: what a protocol's `expected` says of every engine, for profiles whose checkpoint was trained.

Covers: the `accuracy` part of drift.json (every engine and measured pass, the wrong answers by name, McNemar's test
between engines, confidence against being right), and the one figure that stands for a run. Being right repairs no
drift. Profiles that are not `judged` have none of this, as weights made from a seed decide nothing meaningful.
Does not cover: the gate (`kit.campaign.gates`) or labelled questions beside the protocol
(`kit.campaign.generated.summary`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from kit.campaign.answers import UnreadableAnswerError, read_answer
from kit.campaign.generated.exact import mcnemar
from kit.campaign.sensitivity import margin
from kit.evidence.reliability import reliability

if TYPE_CHECKING:
    import pandas as pd

    from kit.campaign.reading import RunRecords

PREFERRED = ("graph", "native", "remote", "reference")  # whose figure stands for a run: what would serve


@dataclass(frozen=True)
class Told:
    """One answer held to the expected one. chosen, margin and confidence are None where nothing readable came."""

    request: str
    question: str
    expected: str
    chosen: str | None
    margin: float | None
    confidence: float | None

    @property
    def right(self) -> bool:
        return self.chosen == self.expected


def accuracy_of(run: RunRecords) -> dict[str, Any] | None:
    """The accuracy part of drift.json; None for a profile that is not judged."""
    if not run.profile.protocol.judged:
        return None
    engines = run.profile.campaign.engines
    first = {engine: answers_of(run, engine, 1) for engine in engines}
    passes = [
        {"engine": engine, "pass": number, **_summary(first[engine] if number == 1 else answers_of(run, engine, number))}
        for engine in engines
        for number in range(1, run.profile.campaign.passes + 1)
    ]
    return {
        "requests": len(run.protocol.cases),
        "questions": sum(len(case.expected) for case in run.protocol.cases),
        "passes": passes,
        "mcnemar": [_compared(engine, against, first) for against, engine in combinations(engines, 2)],
        "reliability": [
            {"engine": engine, **reliability(known)}
            for engine in engines
            if (known := [(item.confidence, item.right) for item in first[engine] if item.confidence is not None])
        ],
    }


def answers_of(run: RunRecords, engine: str, number: int) -> list[Told]:
    """Every expected answer of the protocol beside what an engine chose in a measured pass."""
    records = run.engines.get(engine)
    measured = records.measured(number) if records else {}
    found = []
    for case in run.protocol.cases:
        exchange = measured.get(case.id)
        for question, expected in case.expected.items():
            try:
                answer = read_answer(exchange.response if exchange else None, question)
            except UnreadableAnswerError:
                found.append(Told(case.id, question, expected, None, None, None))
            else:
                lead, most = margin(answer.probabilities), max(answer.probabilities)
                found.append(Told(case.id, question, expected, answer.winner, lead, most))
    return found


def headline(engines: tuple[str, ...], accuracy: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The figure that stands for a run, as verdict.json has it: the first pass of the engine that would serve."""
    if accuracy is None:
        return None
    engine = next(name for name in PREFERRED if name in engines)
    found = next(item for item in accuracy["passes"] if (item["engine"], item["pass"]) == (engine, 1))
    told = {name: found[name] for name in ("engine", "correct", "of", "requests_right")}
    return told | {"requests": accuracy["requests"]}


def passes_frame(accuracy: Mapping[str, Any] | None) -> pd.DataFrame:
    """Right answers by engine and pass; for a run that is not judged a frame that says so."""
    import pandas as pd

    if accuracy is None:
        return pd.DataFrame([{"accuracy": "not judged: this checkpoint was not trained to decide"}])
    rows = [{**item, "wrong": len(item["wrong"]), "requests": accuracy["requests"]} for item in accuracy["passes"]]
    return pd.DataFrame(rows)


def wrong_frame(accuracy: Mapping[str, Any] | None) -> pd.DataFrame:
    """Every wrong answer of the first pass, engine by engine."""
    import pandas as pd

    rows = [
        {"engine": item["engine"], **wrong}
        for item in (accuracy["passes"] if accuracy else ())
        if item["pass"] == 1
        for wrong in item["wrong"]
    ]
    return pd.DataFrame(rows, columns=["engine", "request", "question", "expected", "chosen", "margin"])


def _summary(told: list[Told]) -> dict[str, Any]:
    wrong = [item for item in told if not item.right]
    right_requests = {item.request for item in told} - {item.request for item in wrong}
    return {
        "correct": len(told) - len(wrong),
        "of": len(told),
        "requests_right": len(right_requests),
        "wrong": [
            {"request": item.request, "question": item.question, "expected": item.expected, "chosen": item.chosen, "margin": item.margin}
            for item in wrong
        ],
    }


def _compared(engine: str, against: str, answers: Mapping[str, list[Told]]) -> dict[str, Any]:
    """Right answers an engine lost and won against another; p is None with fewer than six that differ."""
    pairs = [(a.right, b.right) for a, b in zip(answers[against], answers[engine], strict=True)]
    lost, won = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    return {"engine": engine, "against": against, "lost": lost, "won": won, "p": mcnemar(lost, won)}


def facts_of(accuracy: Mapping[str, Any] | None) -> dict[str, object]:
    """Right answers for a verdict cell, engine by engine; nothing for a run that is not judged."""
    first = [item for item in (accuracy["passes"] if accuracy else ()) if item["pass"] == 1]
    return {f"right answers, {item['engine']}": f"{item['correct']} of {item['of']}" for item in first}
