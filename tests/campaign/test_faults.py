"""Drills and refused requests, against a worker without a model."""

import json
from collections.abc import Callable, Iterator

import pytest

from kit.campaign import faults
from kit.campaign.drill import Drill, DrillFailedError, read_drills
from kit.campaign.drill_requests import invalid_requests, long_request, slow_request
from kit.campaign.faults import run_drills
from kit.campaign.refusals import refused_requests
from kit.campaign.run_folder import Run
from kit.contract.errors import ContractError
from kit.contract.request import parse_request
from tests.campaign.fake_worker import Behaviour, Starter
from tests.campaign.test_runner import run  # noqa: F401

SLOW = 0.004  # seconds a question: 64 of them outlast the moment of the kill
NAMES = [
    "refused-between-answers", "client-leaves-in-mid-body", "client-leaves-while-waiting", "killed-worker",
    "graph-cache-cleared", "stopped-worker", "in-process",
]  # fmt: skip


def in_process(run: Run, engine: str) -> Iterator[Drill]:  # noqa: F811
    yield Drill("in-process", {"it ran": True}, {"engine": engine})


def drill(run: Run, start: Starter, engine: str = "", **options: Callable[[], int]) -> list[dict]:  # noqa: F811
    return run_drills(run, engine, start_worker=start, in_process=in_process, **options)


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
    lines = drill(run, start)
    assert [line["drill"] for line in lines] == NAMES
    assert all(line["passed"] for line in lines)
    assert read_drills(run.path) == lines
    assert json.loads((run.path / "records" / "drills.jsonl").read_text().splitlines()[0])["engine"] == "graph"


def test_a_worker_is_started_twice_and_no_more(run: Run) -> None:  # noqa: F811
    start = Starter(Behaviour(seconds_a_question=SLOW))
    drill(run, start)
    assert len(start.workers) == 2


def test_an_engine_without_graphs_has_none_to_clear(run: Run) -> None:  # noqa: F811
    lines = drill(run, Starter(Behaviour(seconds_a_question=SLOW)), "native")
    assert [line["drill"] for line in lines] == [name for name in NAMES if name != "graph-cache-cleared"]


def test_the_cache_was_full_then_empty_then_full_again(run: Run) -> None:  # noqa: F811
    lines = {line["drill"]: line for line in drill(run, Starter(Behaviour(seconds_a_question=SLOW)))}
    seen = lines["graph-cache-cleared"]["observed"]
    assert seen["before"][-1] == "replay"
    assert (seen["after"][0], seen["after"][-1]) == ("capture", "replay")
    assert seen["tokens_that_emptied_it"] > run.profile.graph.scratch_tokens
    assert seen["counters"]["text"]["invalidations"] > 0


def test_a_kill_that_came_too_late_is_a_failed_drill(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(faults, "IN_FLIGHT", 1)
    with pytest.raises(DrillFailedError, match="killed-worker: the request was in flight"):
        drill(run, Starter())
    assert [line["drill"] for line in read_drills(run.path)] == NAMES, "later drills still ran and were recorded"


class TestDeviceMemory:
    def test_is_asked_for_before_after_the_kill_and_after_the_stop(self, run: Run) -> None:  # noqa: F811
        lines = drill(run, Starter(Behaviour(seconds_a_question=SLOW)), used_bytes=lambda: 1 << 30)
        memory = {line["drill"]: line["observed"]["memory"] for line in lines if "memory" in line["observed"]}
        assert list(memory) == ["killed-worker", "stopped-worker"]
        assert all(found["back"] is True and found["start_bytes"] == 1 << 30 for found in memory.values())
        assert lines[3]["checks"]["its device memory is free again"] is True

    def test_that_does_not_come_back_is_a_failed_drill(
        self, run: Run, monkeypatch: pytest.MonkeyPatch  # noqa: F811
    ) -> None:
        monkeypatch.setattr("kit.campaign.device.RETURN_SECONDS", 0.0)
        growing = iter(range(0, 100 << 30, 1 << 30))
        with pytest.raises(DrillFailedError, match="its device memory is free again"):
            drill(run, Starter(Behaviour(seconds_a_question=SLOW)), used_bytes=lambda: next(growing))


def test_the_slow_request_is_the_same_question_many_times(run: Run) -> None:  # noqa: F811
    parsed = parse_request(slow_request(run.protocol.cases[0].body), ("MADE-UP",))
    assert len(parsed.questions) == 64
    assert len({question.instructions for question in parsed.questions}) == 1


def test_the_long_request_is_one_question_about_many_words(run: Run) -> None:  # noqa: F811
    parsed = parse_request(long_request(run.protocol.cases[0].body, 1000), ("MADE-UP",))
    assert len(parsed.questions) == 1
    assert 1000 < len(parsed.state.split()) < 1100


def test_invalid_requests_are_refused_by_the_contract_or_for_their_length(run: Run) -> None:  # noqa: F811
    wrong = list(invalid_requests(run.protocol.cases[0].body, 500))
    assert len({name for name, _, _ in wrong}) == len(wrong) == 10
    for name, status, body in wrong:
        if name == "more tokens than a question may have":
            assert len(parse_request(body, ("MADE-UP",)).state.split()) > 500
            continue
        with pytest.raises(ContractError) as error:
            parse_request(body, ("MADE-UP",))
        assert error.value.status == status, name
