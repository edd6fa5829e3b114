"""Request bodies for the tests of this folder."""

from __future__ import annotations

import json
from typing import Any

from kit.contract.request import Question, Request, parse_request

NAMES = ("JEMM", "jemm")


def body(**changes: Any) -> dict[str, Any]:
    """A small valid request; keyword arguments replace its top-level keys."""
    return {
        "state": "Ticket 4711: the printer on floor 2 reports a paper jam.",
        "questions": {
            "route": {"instructions": "Who takes it?", "criteria": {"it": "IT support", "hr": "Personnel"}}
        },
    } | changes


def encoded(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def parse(document: Any) -> Request:
    return parse_request(encoded(document), NAMES)


def question(**keys: Any) -> Question:
    """The one compiled question of a request whose question object has these keys."""
    return parse(body(questions={"q": keys})).questions[0]


def choice(*criteria: Any) -> list[str]:
    """Candidate texts of a choice with these criteria (a second one is added to a single one)."""
    shown = criteria if len(criteria) > 1 else (*criteria, "other")
    compiled = question(criteria={f"c{index}": criterion for index, criterion in enumerate(shown)})
    return [candidate.text for candidate in compiled.candidates][: len(criteria)]
