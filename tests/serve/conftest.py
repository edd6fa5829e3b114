"""A worker around a fake engine, served on a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit.profile import Profile, load_profile
from kit.serve.recorder import Recorder
from kit.serve.worker import WorkerEndpoint, create_app
from tests.serve.fake_engine import FakeEngine
from tests.serve.running import Running, wait_until


@dataclass
class Served:
    url: str
    engine: FakeEngine
    record: Path
    client: httpx.Client
    recorder: Recorder
    stop: Callable[[], None]
    close: Callable[[], None]
    endpoint: WorkerEndpoint

    def post(self, body: bytes, path: str = "/v1/systemone") -> httpx.Response:
        return self.client.post(self.url + path, content=body)

    def wait_for(self, *, numbered: int | None = None, held: int | None = None) -> None:
        """Wait until so many POSTs have got a number, or so many bodies are held."""
        endpoint = self.endpoint
        wait_until(lambda: numbered in (None, endpoint._sequence) and held in (None, endpoint._held))

    def lines(self, kind: str = "") -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.record.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line.get("kind") == kind] if kind else lines


@pytest.fixture(scope="session")
def profile() -> Profile:
    return load_profile("params/cpu-tiny.toml")


@pytest.fixture
def worker(profile: Profile, tmp_path: Path) -> Iterator[Served]:
    engine = FakeEngine()
    record = tmp_path / "worker.jsonl"
    recorder = Recorder(record, engine.name, profile.model.name)
    app = create_app(engine, profile, recorder)
    server = Running(app, app.state.worker.stop)
    closed = False

    def close() -> None:
        nonlocal closed
        server.stop()
        if not closed:
            closed = True
            app.state.worker.close()

    with httpx.Client(trust_env=False, timeout=20) as client:
        yield Served(server.url, engine, record, client, recorder, server.ask_to_stop, close, app.state.worker)
        engine.gate.set()
        close()
