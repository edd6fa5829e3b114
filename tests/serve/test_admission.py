"""Order, concurrency, clients that leave, and retirement."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kit.serve.admission import PREPARED_AHEAD, Admission, Job
from kit.serve.lane import Lane
from kit.serve.recorder import Recorder
from kit.serve.replies import Reply
from tests.serve.conftest import Served
from tests.serve.fake_engine import CALIBRATION, FakeEngine
from tests.serve.running import body_of, send_post, wait_until


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def admission(engine: FakeEngine) -> Admission:
    return Admission(engine, "JEMM", CALIBRATION, Recorder(None, "fake", "JEMM"))


def submit(admission: Admission, number: int, state: str) -> Future[Reply]:
    return admission.submit(Job(number, "/v1/systemone", body_of(state), "0" * 64, time.perf_counter_ns()))


class TestOrder:
    def test_requests_run_in_the_order_they_came_one_at_a_time_on_one_thread(
        self, admission: Admission, engine: FakeEngine
    ) -> None:
        states = [f"state {number:02}" for number in range(40)]
        first = submit(admission, 1, "block")
        replies = [submit(admission, number, state) for number, state in enumerate(states, 2)]
        engine.gate.set()
        assert {reply.result(10).status for reply in [first, *replies]} == {200}
        assert engine.decided == ["block", *states]
        assert engine.most_at_once == 1
        assert engine.threads == {"device"}
        admission.close()

    def test_few_requests_are_prepared_ahead_of_the_device(self, admission: Admission, engine: FakeEngine) -> None:
        prepared: list[bytes] = []
        original = engine.prepare
        engine.prepare = lambda body: (prepared.append(body), original(body))[1]  # type: ignore[method-assign]
        replies = [submit(admission, number, "block") for number in range(1, 21)]
        assert engine.blocked.wait(10)
        time.sleep(0.1)
        # One more than may wait with the device: the one in the hands of the preparing thread.
        assert len(prepared) <= PREPARED_AHEAD + 1
        engine.gate.set()
        assert {reply.result(10).status for reply in replies} == {200}
        admission.close()

    def test_a_refused_request_does_not_wait_for_the_device(self, admission: Admission, engine: FakeEngine) -> None:
        running = submit(admission, 1, "block")
        assert engine.blocked.wait(10)
        job = Job(2, "/v1/systemone", b"no json", "0" * 64, time.perf_counter_ns())
        assert admission.submit(job).result(5).status == 422
        assert not running.done()
        engine.gate.set()
        admission.close()


class TestClientsThatLeave:
    def test_a_waiting_request_is_removed_when_its_client_leaves(self, worker: Served) -> None:
        with ThreadPoolExecutor(2) as pool:
            running = pool.submit(worker.post, body_of("block"))
            assert worker.engine.blocked.wait(10)
            leaver = send_post(worker.url, body_of("leaver"))
            worker.wait_for(numbered=2)
            last = pool.submit(worker.post, body_of("last"))
            worker.wait_for(numbered=3)
            leaver.close()
            worker.wait_for(held=2)
            worker.engine.gate.set()
            assert (running.result().status_code, last.result().status_code) == (200, 200)
        assert worker.engine.decided == ["block", "last"]
        statuses = {line["sequence"]: line["status"] for line in worker.lines("post")}
        assert statuses == {1: 200, 2: 499, 3: 200}
        assert next(line for line in worker.lines("post") if line["status"] == 499)["response_sha256"] is None

    def test_a_running_request_completes_and_is_recorded(self, worker: Served) -> None:
        leaver = send_post(worker.url, body_of("block"))
        assert worker.engine.blocked.wait(10)
        leaver.close()
        worker.wait_for(held=0)
        worker.engine.gate.set()
        wait_until(lambda: bool(worker.lines("post")))
        assert [line["status"] for line in worker.lines("post")] == [200]
        assert worker.post(body_of("next")).headers["x-kit-sequence"] == "2"


class TestRetirement:
    def test_after_an_execution_failure_everything_is_503(
        self, worker: Served, caplog: pytest.LogCaptureFixture
    ) -> None:
        reply = worker.post(body_of("fail"))
        assert reply.status_code == 503
        assert reply.json()["error"] == "RuntimeError"
        assert "secret" not in reply.text
        assert "device lost: secret cause" in caplog.text
        for path in ("/health", "/v1/health"):
            health = worker.client.get(worker.url + path)
            assert (health.status_code, health.json()["error"]) == (503, "RuntimeError")
        later = worker.post(body_of("hello"))
        assert (later.status_code, later.headers["x-kit-sequence"]) == (503, "2")
        assert worker.engine.decided == ["fail"]
        assert [line["status"] for line in worker.lines("post")] == [503, 503]
        wait_until(lambda: worker.engine.closed)

    def test_requests_that_were_waiting_are_refused_too(self, admission: Admission, engine: FakeEngine) -> None:
        first = submit(admission, 1, "block")
        assert engine.blocked.wait(10)
        replies = [submit(admission, number, state) for number, state in enumerate(["fail", "a", "b", "c", "d"], 2)]
        engine.gate.set()
        assert first.result(10).status == 200
        assert [reply.result(10).status for reply in replies] == [503] * 5
        assert engine.decided == ["block", "fail"]
        assert not admission.ready
        admission.close()

    def test_readiness_is_cleared_before_anything_else_happens(
        self, admission: Admission, engine: FakeEngine
    ) -> None:
        seen: list[bool] = []
        engine.close = lambda: seen.append(admission.ready)  # type: ignore[method-assign]
        assert submit(admission, 1, "fail").result(10).status == 503
        admission.close()
        assert seen == [False]

    def test_an_answer_that_json_cannot_carry_is_an_execution_failure(
        self, admission: Admission, engine: FakeEngine
    ) -> None:
        engine.decide = lambda prepared: 1 / 0  # type: ignore[method-assign, assignment, return-value]
        assert submit(admission, 1, "x").result(10).status == 503
        assert not admission.ready
        admission.close()


class TestClosing:
    def test_the_last_line_has_the_counters(self, worker: Served) -> None:
        worker.post(body_of("hello"))
        worker.close()
        last = worker.lines()[-1]
        assert (last["kind"], last["counters"]) == ("closed", {"text": {"replays": 1}})
        assert last["autotune"]["late"] == []
        assert last["memory"] == {}
        assert worker.engine.closed


class TestLane:
    def test_calls_run_in_order_and_errors_reach_who_waits(self) -> None:
        lane, seen = Lane("test"), []
        for number in range(5):
            lane.submit(lambda number=number: seen.append(number))  # type: ignore[misc]
        failing = lane.submit(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            failing.result(5)
        lane.close()
        assert seen == list(range(5))

    def test_its_thread_does_not_keep_the_process_alive(self) -> None:
        Lane("test")
        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "test")
