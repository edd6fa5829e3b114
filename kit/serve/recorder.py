"""The worker's record: one JSONL file with the raw outcome of every forward and the fate of every POST.

Covers: format kit-worker/2, its lines, and when they reach the file. Lines of one request are written as one
block, each flushed to the system, before the reply is sent; the file is synced to the disk when it is closed.
Hidden rows (10 KB a question at 27B) are kept as they are, once, in a folder of files named by their SHA-256;
a line names the digest, and the row is on disk before the line is.
A line that cannot be written raises: evidence is never dropped in silence.
Does not cover: judging (`kit.campaign.drift`, `kit.evidence.audit`).

`kind` of a line: `ready` after the warm-ups, `vision` and `question` for each forward, `post` for each numbered
POST, `closed` at an orderly stop. Statuses of `post` are those sent; 499 marks a request whose client left
while it waited (nothing was sent, response_sha256 is null).
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.engine.base import Event
from kit.evidence.floats import float32_hex
from kit.evidence.records import sha256_bytes, store_body

if TYPE_CHECKING:
    from kit.engine.base import Counters, Decision, Prepared

FORMAT = "kit-worker/2"
CLIENT_LEFT = 499

Line = dict[str, Any]


class RecordError(RuntimeError):
    """The record file cannot be created."""


class Recorder:
    """Writes lines; without a path it accepts them and writes nothing. Thread-safe."""

    def __init__(self, path: Path | None, engine: str, model: str, rows: Path | None = None) -> None:
        """Create the file and write its header. Raises RecordError: one record belongs to one worker.

        rows: folder for hidden rows; default: `<name of the record>.rows` beside it.
        """
        self._lock = threading.Lock()
        self._file = None
        if path is None:
            return
        self._rows = rows or path.with_suffix(".rows")
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
            self._file = path.open("xb")
        except FileExistsError as error:
            raise RecordError(f"{path} exists: a record belongs to one worker; name another file") from error
        except OSError as error:
            raise RecordError(f"{path}: cannot create the record: {error.strerror}") from error
        self.write({"format": FORMAT, "engine": engine, "model": model})

    def write(self, *lines: Line) -> None:
        """Append lines as one block. Raises OSError, or ValueError for a number JSON does not have."""
        encoded = [
            json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
            for line in lines
        ]
        if self._file is None:
            return
        with self._lock:
            for line in encoded:
                self._file.write(line)
                self._file.flush()

    def forwards(
        self, prepared: Prepared, decision: Decision, sequence: int | None, warmup: str | None, *more: Line
    ) -> None:
        """Keep the hidden rows of a request, then write its lines and `more` as one block."""
        if self._file is not None:
            for result in decision.questions:
                store_body(self._rows, result.hidden)
        self.write(*forward_lines(prepared, decision, sequence, warmup), *more)

    def close(self) -> None:
        """Sync the file to the disk and close it."""
        if self._file is None:
            return
        with self._lock:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()


def forward_lines(prepared: Prepared, decision: Decision, sequence: int | None, warmup: str | None) -> list[Line]:
    """The `vision` line of a request with images, then a `question` line for each question, in order.

    Logits are hex of little-endian float32; the hidden row is named by the SHA-256 of its bytes.
    """
    grids = [list(grid) for grid in prepared.grids]
    origin: Line = {"sequence": sequence, "warmup": warmup}
    lines: list[Line] = []
    if grids:
        lines.append({"kind": "vision", **origin, "grids": grids, **_event(decision.vision or Event())})
    for index, (asked, result) in enumerate(zip(prepared.questions, decision.questions, strict=True)):
        lines.append(
            {
                "kind": "question",
                **origin,
                "question": result.question_id,
                "index": index,
                "type": asked.question.type,
                "candidates": [candidate.id for candidate in asked.question.candidates],
                "tokens": result.tokens,
                "grids": grids,
                **_event(result.event),
                "ms": result.milliseconds,
                "logits": float32_hex(result.logits),
                "hidden": sha256_bytes(result.hidden),
            }
        )
    return lines


def post_line(
    sequence: int,
    path: str,
    status: int,
    request_sha256: str,
    response_sha256: str | None,
    latency_ms: float,
    *,
    input_tokens: int | None = None,
    temperature: float | None = None,
    timings_ms: dict[str, float] | None = None,
    counters: Counters | None = None,
) -> Line:
    """The last line of a request. counters: of the engine's graph caches behind it, {} where none ran."""
    return {
        "kind": "post",
        "sequence": sequence,
        "path": path,
        "status": status,
        "request_sha256": request_sha256,
        "response_sha256": response_sha256,
        "input_tokens": input_tokens,
        "temperature": temperature,
        "latency_ms": latency_ms,
        "timings_ms": timings_ms or {},
        "counters": counters or {},
    }


def _event(event: Event) -> Line:
    return {"key": event.key, "action": event.action, "bytes": event.bytes, "pool": event.pool}
