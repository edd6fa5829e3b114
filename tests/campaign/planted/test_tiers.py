"""What each gate sees of what came back: one made-up request, changed in one way at a time."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch

from kit.campaign.oracle_errors import errors
from kit.campaign.planted.asking import Ask
from kit.campaign.planted.site import Served
from kit.campaign.planted.tiers import COLUMNS, TIERS, Findings, judge
from kit.campaign.planted.yardstick import Expected, Yardstick
from kit.contract.answer import Calibration, answer, response_bytes
from kit.contract.prompt import Candidate, Question
from kit.engine.base import Event, QuestionResult
from kit.engine.oracle import OracleResult

QUESTION = Question("team", "choice", "Which?", tuple(Candidate(name, name) for name in ("web", "pay", "ops")))
LOGITS = (9.0, 7.5, 3.25)
TEMPERATURES = Calibration(1.25, 1.5)
TRUTH = OracleResult("team", (9.01, 7.48, 3.26), torch.tensor([1.001, -2.002, 0.5], dtype=torch.float64))
BODY = b'{"state":"A ticket."}'


def row(*values: float) -> bytes:
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def result(logits: tuple[float, ...] = LOGITS, hidden: bytes = b"", tokens: int = 98) -> QuestionResult:
    return QuestionResult("team", logits, hidden or row(1.0, -2.0, 0.5), tokens, Event())


def served(raw: QuestionResult | None = None, temperature: float = 1.25, **changed: Any) -> Served:
    """A reply as a worker makes it; changed: keys of the answer that were edited afterwards."""
    raw = raw or result()
    answers = {"team": answer(QUESTION, raw.logits, temperature) | changed}
    return Served(200, response_bytes("JEMM", answers, raw.tokens, 1.0), (raw,))


class Ruler:
    """A yardstick for one request."""

    calibration = TEMPERATURES
    dtype = torch.bfloat16
    steps = {"text": 4.0, "image": 4.0}  # noqa: RUF012

    def __init__(self, right: Served | None = None) -> None:
        found = right or served()
        truth = (TRUTH,) if found.status == 200 else ()
        own = tuple(errors(TRUTH, raw, torch.bfloat16) for raw in found.questions)
        self.expected = Expected(found, "text", "content", None, truth, own)

    def __getitem__(self, body: bytes) -> Expected:
        return self.expected


def look(*got: Served, right: Served | None = None, ask: Ask | None = None) -> Findings:
    ask = ask or Ask("one", BODY)
    return judge(cast(Yardstick, Ruler(right)), [ask] * len(got), got)


def seen(findings: Findings) -> set[str]:
    return {name for name in COLUMNS if findings[name].seen}


def test_the_same_reply_is_seen_by_nothing() -> None:
    findings = look(served(), served())
    assert seen(findings) == set()
    assert not any(findings.tier(tier) for tier in TIERS)
    assert findings["repeats"].of == 1


def test_tiers_share_no_column() -> None:
    columns = [column for tier in TIERS.values() for column in tier]
    assert sorted(columns) == sorted(set(columns)) == sorted(COLUMNS)


CASES: dict[str, tuple[Callable[[], Served], set[str]]] = {
    "a bit of the row": (lambda: served(result(hidden=row(1.0, -2.0, 0.50390625))), {"bitwise"}),
    "the sign of a zero": (lambda: served(result(logits=(9.0, 7.5, 3.25), hidden=row(1.0, -2.0, -0.5))), {"bitwise"}),
    "one step of a small logit": (lambda: served(result(logits=(9.0, 7.5, 3.265625))), {"bitwise"}),
    "many steps": (lambda: served(result(logits=(9.0, 7.5, 4.0))), {"bitwise", "steps"}),
    "another winner": (lambda: served(result(logits=(7.5, 9.0, 3.25))), {"bitwise", "steps", "gates"}),
    "one token more": (lambda: served(result(tokens=99)), {"bitwise", "gates"}),
    "a wrong temperature": (lambda: served(temperature=1.3), {"bitwise", "answers", "lattice"}),
    "an edited confidence": (lambda: served(confidence=0.5), {"bitwise", "gates"}),
    "a refusal": (lambda: Served(422, b'{"error":"ValueError","detail":"no"}'), {"bitwise", "steps", "gates"}),
    "a failure": (lambda: Served(503, b"{}"), {"bitwise", "steps", "gates"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_sees_a_change(case: str) -> None:
    reply, expected = CASES[case]
    assert seen(look(reply())) == expected


def test_an_answer_where_a_refusal_belongs_is_seen_in_every_tier() -> None:
    findings = look(served(), right=Served(422, b"{}"))
    assert all(findings.tier(tier) for tier in TIERS)


def test_another_reply_to_the_same_request_is_seen_by_repeats() -> None:
    findings = look(served(), served(result(logits=(9.0, 7.5, 3.265625))))
    assert findings["repeats"].count == 1
    assert findings.tier("http")


def test_latency_alone_is_no_difference() -> None:
    first = served()
    other = dataclasses.replace(first, body=first.body.replace(b'"latency_ms":1.0', b'"latency_ms":2.5'))
    assert first.body != other.body
    assert seen(look(first, other)) == set()


class TestHttpTier:
    def test_it_reads_the_response_and_nothing_else(self) -> None:
        """Without any recorded row its columns say the same."""
        for reply, _ in CASES.values():
            whole = reply()
            bare = dataclasses.replace(whole, questions=())
            columns = TIERS["http"]
            assert [look(whole)[name].count for name in columns] == [look(bare)[name].count for name in columns]

    def test_what_is_not_json_is_a_wrong_shape(self) -> None:
        assert look(Served(200, b"<html>"))["gates"].seen


class TestRows:
    def ruled(self, contents: int, factor: float) -> Findings:
        """Rows `factor` times as far from the truth as the reference's, on so many contents."""
        ruler = Ruler()
        own = [dataclasses.replace(ruler.expected, content=str(number)) for number in range(contents)]

        class Many(Ruler):
            def __getitem__(self, body: bytes) -> Expected:
                return own[int(body)]

        far = TRUTH.hidden + (torch.tensor([1.0, -2.0, 0.5]) - TRUTH.hidden) * factor
        raw = result(hidden=row(*far.tolist()))
        asks = [Ask(str(number), str(number).encode()) for number in range(contents)]
        return judge(cast(Yardstick, Many()), asks, [served(raw)] * contents)

    def test_rows_further_from_the_truth_are_seen(self) -> None:
        assert self.ruled(10, 20.0)["rows"].seen

    def test_rows_as_far_are_not(self) -> None:
        assert self.ruled(10, 1.0)["rows"].of == 1
        assert not self.ruled(10, 1.0)["rows"].seen

    def test_a_few_contents_are_nothing_to_resample(self) -> None:
        assert self.ruled(3, 20.0)["rows"].of == 0


def test_only_the_questions_that_were_asked_are_compared() -> None:
    reply = served()
    document = json.loads(reply.body)
    assert list(document["answers"]) == ["team"]
    assert seen(look(reply, ask=Ask("one", BODY, BODY, ("team",)))) == set()
