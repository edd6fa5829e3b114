"""A bundle to be doctored: a copy that shares every file with a clean one until that file is replaced.

Covers: copies by hard links (a thousand of them cost no disk), reading and replacing documents, records and bodies,
remembering what was written, so that the re-sealer leaves a deed as it was done, and reading it once between two writes,
as an auditor does. Does not cover: what is done
(`families`), or putting derived figures right afterwards (`reseal`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kit.evidence.audit.reading import Bundle
from kit.evidence.records import sha256_bytes

Document = dict[str, Any]
ENGINES = ("reference", "native", "graph", "remote")


def clean_copy(bundle: Path, folder: Path) -> Path:
    """A whole copy of a bundle, whose files copies may share: nothing done to them ever reaches the bundle itself."""
    return Path(shutil.copytree(bundle, folder, symlinks=True))


class Content:
    """What a bundle folder holds, to read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Every file's name, sorted."""
        return sorted(path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file())

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def json(self, name: str) -> Any:
        return json.loads(self.read(name))

    def lines(self, name: str) -> list[Document]:
        """All lines of a record, its header first."""
        return [json.loads(line) for line in self.read(name).splitlines()]

    def engines(self, *, recorded: bool = False) -> list[str]:
        """The profile's engines; recorded: only those whose worker kept a record."""
        engines: list[str] = self.json("profile.json")["campaign"]["engines"]
        return [engine for engine in engines if not (recorded and engine == "remote")]

    def exchanges(self, engine: str) -> str:
        """Name of the client's record of an engine."""
        return f"records/{engine}/exchanges.jsonl"

    def worker(self, engine: str) -> str:
        """Name of a worker's own record."""
        return f"records/{engine}/worker.jsonl"


class Suspect(Content):
    """A working copy of a clean copy; every write makes a new file, never into one that the clean copy shares.

    path: the folder. target: what is to be audited, the folder unless a deed packs an archive.
    written: names of all files that the deed wrote, added or removed.
    """

    def __init__(self, clean: Path, folder: Path) -> None:
        super().__init__(folder)
        self.clean, self.target = clean, folder
        self.written: set[str] = set()
        self._read: Bundle | None = None
        for directory, _, names in os.walk(clean):
            place = folder / Path(directory).relative_to(clean)
            place.mkdir(parents=True)
            for name in names:
                os.link(Path(directory) / name, place / name)

    def as_read(self) -> Bundle:
        """The bundle as an auditor reads it, with what was read and recomputed of it kept until a file changes; to read only."""
        if self._read is None:
            self._read = Bundle(str(self.path))
        return self._read

    def forget(self) -> None:
        """A file changed, so whatever was read or recomputed is of another bundle."""
        self._read = None

    def write(self, name: str, data: bytes) -> None:
        """Replace a file, or add one."""
        self.put(name, data)
        self.written.add(name)

    def put(self, name: str, data: bytes) -> None:
        """Replace a file without remembering it as the deed's."""
        self.forget()
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)

    def remove(self, name: str) -> None:
        self.forget()
        (self.path / name).unlink()
        self.written.add(name)

    def rename(self, name: str, other: str) -> None:
        self.forget()
        (self.path / other).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).rename(self.path / other)
        self.written |= {name, other}

    def edit(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON document in place."""
        document = self.json(name)
        change(document)
        self.write(name, as_text(document) if name != "profile.json" else canonical(document))

    def edit_lines(self, name: str, change: Callable[[list[Document]], object]) -> None:
        """Change the lines of a record in place, its header included."""
        lines = self.lines(name)
        change(lines)
        self.write(name, as_lines(lines))

    def substitute(self, name: str, old: str, new: str) -> None:
        """Replace a text wherever a file has it."""
        self.write(name, self.read(name).replace(old.encode(), new.encode()))

    def store(self, kind: str, data: bytes) -> str:
        """Keep a body or a row ("bodies", "rows") under its own digest, and return the digest."""
        digest = sha256_bytes(data)
        name = f"records/{kind}/{digest}"
        if not self.has(name):
            self.write(name, data)
        return digest

    # records, by what they mean

    def edit_worker(self, engine: str, change: Callable[[list[Document]], object]) -> None:
        self.edit_lines(self.worker(engine), change)

    def edit_exchanges(self, engine: str, change: Callable[[list[Document]], object]) -> None:
        self.edit_lines(self.exchanges(engine), change)

    def edit_response(self, engine: str, number: int, change: Callable[[Any], object]) -> None:
        """Change one response wherever it is told: its body, under a new digest, and both sides' records."""
        old = self.lines(self.exchanges(engine))[number]["response_sha256"]
        document = json.loads(self.read(f"records/bodies/{old}"))
        change(document)
        new = self.store("bodies", compact(document))

        def tell(lines: list[Document]) -> None:
            for line in lines:
                if line.get("response_sha256") == old and line.get("sequence") in (number, None):
                    line["response_sha256"] = new

        self.edit_exchanges(engine, tell)
        if engine != "remote":
            self.edit_worker(engine, tell)


def compact(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def canonical(document: Any) -> bytes:
    """As profile.json is written."""
    return (json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def as_text(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def as_lines(lines: list[Document]) -> bytes:
    return b"".join(compact(line) + b"\n" for line in lines)


def questions(lines: list[Document]) -> list[Document]:
    """The question lines of a worker's record that belong to posts."""
    return [line for line in lines if line.get("kind") == "question" and line["sequence"] is not None]


def posts(lines: list[Document]) -> Iterator[Document]:
    return (line for line in lines if line.get("kind") == "post")
