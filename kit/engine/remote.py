"""Any server that speaks POST /v1/systemone, as an engine.

Covers: checking its URL, sending a request's bytes as they are, and reading answers out of the reply with
errors that say what was missing. Nothing is retried and no redirect is followed.
Does not cover: logits and hidden rows (a response does not carry them, so a remote engine is judged on its
probabilities) or how the remote counts tokens: `input_tokens` is what it says, a question's `tokens` is what the
local tokenizer gives, 0 where there is none.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from kit.contract.request import Question, parse_request
from kit.engine.base import Counters, Decision, Event, Prepared, PreparedQuestion, QuestionResult

if TYPE_CHECKING:
    from kit.engine.prepare import Preparer
    from kit.profile import Profile

DECISION_PATH = "/v1/systemone"
TIMEOUT_SECONDS = 600.0  # for a whole reply: a busy server answers in order of arrival
CONNECT_SECONDS = 10.0
SHOWN = 200  # characters of a strange reply that an error quotes


class RemoteError(RuntimeError):
    """The remote server gave no usable answer; the message says what came instead."""


@dataclass(frozen=True)
class Endpoints:
    """The two URLs of a server."""

    decide: str
    health: str


def endpoints(url: str) -> Endpoints:
    """Both URLs from a base URL or from the full URL of /v1/systemone. Raises RemoteError."""
    example = "expected something like http://127.0.0.1:8000 or http://127.0.0.1:8000/v1/systemone"
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL as error:
        raise RemoteError(f"remote URL {url!r}: {error}; {example}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise RemoteError(f"remote URL {url!r}: no http(s) address; {example}")
    if parsed.userinfo or parsed.query or parsed.fragment:
        # The URL is part of the profile, and the profile is published with the evidence.
        raise RemoteError(f"remote URL of {parsed.host}: credentials, query and fragment are not allowed; {example}")
    base = str(parsed).rstrip("/").removesuffix(DECISION_PATH).rstrip("/")
    return Endpoints(base + DECISION_PATH, base + "/health")


def load(profile: Profile) -> RemoteEngine:
    """The engine for `campaign.remote_url`."""
    if not profile.campaign.remote_url:
        raise RemoteError(f"profile {profile.name}: campaign.remote_url is empty; it must name the server")
    return RemoteEngine(
        profile.campaign.remote_url, model_names=profile.model_names(), preparer=_local_preparer(profile)
    )


def _local_preparer(profile: Profile) -> Preparer | None:
    """Tokens and budgets from the profile's own tokenizer, where one is on this machine."""
    from kit.checkpoint.files import CheckpointError
    from kit.engine.preview import preparer_without_weights

    try:
        return preparer_without_weights(profile)
    except (CheckpointError, OSError, ImportError):  # no checkpoint here, or no package to take a tokenizer from
        return None


class RemoteEngine:
    """One remote server. `prepare` checks a request locally first, so a malformed one is never sent."""

    name = "remote"

    def __init__(
        self,
        url: str,
        *,
        model_names: Sequence[str],
        preparer: Preparer | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """url: base URL or full /v1/systemone URL. timeout: seconds for a whole reply. Raises RemoteError."""
        self.endpoints = endpoints(url)
        self._model_names = tuple(model_names)
        self._preparer = preparer
        self._timeout = timeout
        self._client = httpx.Client(
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            headers={"content-type": "application/json"},
        )

    def prepare(self, body: bytes) -> Prepared:
        """Parse and, with a local tokenizer, tokenise. Raises ContractError."""
        if self._preparer is not None:
            return self._preparer.prepare(body)
        request = parse_request(body, self._model_names)
        questions = tuple(PreparedQuestion(question, "", (), (), ((), (), ())) for question in request.questions)
        return Prepared(body, request, questions, (), None)

    def decide(self, prepared: Prepared) -> Decision:
        """Post the body as received. Raises RemoteError."""
        started = time.perf_counter()
        document = self._post(prepared.body)
        total_ms = (time.perf_counter() - started) * 1000
        usage = _member(document, "usage", dict, "response")
        input_tokens = _member(usage, "input_tokens", int, "usage")
        latency_ms = _number(usage, "latency_ms", "usage")
        answers = _member(document, "answers", dict, "response")
        _check_answers(answers, [item.question for item in prepared.questions])
        results = tuple(
            QuestionResult(item.question.id, (), b"", len(item.input_ids), Event()) for item in prepared.questions
        )
        return Decision(
            answers, input_tokens, results, timings_ms={"total": total_ms, "server": float(latency_ms)}
        )

    def health(self) -> dict[str, Any]:
        """Body of the server's health. Raises RemoteError when there is none."""
        try:
            reply = self._client.get(self.endpoints.health, timeout=CONNECT_SECONDS)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        return _document(reply)

    def counters(self) -> Counters:
        """None: whatever the remote caches is its own business."""
        return {}

    def describe(self) -> dict[str, Any]:
        """What is known of a server from outside. Its address is left to the profile."""
        return {
            "backend": "remote",
            "path": DECISION_PATH,
            "timeout_seconds": self._timeout,
            "local_tokenizer": self._preparer.tokenizer.source if self._preparer else None,
        }

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def _post(self, body: bytes) -> dict[str, Any]:
        try:
            reply = self._client.post(self.endpoints.decide, content=body)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from error
        if reply.status_code != 200:
            raise RemoteError(f"remote answered status {reply.status_code}, expected 200: {_shown(reply)}")
        return _document(reply)

    def _unreachable(self, error: httpx.HTTPError) -> RemoteError:
        if isinstance(error, httpx.TimeoutException) and not isinstance(error, httpx.ConnectTimeout):
            return RemoteError(f"remote gave no answer within {self._timeout:g} s")
        return RemoteError(f"remote cannot be reached ({type(error).__name__}: {error}); is the server running?")


def _document(reply: httpx.Response) -> dict[str, Any]:
    try:
        document = json.loads(reply.content)
    except ValueError as error:
        raise RemoteError(f"remote answered something that is not JSON: {_shown(reply)}") from error
    if not isinstance(document, dict):
        raise RemoteError(f"remote answered JSON that is not an object: {_shown(reply)}")
    return document


def _shown(reply: httpx.Response) -> str:
    return repr(reply.content[:SHOWN].decode("utf-8", errors="replace"))


def _check_answers(answers: Mapping[str, Any], questions: Sequence[Question]) -> None:
    """Every question answered, nothing else, with a probability for each candidate in order."""
    expected = [question.id for question in questions]
    if list(answers) != expected:
        raise RemoteError(f"remote answered questions {list(answers)}, expected {expected} in this order")
    for question in questions:
        where = f"answers.{question.id}"
        answer = _member(answers, question.id, dict, "answers")
        if answer.get("type") != question.type:
            raise RemoteError(f"{where}.type is {answer.get('type')!r}, expected {question.type!r}")
        probabilities = _member(answer, "probabilities", dict, where)
        candidates = [candidate.id for candidate in question.candidates]
        if list(probabilities) != candidates:
            raise RemoteError(f"{where}.probabilities has {list(probabilities)}, expected {candidates} in this order")
        for candidate in candidates:
            _number(probabilities, candidate, f"{where}.probabilities")
        _number(answer, "confidence", where)
        extra = {"choice": "choice", "score": "expected_value", "noul": "noul"}[question.type]
        if extra not in answer:
            raise RemoteError(f"{where} lacks {extra!r}")


def _member(mapping: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = mapping.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        found = "is missing" if key not in mapping else f"is {value!r}"[:SHOWN]
        raise RemoteError(f"remote: {where}.{key} {found}, expected {'an object' if kind is dict else 'an integer'}")
    return value


def _number(mapping: Mapping[str, Any], key: str, where: str) -> float:
    value = mapping.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RemoteError(f"remote: {where}.{key} is {value!r}, expected a finite number")
    return float(value)
