"""What a worker answers, in which envelope, under which number."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from kit.contract.request import MAX_BODY_BYTES
from kit.serve.worker import MAX_WAITING
from tests.serve.conftest import Served
from tests.serve.running import body_of, connect, send_post


class TestAnswers:
    def test_a_decision_has_the_official_shape(self, worker: Served) -> None:
        reply = worker.post(body_of("hello"))
        assert reply.status_code == 200
        assert reply.headers["content-type"] == "application/json"
        document = reply.json()
        assert list(document) == ["model", "answers", "usage"]
        assert document["model"] == "JEMM"
        assert document["answers"]["q"]["choice"] == "b"
        usage = document["usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (7, 0)
        assert math.isfinite(usage["latency_ms"])
        assert usage["latency_ms"] > 0

    @pytest.mark.parametrize("path", ["/v1/systemone", "/v1/systemone/", "/v1/systemone/x?y=1", "/v1/systemone2"])
    def test_any_path_that_begins_like_the_endpoint_is_one(self, worker: Served, path: str) -> None:
        assert worker.post(body_of("hello"), path).status_code == 200

    def test_the_content_type_does_not_matter(self, worker: Served) -> None:
        headers = {"content-type": "text/plain"}
        reply = worker.client.post(worker.url + "/v1/systemone", content=body_of("hello"), headers=headers)
        assert reply.status_code == 200

    def test_a_chunked_body_without_a_length_is_read(self, worker: Served) -> None:
        body = body_of("hello")
        pieces = iter([body[:10], body[10:]])
        assert worker.client.post(worker.url + "/v1/systemone", content=pieces).status_code == 200

    def test_latency_includes_waiting_for_earlier_requests(self, worker: Served) -> None:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(worker.post, body_of("block"))
            assert worker.engine.blocked.wait(10)
            second = pool.submit(worker.post, body_of("waits"))
            worker.wait_for(numbered=2)
            time.sleep(0.2)
            worker.engine.gate.set()
            assert first.result().status_code == 200
            assert second.result().json()["usage"]["latency_ms"] > 100

    def test_small_requests_meet_no_delayed_acknowledgement(self, worker: Served) -> None:
        """Nagle's algorithm against delayed acknowledgements would show as 40 ms a request."""
        times = []
        for _ in range(30):
            started = time.perf_counter()
            assert worker.post(body_of("hello")).status_code == 200
            times.append(time.perf_counter() - started)
        assert statistics.median(times) < 0.030


class TestRefusals:
    def test_a_refused_request_is_told_class_and_detail(self, worker: Served) -> None:
        reply = worker.post(b"no json")
        assert reply.status_code == 422
        assert list(reply.json()) == ["error", "detail"]
        assert reply.json()["error"] == "ValueError"

    def test_a_detail_has_at_most_200_code_points(self, worker: Served) -> None:
        reply = worker.post(body_of("x", model="\U0001f642" * 500))
        assert reply.status_code == 422
        assert len(reply.json()["detail"]) <= 200

    def test_an_empty_body_is_refused(self, worker: Served) -> None:
        assert worker.post(b"").status_code == 422

    def test_an_unforeseen_failure_of_preparation_is_503_and_the_worker_stays(self, worker: Served) -> None:
        reply = worker.post(body_of("odd"))
        assert reply.status_code == 503
        assert "fell over" not in reply.text
        assert worker.post(body_of("hello")).status_code == 200

    def test_a_body_at_the_limit_is_judged_by_its_content(self, worker: Served) -> None:
        body = body_of("x")
        reply = worker.post(body + b" " * (MAX_BODY_BYTES - len(body)))
        assert reply.status_code == 200

    @pytest.mark.parametrize("extra", [1, 10_000_000])
    def test_a_longer_body_is_read_to_its_end_and_gets_413(self, worker: Served, extra: int) -> None:
        reply = worker.post(b"x" * (MAX_BODY_BYTES + extra))
        assert reply.status_code == 413
        assert reply.json()["error"] == "ValueError"
        assert worker.lines("post")[-1]["status"] == 413

    def test_a_longer_chunked_body_too(self, worker: Served) -> None:
        pieces = (b"x" * 1_000_000 for _ in range(17))
        assert worker.client.post(worker.url + "/v1/systemone", content=pieces).status_code == 413

    def test_a_large_body_to_an_unknown_path_gets_its_404(self, worker: Served) -> None:
        reply = worker.post(b"x" * 5_000_000, "/v2/other")
        assert (reply.status_code, reply.json()) == (404, {"error": "not_found"})

    def test_get_of_an_unknown_path(self, worker: Served) -> None:
        reply = worker.client.get(worker.url + "/nothing%0Ahere")
        assert (reply.status_code, reply.json()) == (404, {"error": "not_found"})

    @pytest.mark.parametrize(
        ("method", "path", "allow"),
        [("GET", "/v1/systemone", "POST"), ("PUT", "/v1/systemone", "POST"), ("DELETE", "/health", "GET, HEAD"),
         ("POST", "/health", "GET, HEAD")],
    )  # fmt: skip
    def test_wrong_methods(self, worker: Served, method: str, path: str, allow: str) -> None:
        reply = worker.client.request(method, worker.url + path, content=b"x")
        assert reply.status_code == 405
        assert reply.headers["allow"] == allow
        assert reply.json()["error"] == "RuntimeError"


class TestHealth:
    @pytest.mark.parametrize("path", ["/health", "/v1/health"])
    def test_ready(self, worker: Served, path: str) -> None:
        reply = worker.client.get(worker.url + path)
        assert (reply.status_code, reply.json()) == (200, {"status": "READY", "model": "JEMM"})

    def test_it_never_waits_for_the_device(self, worker: Served) -> None:
        with ThreadPoolExecutor(6) as pool:
            pending = [pool.submit(worker.post, body_of("block")) for _ in range(6)]
            assert worker.engine.blocked.wait(10)
            times = []
            for _ in range(5):
                started = time.perf_counter()
                assert worker.client.get(worker.url + "/health").json()["status"] == "READY"
                times.append(time.perf_counter() - started)
            worker.engine.gate.set()
            assert all(reply.result().status_code == 200 for reply in pending)
        assert min(times) < 0.05


class TestNumbers:
    def test_every_post_is_numbered_from_1_refused_ones_too(self, worker: Served) -> None:
        replies = [
            worker.post(body_of("a")),
            worker.post(b"no json"),
            worker.post(b"", "/unknown"),
            worker.post(b"x" * (MAX_BODY_BYTES + 1)),
            worker.post(b"", "/health"),
            worker.post(body_of("b")),
        ]
        assert [reply.status_code for reply in replies] == [200, 422, 404, 413, 405, 200]
        assert [reply.headers["x-kit-sequence"] for reply in replies] == ["1", "2", "3", "4", "5", "6"]

    def test_other_methods_have_no_number(self, worker: Served) -> None:
        assert "x-kit-sequence" not in worker.client.get(worker.url + "/health").headers
        assert "x-kit-sequence" not in worker.client.put(worker.url + "/health").headers

    def test_a_body_that_never_completes_takes_no_number(self, worker: Served) -> None:
        send_post(worker.url, b"{", announce=100).close()
        assert worker.post(body_of("a")).headers["x-kit-sequence"] == "1"


class TestRecord:
    def test_each_line_of_a_request_and_its_digests(self, worker: Served) -> None:
        body = body_of("hello")
        reply = worker.post(body)
        header, question, post = worker.lines()
        assert header == {"format": "kit-worker/2", "engine": "fake", "model": "JEMM"}
        assert question == {
            "kind": "question", "sequence": 1, "warmup": None, "question": "q", "index": 0, "type": "choice",
            "candidates": ["a", "b"], "tokens": 7, "grids": [], "key": "text:7", "action": "replay", "bytes": 0,
            "pool": 0, "ms": 0.0, "logits": "00000000" + "0000803e", "hidden": hashlib.sha256(bytes(range(16))).hexdigest(),
        }  # fmt: skip
        assert post["request_sha256"] == hashlib.sha256(body).hexdigest()
        assert post["response_sha256"] == hashlib.sha256(reply.content).hexdigest()
        assert (post["kind"], post["sequence"], post["path"], post["status"]) == ("post", 1, "/v1/systemone", 200)
        assert (post["input_tokens"], post["temperature"]) == (7, 1.25)
        assert post["latency_ms"] == reply.json()["usage"]["latency_ms"]
        assert set(post["timings_ms"]) == {"prepare", "wait", "total"}
        assert post["counters"] == {"text": {"replays": 1}}

    def test_an_image_request_has_its_vision_line_first(self, worker: Served) -> None:
        from kit.campaign.refusals import PNG_BASE64

        assert worker.post(body_of("see", images=[PNG_BASE64, PNG_BASE64])).status_code == 200
        _, vision, question, post = worker.lines()
        assert vision == {
            "kind": "vision", "sequence": 1, "warmup": None, "grids": [[1, 16, 16], [1, 16, 16]],
            "key": "vision:1x16x16", "action": "capture", "bytes": 64,
            "pool": 0,
        }  # fmt: skip
        assert question["grids"] == vision["grids"]
        assert post["temperature"] == 1.5

    def test_a_refused_request_is_recorded_before_its_reply_is_sent(self, worker: Served) -> None:
        reply = worker.post(b"no json")
        (post,) = worker.lines("post")
        assert (post["status"], post["input_tokens"], post["temperature"]) == (422, None, None)
        assert post["response_sha256"] == hashlib.sha256(reply.content).hexdigest()

    def test_a_record_that_cannot_be_written_retires_the_worker(self, worker: Served) -> None:
        original, worker.recorder.write = worker.recorder.write, _full_disk  # type: ignore[method-assign]
        try:
            assert worker.post(body_of("hello")).status_code == 503
            assert worker.client.get(worker.url + "/health").status_code == 503
        finally:
            worker.recorder.write = original  # type: ignore[method-assign]


def _full_disk(*lines: object) -> None:
    raise OSError(28, "No space left on device")


class TestOverload:
    def test_only_so_many_bodies_are_held_the_rest_is_told_to_come_back(
        self, worker: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kit.serve.worker.MAX_WAITING", 2)
        with ThreadPoolExecutor(2) as pool:
            held = [pool.submit(worker.post, body_of("block")) for _ in range(2)]
            assert worker.engine.blocked.wait(10)
            worker.wait_for(held=2)
            assert worker.post(body_of("third")).status_code == 503
            worker.engine.gate.set()
            assert [reply.result().status_code for reply in held] == [200, 200]
        assert worker.post(body_of("fourth")).status_code == 200


class TestHalfSentBodies:
    def test_they_hold_no_place_for_longer_than_a_whole_body_may_take(
        self, worker: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kit.serve.worker.BODY_SECONDS", 0.5)
        halves = [send_post(worker.url, b"{", announce=100) for _ in range(MAX_WAITING)]
        worker.wait_for(held=MAX_WAITING)
        assert worker.post(body_of("crowded out")).status_code == 503
        worker.wait_for(held=0)
        assert worker.post(body_of("hello")).status_code == 200
        for half in halves:
            assert half.recv(4096).startswith(b"HTTP/1.1 408")
            assert half.recv(4096) == b"", "the connection is closed: the rest of its body is not read as a request"
            half.close()

    def test_they_take_no_number(self, worker: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kit.serve.worker.BODY_SECONDS", 0.1)
        with send_post(worker.url, b"{", announce=100) as half:
            assert b"x-kit-sequence" not in half.recv(4096)
        assert worker.post(body_of("a")).headers["x-kit-sequence"] == "1"


class TestStop:
    def test_the_running_request_completes_waiting_ones_get_503_unread_ones_are_dropped(
        self, worker: Served
    ) -> None:
        unread = send_post(worker.url, b"{", announce=100)
        with ThreadPoolExecutor(2) as pool:
            running = pool.submit(worker.post, body_of("block"))
            assert worker.engine.blocked.wait(10)
            waiting = pool.submit(worker.post, body_of("later"))
            worker.wait_for(numbered=2, held=3)
            worker.stop()
            assert unread.recv(4096).startswith(b"HTTP/1.1 503")
            worker.engine.gate.set()
            assert running.result().status_code == 200
            assert waiting.result().status_code == 503
        unread.close()


def test_malformed_http_is_answered_and_harms_nothing(worker: Served) -> None:
    with connect(worker.url) as connection:
        connection.sendall(b"NOT HTTP\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert worker.post(body_of("hello")).status_code == 200


def test_pipelined_and_kept_connections(worker: Served) -> None:
    with httpx.Client(trust_env=False) as client:
        for number in range(1, 4):
            reply = client.post(worker.url + "/v1/systemone", content=body_of("hello"))
            assert json.loads(reply.content)["model"] == "JEMM"
            assert reply.headers["x-kit-sequence"] == str(number)
