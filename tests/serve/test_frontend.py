"""The frontend changes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from kit.contract.request import MAX_BODY_BYTES
from kit.serve.frontend import create_app
from tests.serve.conftest import Served
from tests.serve.running import body_of, send_post, served


@pytest.fixture
def front(worker: Served) -> Iterator[str]:
    with served(create_app(worker.url)) as url:
        yield url


class TestPassThrough:
    def test_status_body_and_number_are_the_workers(self, worker: Served, front: str) -> None:
        assert worker.post(body_of("first")).headers["x-kit-sequence"] == "1"
        reply = httpx.post(front + "/v1/systemone", content=body_of("second"), trust_env=False)
        assert reply.status_code == 200
        assert reply.headers["x-kit-sequence"] == "2"
        assert reply.headers["content-type"] == "application/json"
        assert worker.lines("post")[-1]["response_sha256"] == hashlib.sha256(reply.content).hexdigest()

    def test_the_workers_path_and_body_arrive_as_sent(self, worker: Served, front: str) -> None:
        body = body_of("exact ", extra="  spaces  ")
        httpx.post(front + "/v1/systemone/a%20b?c=d", content=body, trust_env=False)
        post = worker.lines("post")[-1]
        assert post["path"] == "/v1/systemone/a b"
        assert post["request_sha256"] == hashlib.sha256(body).hexdigest()

    def test_a_chunked_body(self, worker: Served, front: str) -> None:
        body = body_of("chunked")
        reply = httpx.post(front + "/v1/systemone", content=iter([body[:5], body[5:]]), trust_env=False)
        assert reply.status_code == 200

    def test_refusals_of_the_worker(self, worker: Served, front: str) -> None:
        reply = httpx.post(front + "/v1/systemone", content=b"no json", trust_env=False)
        assert (reply.status_code, reply.headers["x-kit-sequence"]) == (422, "1")
        reply = httpx.post(front + "/v1/systemone", content=b"x" * (MAX_BODY_BYTES + 1), trust_env=False)
        assert (reply.status_code, reply.headers["x-kit-sequence"]) == (413, "2")

    def test_health(self, worker: Served, front: str) -> None:
        for path in ("/health", "/v1/health"):
            assert httpx.get(front + path, trust_env=False).json() == {"status": "READY", "model": "JEMM"}
        worker.post(body_of("fail"))
        assert httpx.get(front + "/health", trust_env=False).status_code == 503

    def test_other_paths_and_methods_stop_here(self, worker: Served, front: str) -> None:
        assert httpx.post(front + "/v2/other", content=b"x" * 3_000_000, trust_env=False).status_code == 404
        assert httpx.get(front + "/v1/systemone", trust_env=False).status_code == 405
        assert worker.lines("post") == []

    def test_proxies_of_the_environment_are_not_used(
        self, worker: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        with served(create_app(worker.url)) as url:
            assert httpx.get(url + "/health", trust_env=False).status_code == 200


class TestTroubles:
    def test_an_unreachable_backend_is_503(self) -> None:
        with served(create_app("http://127.0.0.1:1")) as url:
            for reply in (
                httpx.get(url + "/health", trust_env=False),
                httpx.post(url + "/v1/systemone", content=body_of("x"), trust_env=False),
                httpx.post(url + "/v1/systemone", content=b"x" * 20_000_000, trust_env=False),
            ):
                assert reply.status_code == 503
                assert reply.json()["error"] == "RuntimeError"
                assert "backend did not answer" in reply.json()["detail"]

    def test_a_client_that_leaves_takes_its_waiting_request_along(self, worker: Served, front: str) -> None:
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(worker.post, body_of("block"))
            assert worker.engine.blocked.wait(10)
            leaver = send_post(front, body_of("leaver"))
            worker.wait_for(numbered=2)
            leaver.close()
            worker.wait_for(held=1)
            worker.engine.gate.set()
            assert running.result().status_code == 200
        assert worker.engine.decided == ["block"]

    def test_a_client_that_leaves_in_its_body_harms_nothing(self, worker: Served, front: str) -> None:
        send_post(front, b"{", announce=100).close()
        assert httpx.post(front + "/v1/systemone", content=body_of("x"), trust_env=False).status_code == 200

    def test_a_client_that_stops_in_its_body_is_given_up(
        self, worker: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("kit.serve.frontend.BODY_SECONDS", 0.3)
        with served(create_app(worker.url)) as front:
            for path in ("/v1/systemone", "/v2/unknown"):
                with send_post(front, b"{", path, announce=100) as half:
                    assert half.recv(4096).startswith(b"HTTP/1.1 408")
            worker.wait_for(held=0)
            assert httpx.post(front + "/v1/systemone", content=body_of("x"), trust_env=False).status_code == 200
