"""The requests drills send: ones that must be refused, one that takes long, one that is long.

Covers: bodies, made from an ordinary request of the protocol. Does not cover: sending them
(`kit.campaign.faults`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kit.campaign.refusals import refused_requests
from kit.contract.request import MAX_BODY_BYTES

SLOW_QUESTIONS = 64  # the most a request may ask
WORD = "long "  # one token in every tokenizer of these models


def slow_request(body: bytes) -> bytes:
    """The same request asking its first question 64 times over, so that it is still at work when something breaks."""
    request = json.loads(body)
    question = _first_question(request)
    request["questions"] = {f"copy-{number:02}": question for number in range(SLOW_QUESTIONS)}
    return _compact(request)


def long_request(body: bytes, tokens: int) -> bytes:
    """The same request asking its first question about a state of a few more than `tokens` tokens."""
    request = json.loads(body)
    request["questions"] = {"only": _first_question(request)}
    return _compact(request | {"state": WORD * (tokens + 16)})


def invalid_requests(body: bytes, most_tokens: int) -> Iterator[tuple[str, int, bytes]]:
    """What is wrong, the status it must get, and the bytes. most_tokens: the budget of a text question."""
    for refused in refused_requests():
        yield refused.rule, 422, refused.body
    request = json.loads(body)
    question = _first_question(request)
    yield "not JSON", 422, b"no json"
    yield "cut off", 422, body[:-1]
    yield "a number that is none", 422, body[:-1] + b',"temperature":NaN}'
    yield "a key twice", 422, body[:-1] + b',"state":"a","state":"b"}'
    yield "no question", 422, _compact(request | {"questions": {}})
    yield "a type nobody knows", 422, _compact(request | {"questions": {"only": question | {"type": "essay"}}})
    yield "more tokens than a question may have", 422, long_request(body, most_tokens)
    yield "more bytes than a body may have", 413, body + b" " * (MAX_BODY_BYTES + 1 - len(body))


def _first_question(request: dict[str, Any]) -> dict[str, Any]:
    question: dict[str, Any] = next(iter(request["questions"].values()))
    return question


def _compact(request: dict[str, Any]) -> bytes:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
