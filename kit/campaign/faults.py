"""Drills: what happens when something breaks while the server is at work.

Covers: a worker killed with SIGKILL while a request is in flight (the client sees a broken connection, the
process and its port are gone, a new worker gives the same answer as before), and clients that leave in the
middle of their body or while they wait. Drills run on workers of their own, after the campaign, and none of
their requests counts as a post.
Does not cover: refused requests, which are part of the campaign (`kit.campaign.refusals`).
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import httpx

from kit.campaign.integrity import is_ready, without_latency
from kit.campaign.plan import feasibility_cases
from kit.campaign.reading import read_lines
from kit.campaign.runner import ROUTE, open_client, read_health
from kit.evidence.records import JsonlWriter

if TYPE_CHECKING:
    from kit.campaign.run_folder import Run

FORMAT = "kit-drills/1"
IN_FLIGHT_S = 0.1  # by now the slow request has been read; answering it takes longer on any machine
GONE_S = 10.0
SLOW_QUESTIONS = 64  # the most a request may ask


class DrillFailedError(RuntimeError):
    """A drill did not end as it must; records/drills.jsonl has the details."""


class Worker(Protocol):
    """A worker that can be killed."""

    @property
    def url(self) -> str: ...
    @property
    def pid(self) -> int | None: ...
    def kill(self) -> object: ...


StartWorker = Callable[..., AbstractContextManager[Worker]]


@dataclass(frozen=True)
class Drill:
    """One drill: every expectation by name, and what was seen."""

    drill: str
    checks: dict[str, bool]
    observed: dict[str, Any]

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(self.checks.values())


def run_drills(run: Run, engine: str = "native", *, start_worker: StartWorker | None = None) -> list[dict[str, Any]]:
    """Run every drill, write records/drills.jsonl, and return its lines after the header.

    Raises DrillFailedError when a drill failed, after everything has been written.
    """
    record = run.path / "records" / "drills.jsonl"
    record.parent.mkdir(exist_ok=True)
    record.unlink(missing_ok=True)  # drills of a stage that was interrupted are run again as a whole
    (run.path / "logs").mkdir(exist_ok=True)
    scene = _Scene(run, engine, start_worker)
    results = []
    with JsonlWriter(record, {"format": FORMAT, "engine": engine, "run": run.id}) as lines:
        for drill in (killed_worker, client_leaves):
            for result in drill(scene):
                line = asdict(result) | {"passed": result.passed}
                lines.write(line)
                results.append(line)
    failed = [f"{line['drill']}: {name}" for line in results for name, ok in line["checks"].items() if not ok]
    if failed:
        raise DrillFailedError("; ".join(failed))
    return results


def read_drills(run_dir: Path) -> list[dict[str, Any]]:
    """The drills a run has recorded."""
    return read_lines(run_dir / "records" / "drills.jsonl", FORMAT)


class _Scene:
    """What the drills share: starting workers, one ordinary request and one that takes long."""

    def __init__(self, run: Run, engine: str, start_worker: StartWorker | None) -> None:
        self._run, self._engine, self._start = run, engine, start_worker
        self._started = 0
        case = feasibility_cases(run.protocol)[0]
        self.body = case.body
        self.slow_body = slow_request(case.body)

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        from kit.serve import process

        self._started += 1
        start: StartWorker = self._start or process.start_worker
        log = self._run.path / "logs" / f"drill-{self._started}.log"
        with start(self._run.profile_path, self._engine, log=log) as worker:
            yield worker

    def answer(self, url: str) -> str:
        """The answer to the ordinary request, without its latency."""
        with open_client() as client:
            response = client.post(url + ROUTE, content=self.body)
        return without_latency(response.json()) if response.status_code == 200 else f"status {response.status_code}"

    def ready(self, url: str) -> bool:
        with open_client() as client:
            return is_ready(read_health(client, url))


def slow_request(body: bytes) -> bytes:
    """The same request asking its first question 64 times over, so that it is still at work when something breaks."""
    request = json.loads(body)
    question = next(iter(request["questions"].values()))
    request["questions"] = {f"copy-{number:02}": question for number in range(SLOW_QUESTIONS)}
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def killed_worker(scene: _Scene) -> Iterator[Drill]:
    """SIGKILL while a request is in flight, then a new worker."""
    with scene.worker() as worker:
        before = scene.answer(worker.url)
        pending = _PendingPost(worker.url, scene.slow_body)
        time.sleep(IN_FLIGHT_S)
        in_flight = pending.waiting
        pid = worker.pid
        worker.kill()
        pending.join(GONE_S)
        checks = {
            "the request was in flight": in_flight,
            "the client saw a broken connection": pending.outcome.startswith("transport error"),
            "the process is gone": _within(GONE_S, lambda: not _alive(pid)),
            "the port is closed": _within(GONE_S, lambda: not _accepts(worker.url)),
        }
    with scene.worker() as worker:
        after = scene.answer(worker.url)
        checks["a new worker is READY"] = scene.ready(worker.url)
        checks["it gives the same answer"] = before == after
    yield Drill("killed-worker", checks, {"client": pending.outcome})


def client_leaves(scene: _Scene) -> Iterator[Drill]:
    """Clients that hang up: in the middle of the body, and while they wait for the answer."""
    with scene.worker() as worker:
        before = scene.answer(worker.url)
        for name, sent in (
            ("client-leaves-in-mid-body", len(scene.body) // 2),
            ("client-leaves-while-waiting", None),
        ):
            body = scene.body if sent is not None else scene.slow_body
            _hang_up(worker.url, body, sent)
            checks = {
                "the worker is READY": scene.ready(worker.url),
                "the next client gets the same answer": scene.answer(worker.url) == before,
            }
            yield Drill(name, checks, {"bytes_sent": sent if sent is not None else len(body)})


class _PendingPost:
    """A request sent from a thread, whose outcome is looked at later."""

    def __init__(self, url: str, body: bytes) -> None:
        self.outcome = ""
        self._thread = threading.Thread(target=self._post, args=(url, body), daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> bool:
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)
        if not self.outcome:
            self.outcome = "still waiting"

    def _post(self, url: str, body: bytes) -> None:
        try:
            with open_client() as client:
                self.outcome = f"status {client.post(url + ROUTE, content=body).status_code}"
        except httpx.HTTPError as error:
            self.outcome = f"transport error ({type(error).__name__})"


def _hang_up(url: str, body: bytes, sent: int | None) -> None:
    """Announce the whole body, send `sent` bytes of it (None: all), wait a moment, close without reading."""
    address = urlsplit(url)
    head = f"POST {ROUTE} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(head + body[:sent])
        time.sleep(IN_FLIGHT_S)


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _alive(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _accepts(url: str) -> bool:
    address = urlsplit(url)
    try:
        socket.create_connection((address.hostname, address.port), timeout=1).close()
    except OSError:
        return False
    return True
