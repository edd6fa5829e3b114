"""A worker without a model: answers the made-up protocol over HTTP in this process, as a real one would.

It numbers every POST, writes worker.jsonl when asked to, refuses bad images with 422, and can be told to
misbehave on one request. `fake_frontend` forwards to it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from kit.contract.errors import ContractError, envelope
from kit.contract.request import parse_request
from kit.profile import Limits, load_profile
from tests.campaign.synthetic_run import REQUESTS, Plant, WorkerSide, compact
from tests.loopback import listening

REQUEST_IDS = {compact(item["request"]): item["id"] for item in REQUESTS}


@dataclass
class Behaviour:
    """How a fake worker departs from a good one. fail_at: sequence -> (status, body) sent instead."""

    plant: Plant = field(default_factory=Plant)
    fail_at: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    drop_at: int | None = None  # closes the connection without a reply
    status: str = "READY"
    seconds_a_question: float = 0.0


class FakeWorker:
    """Serves on a free loopback port until closed."""

    pid = None

    def __init__(self, profile_path: Path, engine: str, record: Path | None, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.sequence = 0
        self._file = record.open("xb") if record else None
        rows = record.with_suffix(".rows") if record else None
        self._side = WorkerSide(engine, load_profile(profile_path), behaviour.plant, self._emit, rows)
        self._side.start()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        if self._file and not self._file.closed:
            self._side.close()
            self._file.close()

    def kill(self) -> None:
        """Requests in flight lose their connection, nothing is accepted any more."""
        self.behaviour.drop_at = self.sequence
        self._server.shutdown()
        self._server.server_close()

    def _emit(self, line: bytes) -> None:
        if self._file:
            self._file.write(line + b"\n")
            self._file.flush()

    def reply(self, body: bytes) -> tuple[int, int, bytes] | None:
        """Sequence, status and body of the reply; None to hang up."""
        with self._lock:
            self.sequence += 1
            sequence = self.sequence
            refusal = _refusal(body)
            request = {} if refusal else json.loads(body)
            time.sleep(self.behaviour.seconds_a_question * len(request.get("questions", ())))
            if sequence in self.behaviour.fail_at:
                return (sequence, *self.behaviour.fail_at[sequence])
            if self.behaviour.drop_at == sequence:
                return None
            tokens = temperature = None
            if refusal:
                status, reply = refusal.status, envelope(refusal)
            else:
                name = REQUEST_IDS.get(body, "another")
                reply, temperature = self._side.forwards(request, name, sequence)
                status, tokens = 200, reply["usage"]["input_tokens"]
            data = compact(reply)
            self._side.post(sequence, status, body, data, 1.0, tokens, temperature)
            return sequence, status, data

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        worker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # head and body leave together

            def do_GET(self) -> None:
                self._send(200, compact({"status": worker.behaviour.status, "model": "MADE-UP", "host": "secret"}))

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = self.rfile.read(length)
                reply = worker.reply(body) if len(body) == length else None
                if reply is None:
                    self.close_connection = True
                    return
                self._send(reply[1], reply[2], reply[0])

            def _send(self, status: int, data: bytes, sequence: int | None = None) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                if status == 302:
                    self.send_header("location", "/elsewhere")
                if sequence is not None:
                    self.send_header("x-kit-sequence", str(sequence))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _refusal(body: bytes) -> ContractError | None:
    """Why the contract refuses a body; words stand in for tokens."""
    try:
        request = parse_request(body, ("MADE-UP",))
    except ContractError as error:
        return error
    return ContractError("too long") if len(request.state.split()) > Limits().text_tokens else None


class Starter:
    """Stands in for `start_worker`: keeps what it was asked for and the workers it made."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self.workers: list[FakeWorker] = []

    @contextmanager
    def __call__(
        self, profile_path: Path, engine: str, *, log: Path, record: Path | None = None
    ) -> Iterator[FakeWorker]:
        log.write_text(f"{engine} started\n")
        worker = FakeWorker(profile_path, engine, record, Behaviour(**vars(self.behaviour)))
        self.workers.append(worker)
        try:
            yield worker
        finally:
            worker.close()


@contextmanager
def fake_frontend(profile_path: Path, backend_url: str, *, log: Path) -> Iterator[Any]:
    """Stands in for `start_frontend`: forwards POSTs and passes the sequence number on."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            reply = httpx.post(backend_url + self.path, content=body, trust_env=False)
            self.send_response(reply.status_code)
            self.send_header("content-length", str(len(reply.content)))
            self.send_header("x-kit-sequence", reply.headers["x-kit-sequence"])
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, *_: Any) -> None:
            pass

    @dataclass
    class Frontend:
        url: str

    with listening(Handler, ThreadingHTTPServer) as url:
        yield Frontend(url)
