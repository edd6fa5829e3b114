"""Files of a run: written whole or not at all, and append-only lines that survive a kill.

Covers: atomic files, JSON documents, JSONL records with a format header, digests, bodies stored by digest.
Standard library only. Does not cover: what a record means (its writer) or checking one (`audit.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

BLOCK = 8 << 20


class RecordError(ValueError):
    """A record file is not what it should be; the message names file, line and what was expected."""


def write_atomic(path: str | Path, data: bytes) -> None:
    """Write a file so that a reader sees the old content or all of the new, also after a crash."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: str | Path, document: Any) -> None:
    """A JSON document, indented for people, atomically. NaN and infinities are refused."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    write_atomic(path, (text + "\n").encode())


class JsonlWriter:
    """Append-only JSON lines, flushed one by one; the first line is the header and names the format.

    A new file is started with the header; an existing one is refused, since records are never mixed.
    """

    def __init__(self, path: str | Path, header: Mapping[str, Any]) -> None:
        if "format" not in header:
            raise RecordError(f"{path}: a record file needs a header with its format")
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("xb")
        self.write(header)

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one line and hand it to the operating system."""
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        self._file.write(text.encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Make everything durable; safe to call twice."""
        if not self._file.closed:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self) -> JsonlWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_jsonl(path: str | Path, expected_format: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and lines of a record file. Raises RecordError naming the line that cannot be read."""
    lines = Path(path).read_bytes().split(b"\n")
    if lines[-1] != b"":
        raise RecordError(f"{path}: the last line is cut off")
    documents = [_parse(line, path, number) for number, line in enumerate(lines[:-1], 1)]
    if not documents or documents[0].get("format") != expected_format:
        found = documents[0].get("format") if documents else None
        raise RecordError(f"{path}: format is {found!r}, expected {expected_format!r}")
    return documents[0], documents[1:]


def sha256_bytes(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: str | Path) -> str:
    """SHA-256 of a file in hex, read in blocks."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def sha256_json(document: Any) -> str:
    """SHA-256, in hex, of a document as canonical JSON: sorted keys, no spaces, text as it is."""
    return sha256_bytes(json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def store_body(folder: str | Path, data: bytes) -> str:
    """Keep a body under its own SHA-256 (once) and return the digest."""
    digest = sha256_bytes(data)
    target = Path(folder) / digest
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, data)
    return digest


def _parse(line: bytes, path: str | Path, number: int) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{path}, line {number}: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise RecordError(f"{path}, line {number}: expected an object")
    return document
