"""A server known only by its URL, as an engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from kit.contract.errors import ContractError
from kit.engine.remote import Endpoints, RemoteEngine, RemoteError, endpoints, load
from kit.profile import load_profile

BODY = json.dumps({
    "state": "s",
    "questions": {
        "z": {"type": "score", "criteria": ["low", "high"]},
        "a": {"type": "noul"},
    },
}).encode()  # fmt: skip


def good_response() -> dict[str, Any]:
    return {
        "model": "JEMM",
        "answers": {
            "z": {"type": "score", "probabilities": {"0": 0.25, "1": 0.75}, "confidence": 0.75, "expected_value": 0.75},
            "a": {"type": "noul", "probabilities": {"yes": 0.5, "no": 0.5}, "confidence": 0.5, "noul": 0.5},
        },
        "usage": {"input_tokens": 210, "output_tokens": 0, "latency_ms": 3.5},
    }


class Stranger:
    """A server that answers as it is told and keeps what it was sent."""

    def __init__(self) -> None:
        self.status = 200
        self.body: bytes = json.dumps(good_response()).encode()
        self.headers: dict[str, str] = {}
        self.seen: list[tuple[str, bytes]] = []
        self.silent = threading.Event()
        self.wait = 0.0
        stranger = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                stranger.seen.append((self.path, data))
                stranger.silent.wait(stranger.wait)
                self.answer(stranger.status, stranger.body)

            def do_GET(self) -> None:
                self.answer(200, b'{"status": "READY", "model": "other"}')

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                for name, value in stranger.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    server = Stranger()
    yield server
    server.silent.set()
    server.server.shutdown()
    server.thread.join()
    server.server.server_close()


@pytest.fixture
def engine(stranger: Stranger) -> Iterator[RemoteEngine]:
    remote = RemoteEngine(stranger.url, model_names=("JEMM",), timeout=5)
    yield remote
    remote.close()


class TestUrls:
    @pytest.mark.parametrize(
        "url", ["http://h:8000", "http://h:8000/", " http://h:8000/v1/systemone", "http://h:8000/v1/systemone/"]
    )
    def test_base_or_full_url(self, url: str) -> None:
        assert endpoints(url) == Endpoints("http://h:8000/v1/systemone", "http://h:8000/health")

    def test_a_prefix_is_kept(self) -> None:
        assert endpoints("https://h/models/x").decide == "https://h/models/x/v1/systemone"

    @pytest.mark.parametrize("url", ["", "h:8000", "ftp://h", "http://", "/v1/systemone"])
    def test_something_else_is_refused_with_an_example(self, url: str) -> None:
        with pytest.raises(RemoteError, match="expected something like"):
            endpoints(url)

    @pytest.mark.parametrize("url", ["http://user:secret@h", "http://h?key=secret", "http://h#x"])
    def test_nothing_secret_may_be_in_it(self, url: str) -> None:
        with pytest.raises(RemoteError, match="not allowed") as caught:
            endpoints(url)
        assert "secret" not in str(caught.value)


    def test_a_profile_without_one_is_refused(self) -> None:
        with pytest.raises(RemoteError, match="remote_url is empty"):
            load(load_profile("params/cpu-tiny.toml"))


class TestDecisions:
    def test_the_answers_are_the_remotes(self, engine: RemoteEngine, stranger: Stranger) -> None:
        prepared = engine.prepare(BODY)
        decision = engine.decide(prepared)
        assert decision.answers == good_response()["answers"]
        assert list(decision.answers) == ["z", "a"]
        assert decision.input_tokens == 210
        assert [(result.question_id, result.logits, result.hidden) for result in decision.questions] == [
            ("z", (), b""), ("a", (), b""),
        ]  # fmt: skip
        assert decision.timings_ms["server"] == 3.5
        assert decision.timings_ms["total"] > 0

    def test_the_bytes_arrive_as_they_are(self, engine: RemoteEngine, stranger: Stranger) -> None:
        engine.decide(engine.prepare(BODY + b"  \n"))
        assert stranger.seen == [("/v1/systemone", BODY + b"  \n")]

    def test_candidates_come_from_the_local_contract(self, engine: RemoteEngine) -> None:
        questions = engine.prepare(BODY).questions
        assert [[c.id for c in item.question.candidates] for item in questions] == [["0", "1"], ["yes", "no"]]

    def test_a_malformed_request_is_not_sent(self, engine: RemoteEngine, stranger: Stranger) -> None:
        with pytest.raises(ContractError):
            engine.prepare(b"no json")
        assert stranger.seen == []

    def test_health_counters_and_facts(self, engine: RemoteEngine, stranger: Stranger) -> None:
        assert engine.health()["status"] == "READY"
        assert engine.counters() == {}
        facts = engine.describe()
        assert facts["backend"] == "remote"
        assert stranger.url not in json.dumps(facts)


def drop(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


def put(value: object, *path: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


def swap(document: dict[str, Any]) -> None:
    document["answers"] = dict(reversed(document["answers"].items()))


class TestStrangeReplies:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (drop("answers"), "response.answers is missing"),
            (drop("usage"), "response.usage is missing"),
            (drop("usage", "input_tokens"), "usage.input_tokens is missing"),
            (put(True, "usage", "input_tokens"), "usage.input_tokens is True"),
            (put("1", "usage", "latency_ms"), "usage.latency_ms is '1'"),
            (drop("answers", "a"), "answered questions"),
            (swap, "in this order"),
            (drop("answers", "z", "probabilities"), "answers.z.probabilities is missing"),
            (drop("answers", "z", "probabilities", "0"), "expected \\['0', '1'\\]"),
            (put("x", "answers", "z", "probabilities", "0"), "expected a finite number"),
            (put(float("nan"), "answers", "z", "probabilities", "0"), "expected a finite number"),
            (put("noul", "answers", "z", "type"), "type is 'noul'"),
            (drop("answers", "a", "noul"), "lacks 'noul'"),
            (drop("answers", "z", "expected_value"), "lacks 'expected_value'"),
        ],
    )
    def test_what_is_missing_is_named(
        self, engine: RemoteEngine, stranger: Stranger, change: Callable[[dict[str, Any]], None], message: str
    ) -> None:
        document = good_response()
        change(document)
        stranger.body = json.dumps(document).encode()
        with pytest.raises(RemoteError, match=message):
            engine.decide(engine.prepare(BODY))

    @pytest.mark.parametrize("body", [b"<html>", b"[1]", b"\xff\xfe"])
    def test_no_json_object(self, engine: RemoteEngine, stranger: Stranger, body: bytes) -> None:
        stranger.body = body
        with pytest.raises(RemoteError, match="JSON"):
            engine.decide(engine.prepare(BODY))

    @pytest.mark.parametrize("status", [302, 404, 422, 500])
    def test_another_status_is_quoted_and_not_retried(
        self, engine: RemoteEngine, stranger: Stranger, status: int
    ) -> None:
        stranger.status, stranger.body = status, b'{"error": "ValueError", "detail": "too long"}'
        stranger.headers = {"location": stranger.url + "/elsewhere"}
        with pytest.raises(RemoteError, match=rf"status {status}.*too long"):
            engine.decide(engine.prepare(BODY))
        assert len(stranger.seen) == 1

    def test_silence(self, stranger: Stranger) -> None:
        stranger.wait = 10
        remote = RemoteEngine(stranger.url, model_names=("JEMM",), timeout=0.2)
        with pytest.raises(RemoteError, match=r"no answer within 0\.2 s"):
            remote.decide(remote.prepare(BODY))
        remote.close()

    def test_nobody_there(self) -> None:
        remote = RemoteEngine("http://127.0.0.1:1", model_names=("JEMM",))
        with pytest.raises(RemoteError, match="is the server running"):
            remote.decide(remote.prepare(BODY))
        with pytest.raises(RemoteError, match="is the server running"):
            remote.health()
        remote.close()
