"""Subjects that are real server processes: a worker on its own port, with its record, or a frontend before one.

Covers: posting over HTTP and putting the raw rows of the worker's record beside the response. Does not cover: an
engine's insides, which are another process's.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from kit.campaign.bench import toml_text
from kit.campaign.planted.site import Served, Subject
from kit.campaign.runner import ROUTE, open_client
from kit.engine.base import Event, QuestionResult
from kit.evidence.floats import decode_float32
from kit.serve import process
from kit.serve.replies import SEQUENCE_HEADER

if TYPE_CHECKING:
    from kit.profile import Profile


class ServerSubject(Subject):
    """A worker process, as a client and its record show it.

    engine: which one the worker runs. frontend: whether requests go through one. variables: environment of the
    process beyond the profile's.
    """

    def __init__(
        self, profile: Profile, engine: str, *, frontend: bool = False, variables: Mapping[str, str] | None = None
    ) -> None:
        self.engine, self.watched, self.own_inputs = None, False, True
        self._profile, self._name, self._frontend = profile, engine, frontend
        self._variables = dict(variables or {})
        self._open = ExitStack()
        self._folder = Path(self._open.enter_context(tempfile.TemporaryDirectory()))
        self._client = self._open.enter_context(open_client())
        self._servers = ExitStack()
        self._started = 0
        self.ports: list[int] = []
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Stop what runs and start it anew, on another port and with another record."""
        self._servers.close()
        self._started += 1
        self._record = self._folder / f"worker-{self._started}.jsonl"
        log = self._folder / f"worker-{self._started}.log"
        path = self._folder / "profile.toml"
        path.write_text(toml_text(self._profile.resolved()), encoding="utf-8")
        with mock.patch.dict(os.environ, self._variables):
            worker = self._servers.enter_context(process.start_worker(path, self._name, log=log, record=self._record))
        self._url = worker.url
        if self._frontend:
            front = process.start_frontend(path, worker.url, log=self._folder / "frontend.log")
            self._url = self._servers.enter_context(front).url
        self.ports.append(int(self._url.rpartition(":")[2]))

    def post(self, body: bytes) -> Served:
        reply = self._client.post(self._url + ROUTE, content=body, headers={"content-type": "application/json"})
        sequence = reply.headers.get(SEQUENCE_HEADER)
        questions = tuple(self._recorded(int(sequence))) if sequence and reply.status_code == 200 else ()
        return Served(reply.status_code, reply.content, questions)

    def _recorded(self, sequence: int) -> Iterator[QuestionResult]:
        for line in self._record.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry.get("kind") == "question" and entry.get("sequence") == sequence:
                row = (self._record.with_suffix(".rows") / entry["hidden"]).read_bytes()
                yield QuestionResult(entry["question"], decode_float32(entry["logits"]), row, entry["tokens"], Event())

    def close(self) -> None:
        self._servers.close()
        self._open.close()
