"""Drills and refused requests, against a worker without a model."""

import json

import pytest

from kit.campaign.faults import DrillFailedError, run_drills, slow_request
from kit.campaign.refusals import refused_requests
from kit.campaign.run_folder import Run
from kit.contract.errors import ContractError
from kit.contract.request import parse_request
from tests.campaign.fake_worker import Behaviour, Starter
from tests.campaign.test_runner import run  # noqa: F401

SLOW = 0.004  # seconds a question: 64 of them outlast the moment of the kill


def test_the_refused_requests_break_exactly_one_rule_each() -> None:
    for refused in refused_requests():
        with pytest.raises(ContractError) as error:
            parse_request(refused.body, ("MADE-UP",))
        assert error.value.status == 422
    base64, five = refused_requests()
    request = json.loads(five.body)
    request["images"].pop()
    assert len(parse_request(json.dumps(request).encode(), ("MADE-UP",)).images) == 4
    request = json.loads(base64.body) | {"images": []}
    assert len(parse_request(json.dumps(request).encode(), ("MADE-UP",)).questions) == 1


def test_drills_are_recorded_with_every_expectation(run: Run) -> None:  # noqa: F811
    start = Starter(Behaviour(seconds_a_question=SLOW))
    lines = run_drills(run, start_worker=start)
    assert [line["drill"] for line in lines] == [
        "killed-worker", "client-leaves-in-mid-body", "client-leaves-while-waiting",
    ]  # fmt: skip
    assert all(line["passed"] for line in lines)
    recorded = (run.path / "records" / "drills.jsonl").read_text().splitlines()
    assert json.loads(recorded[0])["format"] == "kit-drills/1"
    assert [json.loads(line) for line in recorded[1:]] == lines
    assert len(start.workers) == 3


def test_a_kill_that_came_too_late_is_a_failed_drill(run: Run) -> None:  # noqa: F811
    with pytest.raises(DrillFailedError, match="killed-worker: the request was in flight"):
        run_drills(run, start_worker=Starter())
    last = (run.path / "records" / "drills.jsonl").read_text().splitlines()
    assert len(last) == 4, "later drills still ran and were recorded"


def test_the_slow_request_is_the_same_question_many_times(run: Run) -> None:  # noqa: F811
    parsed = parse_request(slow_request(run.protocol.cases[0].body), ("MADE-UP",))
    assert len(parsed.questions) == 64
    assert len({question.instructions for question in parsed.questions}) == 1
