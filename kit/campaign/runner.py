"""Drives one engine through its planned requests over HTTP and records every exchange as it happened.

Covers: starting and stopping the engine's worker (or addressing a remote server), health before, after and
after each refusal, one request at a time without proxies, redirects or retries, an exchange line flushed per
request, and stopping at the first status that was not planned. Records of an engine are written once: what an
interrupted attempt left is moved to attempts/ first.
Does not cover: what is sent (`kit.campaign.plan`) or judging it (`kit.campaign.verdict`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from kit.campaign.plan import Planned, planned_exchanges
from kit.campaign.reading import EXCHANGES, WORKER, RecordsError, read_lines
from kit.engine.remote import endpoints
from kit.evidence.records import JsonlWriter, store_body, write_json

if TYPE_CHECKING:
    from kit.campaign.run_folder import Run
    from kit.profile import Profile

FORMAT = "kit-engine/1"
ROUTE = "/v1/systemone"
SEQUENCE_HEADER = "x-kit-sequence"
# A reply may take as long as a first capture on a busy machine; a connection to a live server may not.
TIMEOUT = httpx.Timeout(600.0, connect=10.0)
# Shorter than any server's keep-alive: a connection the server is about to close is never reused.
LIMITS = httpx.Limits(max_connections=1, keepalive_expiry=1.0)


class CampaignStoppedError(RuntimeError):
    """A request got another outcome than planned; nothing is retried and nothing more is sent."""


class Server(Protocol):
    """A started server: all the runner needs to know of it."""

    @property
    def url(self) -> str: ...


class ServerUnavailableError(RuntimeError):
    """A remote server was not READY before the first request, so nothing about it can be judged."""


StartServer = Callable[..., AbstractContextManager[Server]]


def run_engine(
    run: Run, engine: str, *, start_worker: StartServer | None = None, start_frontend: StartServer | None = None
) -> dict[str, Any]:
    """Send one engine everything planned for it and return what is written to engine.json.

    start_worker and start_frontend default to `kit.serve.process`. Raises CampaignStoppedError at the first
    unplanned outcome (engine.json then carries its text as "error") and StartFailedError, with the attempt
    kept under attempts/, when the worker does not come up.
    """
    set_aside(run.path, engine)
    folder = run.path / "records" / engine
    folder.mkdir(parents=True)
    (run.path / "logs").mkdir(exist_ok=True)
    header = {"format": EXCHANGES, "engine": engine, "run": run.id}
    began = time.monotonic()
    with (
        JsonlWriter(folder / "exchanges.jsonl", header) as records,
        open_client() as client,
        ExitStack() as servers,
    ):
        driver = _Driver(run.path, engine, client, records)
        try:
            worker = servers.enter_context(_served(run, engine, start_worker))
        except Exception:
            records.close()
            set_aside(run.path, engine)
            raise
        driver.start_seconds = time.monotonic() - began
        try:
            _send_all(driver, run, worker, servers, start_frontend)
        except (CampaignStoppedError, ServerUnavailableError) as error:
            driver.error = str(error)
            raise
        finally:
            servers.close()  # the worker writes its last line when it stops
            facts = _engine_facts(run, driver)
            write_json(folder / "engine.json", facts)
    return facts


def open_client() -> httpx.Client:
    """A client that talks to the address it is given and to nothing else: no proxy, no redirect."""
    return httpx.Client(trust_env=False, follow_redirects=False, timeout=TIMEOUT, limits=LIMITS)


def set_aside(run_path: Path, engine: str) -> Path | None:
    """Move an earlier attempt's records and logs of an engine to attempts/<engine>-<n>/, if there are any."""
    folder = run_path / "records" / engine
    if not folder.exists():
        return None
    attempts = run_path / "attempts"
    attempts.mkdir(exist_ok=True)
    number = 1
    while (attempts / f"{engine}-{number}").exists():
        number += 1
    target = attempts / f"{engine}-{number}"
    os.replace(folder, target)
    for log in _logs(run_path, engine):
        if log.exists():
            os.replace(log, target / log.name)
    return target


def read_health(client: httpx.Client, url: str) -> dict[str, Any]:
    """Status and model a server's health says, or a status in words when it cannot be asked."""
    for route in ("/health", "/v1/health"):
        try:
            response = client.get(url.rstrip("/") + route)
            if response.status_code == 404:
                continue
            document = response.json()
        except httpx.HTTPError as error:
            return {"status": f"unreachable ({type(error).__name__})"}
        except ValueError:
            return {"status": f"HTTP {response.status_code}, no JSON"}
        if response.status_code == 200 and isinstance(document, dict):
            return {key: document[key] for key in ("status", "model") if key in document}
        return {"status": f"HTTP {response.status_code}"}
    return {"status": "HTTP 404"}


@dataclass
class _Driver:
    """One engine's conversation: sends, records, and remembers health."""

    path: Path
    engine: str
    client: httpx.Client
    records: JsonlWriter
    start_seconds: float = 0.0
    error: str | None = None
    health: dict[str, Any] = field(default_factory=dict)
    health_after_refused: list[dict[str, Any]] = field(default_factory=list)

    def check_health(self, url: str, moment: str) -> dict[str, Any]:
        """Ask for health and stop unless it is READY."""
        health = read_health(self.client, url)
        if moment.startswith("after refused"):
            self.health_after_refused.append(health)
        else:
            self.health[moment] = health
        if health.get("status") != "READY" and moment == "before" and self.engine == "remote":
            raise ServerUnavailableError(
                f"{self.engine}: {url}/health says {health.get('status')!r}, expected status READY: start the server "
                "first, or correct its URL"
            )
        if health.get("status") != "READY":
            raise CampaignStoppedError(f"{self.engine}: health {moment}: expected READY, got {health.get('status')}")
        return health

    def send(self, item: Planned, url: str) -> None:
        """Send one request, record the exchange, and stop unless it went as planned."""
        request = store_body(self.path / "records" / "bodies", item.body)
        started_utc, started_ns = _utc_now(), time.monotonic_ns()
        response: httpx.Response | None = None
        problem = ""
        try:
            response = self.client.post(
                url.rstrip("/") + ROUTE, content=item.body, headers={"content-type": "application/json"}
            )
        except httpx.HTTPError as error:
            problem = f"no reply ({type(error).__name__})"
        finished_ns, finished_utc = time.monotonic_ns(), _utc_now()
        reply = store_body(self.path / "records" / "bodies", response.content) if response is not None else None
        self.records.write({
            "n": item.n, "target": item.target, "phase": item.phase, "pass": item.pass_number,
            "sequence": self._sequence(response), "request_id": item.request_id, "modality": item.modality,
            "expect": item.expect, "status": response.status_code if response is not None else None,
            "request_sha256": request, "response_sha256": reply, "started_utc": started_utc,
            "finished_utc": finished_utc, "started_ns": started_ns, "finished_ns": finished_ns,
        })  # fmt: skip
        if response is not None and response.status_code != item.expect:
            problem = f"status {response.status_code}: {response.text[:200]}"
        if problem:
            raise CampaignStoppedError(
                f"{self.engine}: request {item.n} ({item.phase}, {item.request_id}, sent to the {item.target}): "
                f"expected status {item.expect}, got {problem}"
            )

    def _sequence(self, response: httpx.Response | None) -> int | None:
        # A remote server keeps no record of ours to join with, and its numbering is its own.
        value = None if response is None or self.engine == "remote" else response.headers.get(SEQUENCE_HEADER)
        return int(value) if value is not None and value.isdecimal() else None


def _send_all(
    driver: _Driver, run: Run, worker: Server, servers: ExitStack, start_frontend: StartServer | None
) -> None:
    driver.check_health(worker.url, "before")
    urls = {"worker": worker.url}
    for item in planned_exchanges(run.protocol, run.profile, driver.engine):
        if item.target not in urls:
            start = start_frontend or _process_starter("start_frontend")
            log = run.path / "logs" / "frontend.log"
            urls[item.target] = servers.enter_context(start(run.profile_path, worker.url, log=log)).url
        driver.send(item, urls[item.target])
        if item.expect == 422:
            driver.check_health(worker.url, f"after refused {item.request_id}")
    driver.check_health(worker.url, "after")


@contextmanager
def _served(run: Run, engine: str, start_worker: StartServer | None) -> Iterator[Server]:
    if engine == "remote":
        yield _Remote(endpoints(run.profile.campaign.remote_url).decide.removesuffix(ROUTE))
        return
    start = start_worker or _process_starter("start_worker")
    record = run.path / "records" / engine / "worker.jsonl"
    with start(run.profile_path, engine, record=record, log=run.path / "logs" / f"{engine}.log") as worker:
        yield worker
    gather_rows(record.with_suffix(".rows"), run.path / "records" / "rows")


def gather_rows(of_worker: Path, of_run: Path) -> None:
    """Move a worker's hidden rows to those of the run, where equal rows of several engines are one file."""
    of_run.mkdir(exist_ok=True)
    for row in of_worker.iterdir() if of_worker.is_dir() else ():
        os.replace(row, of_run / row.name)
    if of_worker.is_dir():
        of_worker.rmdir()


@dataclass(frozen=True)
class _Remote:
    url: str


def _process_starter(name: str) -> StartServer:
    from kit.serve import process

    starter: StartServer = getattr(process, name)
    return starter


def _engine_facts(run: Run, driver: _Driver) -> dict[str, Any]:
    """engine.json: health as asked, and what the worker's own record says of it."""
    lines = _worker_lines(run.path / "records" / driver.engine / "worker.jsonl")
    ready: dict[str, Any] = next((line for line in lines if line["kind"] == "ready"), {})
    closed: dict[str, Any] | None = next((line for line in lines if line["kind"] == "closed"), None)
    orderly = driver.engine == "remote" or closed is not None
    describe = ready.get("describe", {})
    facts = {
        "format": FORMAT,
        "engine": driver.engine,
        "health_before": driver.health.get("before"),
        "health_after": driver.health.get("after"),
        "health_after_refused": driver.health_after_refused,
        "start_seconds": round(driver.start_seconds, 3),
        "stopped": "orderly" if orderly else "killed",
        "backend": describe.get("backend") or backend_of(driver.engine, run.profile),
        "describe": describe,
        "counters": (closed or {}).get("counters", {}),
        "memory": {"ready": ready.get("memory", {}), "closed": (closed or {}).get("memory", {})},
    }
    return facts | ({"error": driver.error} if driver.error else {})


def _worker_lines(record: Path) -> list[dict[str, Any]]:
    try:
        return read_lines(record, WORKER) if record.exists() else []
    except RecordsError:
        return []  # a worker that died in mid-line says nothing here; the verdict reads the file itself and refuses it


def backend_of(engine: str, profile: Profile) -> str:
    """What executes an engine's forwards, in one word."""
    on_gpu = profile.runtime.device == "cuda"
    return {
        "reference": "transformers",
        "native": "eager",
        "graph": "cuda-graph" if on_gpu else "aten-replay",
        "remote": "remote",
    }[engine]


def _logs(run_path: Path, engine: str) -> list[Path]:
    names = [engine, "frontend"] if engine == "graph" else [engine]
    return [run_path / "logs" / f"{name}.log" for name in names]


def _utc_now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
