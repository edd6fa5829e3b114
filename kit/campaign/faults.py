"""Drills: what happens when something breaks while the server is at work.

Covers, with two starts of a worker: requests of every kind that must be refused, each followed by one that must
be answered; clients that leave in the middle of their body or while they wait; SIGKILL in the middle of a
request (the client sees a broken connection, process and port are gone, a new worker gives the same answers);
the graph caches emptied under load; and, on a GPU, device memory that comes back after the kill and after the
orderly stop. Then, in this process, values that are not finite (`kit.campaign.poison`).
Drills run after the campaign on workers of their own, and none of their requests counts as a post.
Does not cover: the refused requests that are part of the campaign (`kit.campaign.refusals`).
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import httpx

from kit.campaign import device, poison
from kit.campaign.drill import Drill, record_drills
from kit.campaign.drill_requests import invalid_requests, long_request, slow_request
from kit.campaign.graph_policy import check_policy
from kit.campaign.integrity import is_ready, without_latency
from kit.campaign.plan import feasibility_cases
from kit.campaign.reading import WORKER, read_lines
from kit.campaign.runner import ROUTE, open_client, read_health

if TYPE_CHECKING:
    from kit.campaign.run_folder import Run
    from kit.profile import Profile

IN_FLIGHT = 8  # slow requests sent at once
IN_FLIGHT_S = 0.1  # by now slow requests have been read; answering all of them takes longer on any machine
GONE_S = 10.0
LOAD_CLIENTS, LOAD_REQUESTS = 3, 4  # clients at once while the caches are emptied, and requests of each


class Worker(Protocol):
    """A worker that can be killed."""

    @property
    def url(self) -> str: ...
    @property
    def pid(self) -> int | None: ...
    def kill(self) -> object: ...


StartWorker = Callable[..., AbstractContextManager[Worker]]
UsedBytes = Callable[[], int | None]
InProcess = Callable[["Run", str], Iterable[Drill]]


def run_drills(
    run: Run,
    engine: str = "",
    *,
    start_worker: StartWorker | None = None,
    used_bytes: UsedBytes | None = None,
    in_process: InProcess = poison.drills,
) -> list[dict[str, Any]]:
    """Run every drill, write records/drills.jsonl, and return its lines after the header.

    engine: default graph, where the profile runs it, else native. used_bytes: tells how much device memory is
    taken; default NVML on a GPU. in_process: drills on an engine in this process, after the workers have gone.
    Raises DrillFailedError when a drill failed, after everything has been written.
    """
    engine = engine or ("graph" if "graph" in run.profile.campaign.engines else "native")
    (run.path / "records").mkdir(exist_ok=True)
    (run.path / "logs").mkdir(exist_ok=True)
    scene = Scene(run, engine, start_worker, used_bytes)
    return record_drills(run.path, engine, chain(worker_drills(scene), in_process(run, engine)))


def worker_drills(scene: Scene) -> Iterator[Drill]:
    """Every drill that needs a worker, with two of them: one that is killed, and its successor."""
    scene.note_memory()
    with scene.worker() as worker:
        first = scene.answer(worker.url)
        yield refused_between_answers(scene, worker.url, first)
        yield from clients_leave(scene, worker.url, first)
        checks, observed = killed_in_flight(scene, worker)
    observed["memory"] = scene.memory_back(checks)
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "worker.jsonl"
        with scene.worker(record) as worker:
            checks["a new worker is READY"] = scene.ready(worker.url)
            checks["it gives the same answer"] = scene.answer(worker.url) == first
            yield Drill("killed-worker", checks, observed)
            held = requests_while_cleared(scene, worker.url, first) if scene.can_clear else {}
            checks = {"the worker is READY until it is stopped": scene.ready(worker.url)}
        lines = read_lines(record, WORKER)
    if held:
        yield cleared_under_load(scene.run.profile, lines, held)
    checks |= gone(worker) | {"it stopped in order": lines[-1]["kind"] == "closed"}
    yield Drill("stopped-worker", checks, {"memory": scene.memory_back(checks)})


class Scene:
    """What the drills share: starting workers, one ordinary request, and the device memory there was before."""

    def __init__(
        self, run: Run, engine: str, start_worker: StartWorker | None, used_bytes: UsedBytes | None
    ) -> None:
        self.run, self._engine, self._start = run, engine, start_worker
        self._used = used_bytes or (device.used_bytes if run.profile.runtime.device == "cuda" else None)
        self._memory: int | None = None
        self._started = 0
        self.body = feasibility_cases(run.protocol)[0].body

    @contextmanager
    def worker(self, record: Path | None = None) -> Iterator[Worker]:
        from kit.serve import process

        self._started += 1
        start: StartWorker = self._start or process.start_worker
        log = self.run.path / "logs" / f"drill-{self._started}.log"
        with start(self.run.profile_path, self._engine, log=log, record=record) as worker:
            yield worker

    def answer(self, url: str, body: bytes | None = None) -> str:
        """The answer to a request (default: the ordinary one), without its latency."""
        with open_client() as client:
            response = client.post(url + ROUTE, content=body or self.body)
        return without_latency(response.json()) if response.status_code == 200 else f"status {response.status_code}"

    def ready(self, url: str) -> bool:
        with open_client() as client:
            return is_ready(read_health(client, url))

    def note_memory(self) -> None:
        """Remember how much device memory is taken before anything starts."""
        self._memory = self._used() if self._used else None

    def memory_back(self, checks: dict[str, bool]) -> dict[str, Any] | str:
        """Wait for the memory of a worker that has ended; adds the expectation where memory can be seen."""
        if self._used is None:
            return "not on a GPU"
        found = device.memory_back(self._memory, self._used)
        if found["back"] != device.NOT_VISIBLE:
            checks["its device memory is free again"] = found["back"]
        return found

    @property
    def can_clear(self) -> bool:
        """Whether a request can be so long that the graphs captured before it have to go."""
        graph, limits = self.run.profile.graph, self.run.profile.limits
        cached = graph.text.entries > 0 and graph.text.megabytes > 0
        return self._engine == "graph" and cached and graph.scratch_tokens + 64 <= limits.text_tokens


def refused_between_answers(scene: Scene, url: str, first: str) -> Drill:
    """Every kind of invalid request, each followed by an ordinary one."""
    checks, observed = {}, {}
    with open_client() as client:
        for wrong, status, body in invalid_requests(scene.body, scene.run.profile.limits.text_tokens):
            response = client.post(url + ROUTE, content=body)
            observed[wrong] = {"status": response.status_code, "said": response.json().get("detail")}
            checks[f"{wrong}: refused"] = response.status_code == status
            checks[f"{wrong}: the next answer is the same"] = scene.answer(url) == first
    return Drill("refused-between-answers", checks, observed)


def clients_leave(scene: Scene, url: str, first: str) -> Iterator[Drill]:
    """Clients that hang up: in the middle of the body, and while they wait for the answer."""
    for name, body, sent in (
        ("client-leaves-in-mid-body", scene.body, len(scene.body) // 2),
        ("client-leaves-while-waiting", slow_request(scene.body), None),
    ):
        _hang_up(url, body, sent)
        checks = {
            "the worker is READY": scene.ready(url),
            "the next client gets the same answer": scene.answer(url) == first,
        }
        yield Drill(name, checks, {"bytes_sent": sent if sent is not None else len(body)})


def killed_in_flight(scene: Scene, worker: Worker) -> tuple[dict[str, bool], dict[str, Any]]:
    """SIGKILL while requests are in flight, several so that a fast device has not done them all: what was seen."""
    pending = [PendingPost(worker.url, slow_request(scene.body)) for _ in range(IN_FLIGHT)]
    time.sleep(IN_FLIGHT_S)
    in_flight = [post for post in pending if post.waiting]
    worker.kill()
    for post in pending:
        post.join(GONE_S)
    checks = {
        "the request was in flight": bool(in_flight),
        "the client saw a broken connection": any(post.outcome.startswith("transport error") for post in in_flight),
    }
    return checks | gone(worker), {"clients": [post.outcome for post in pending]}


def gone(worker: Worker) -> dict[str, bool]:
    """Nothing is left of a worker that has ended."""
    return {
        "the process is gone": _within(GONE_S, lambda: not _alive(worker.pid)),
        "the port is closed": _within(GONE_S, lambda: not _accepts(worker.url)),
    }


# ---------------------------------------------------------------- the graph caches, emptied under load


def requests_while_cleared(scene: Scene, url: str, first: str) -> dict[str, bool]:
    """Several clients ask the ordinary request while one asks so much that every captured graph has to go."""
    capacity = scene.run.profile.graph.scratch_tokens
    checks = {"an answer from a graph is the same": scene.answer(url) == first}
    answers: list[str] = []

    def ask() -> None:
        for _ in range(LOAD_REQUESTS):
            answers.append(scene.answer(url))

    clients = [threading.Thread(target=ask) for _ in range(LOAD_CLIENTS)]
    for client in clients:
        client.start()
    long = scene.answer(url, long_request(scene.body, capacity))
    for client in clients:
        client.join()
    checks["the long request is answered"] = not long.startswith("status")
    checks["every answer under load is the same"] = answers == [first] * (LOAD_CLIENTS * LOAD_REQUESTS)
    checks["so are answers afterwards"] = [scene.answer(url) for _ in range(2)] == [first] * 2
    return checks


def cleared_under_load(profile: Profile, lines: list[dict[str, Any]], held: dict[str, bool]) -> Drill:
    """What the worker recorded of it: replays, then the long request, then a capture and replays again."""
    questions = [line for line in lines if line["kind"] == "question" and line["sequence"] is not None]
    cleared_by = next((n for n, q in enumerate(questions) if q["tokens"] > profile.graph.scratch_tokens), 0)
    key = questions[0]["key"]
    before, after = (
        [q["action"] for q in part if q["key"] == key] for part in (questions[:cleared_by], questions[cleared_by:])
    )
    policy = check_policy(lines, profile.graph)
    counters = (policy.reported_closed or {}).get("text", {})
    checks = held | {
        "graphs were replayed before": before[-1:] == ["replay"],
        "the text cache was emptied": counters.get("invalidations", 0) > 0,
        "graphs were captured and replayed again": after[:1] == ["capture"] and after[-1:] == ["replay"],
        "every event is the one the policy gives": not any(policy.mismatches.values()),
    }
    observed = {
        "key": key, "tokens_that_emptied_it": questions[cleared_by]["tokens"], "before": before, "after": after,
        "counters": policy.reported_closed,
    }  # fmt: skip
    return Drill("graph-cache-cleared", checks, observed)


# ---------------------------------------------------------------- connections


class PendingPost:
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
