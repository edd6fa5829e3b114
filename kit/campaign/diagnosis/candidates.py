"""What a candidate answered, as probabilities by question: from a run's records, a file, or a server asked now.

Covers: reading any of the three without trusting it. An answer that is missing or unusable is left out and named.
Does not cover: sending requests as a campaign does, with passes, refusals and records (`kit.campaign.runner`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.answers import UnreadableAnswerError, read_answer
from kit.contract import strict_json
from kit.contract.errors import ContractError

if TYPE_CHECKING:
    from kit.campaign.protocol import Case
    from kit.campaign.reading import RunRecords
    from kit.profile import Profile


class AnswersError(ValueError):
    """There is nothing to diagnose; the message says what was expected."""


@dataclass(frozen=True)
class Candidate:
    """One side's answers. probabilities: by (request, question), in the order the question has its candidates.

    missing: `request/question: reason` of every answer that cannot be used.
    """

    name: str
    probabilities: Mapping[tuple[str, str], tuple[float, ...]]
    missing: tuple[str, ...] = ()


def of_responses(
    name: str,
    cases: Iterable[Case],
    responses: Mapping[str, Mapping[str, Any] | None],
    reasons: Mapping[str, str] | None = None,
) -> Candidate:
    """Answers out of responses by request id. reasons: why a request has none. Raises AnswersError without any."""
    found: dict[tuple[str, str], tuple[float, ...]] = {}
    missing = []
    for case in cases:
        for question in case.questions:
            try:
                answer = read_answer(responses.get(case.id), question.id)
                by_id = dict(zip(answer.candidates, answer.probabilities, strict=True))
                found[case.id, question.id] = tuple(by_id[candidate.id] for candidate in question.candidates)
            except UnreadableAnswerError as error:
                missing.append(f"{case.id}/{question.id}: {(reasons or {}).get(case.id) or error}")
            except KeyError as error:
                missing.append(f"{case.id}/{question.id}: no probability for {error}")
    if not found:
        raise AnswersError(f"{name}: no usable answer to any of these requests; first: {missing[0] if missing else 'none asked'}")
    return Candidate(name, found, tuple(missing))


def of_run(run: RunRecords, engines: Sequence[str] | None = None) -> Iterator[Candidate]:
    """Each engine's first measured pass; all engines but the reference unless some are named."""
    candidates = [name for name in run.engines if name != run.profile.campaign.reference]
    for name in candidates if engines is None else engines:
        if name not in run.engines:
            raise AnswersError(f"run {run.path.name} has no records of {name!r}; it has {', '.join(run.engines) or 'none'}")
        responses = {request: exchange.response for request, exchange in run.engines[name].measured(1).items()}
        yield of_responses(name, run.protocol.cases, responses)


def of_file(path: Path, cases: Iterable[Case]) -> Candidate:
    """Answers of a file: `{"id": ..., "response": {...}}`, a list of them or one a line. Raises AnswersError."""
    text = path.read_text(encoding="utf-8")
    try:
        entries = strict_json.loads(text) if text.lstrip().startswith("[") else [*map(strict_json.loads, _lines(text))]
    except ContractError as error:
        raise AnswersError(f"{path.name}: {error.detail}") from error
    expected = 'expected objects {"id": ..., "response": {...}}, as a JSON list or one a line'
    if not all(isinstance(entry, dict) and isinstance(entry.get("id"), str) for entry in entries):
        raise AnswersError(f"{path.name}: {expected}")
    return of_responses(path.name, cases, {entry["id"]: entry.get("response") for entry in entries})


def of_remote(url: str, profile: Profile, cases: Sequence[Case]) -> Candidate:
    """A server's answers to each request, asked once. Raises RemoteError for a URL that is none."""
    from kit.engine.remote import RemoteEngine, RemoteError

    engine = RemoteEngine(url, model_names=profile.model_names())
    responses: dict[str, Mapping[str, Any]] = {}
    reasons: dict[str, str] = {}
    try:
        for case in cases:
            try:
                responses[case.id] = {"answers": engine.decide(engine.prepare(case.body)).answers}
            except RemoteError as error:
                reasons[case.id] = str(error)
    finally:
        engine.close()
    return of_responses("remote", cases, responses, reasons)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
