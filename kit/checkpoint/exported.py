"""An exported checkpoint: the folder the native engine loads directly, and how it is told from any other.

Covers: the completion marker (export.json, written last), the fingerprint of what an export was made from, and
`open_export`, which holds every file to its size and SHA-256 before anything is loaded and refuses folders that
are unfinished, changed, foreign or of another version. Does not cover: making one (`kit.checkpoint.export`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kit.checkpoint.files import CheckpointError, digest_of, list_files
from kit.evidence.records import sha256_file, sha256_json

FORMAT = "kit-export/1"
MARKER = "export.json"
PROGRESS = "export-progress.json"
FOREIGN_MARKERS = ("jemm_export.json", "export_manifest.json")  # of the earlier Rust/CUDA engine
CONTRACT = 1  # meaning of the files in an export; a loader knows one
HASHING = min(8, os.cpu_count() or 1)  # files hashed at once: a disk gives more than one hash can take
SHOWN = 5
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """One file of an export. origin: the input it is byte for byte, or "" for one that was put together here."""

    bytes: int
    sha256: str
    origin: str = ""

    @classmethod
    def from_json(cls, value: object) -> Entry:
        """An entry as it is written in a marker or in notes of progress. Raises ValueError for anything else."""
        if not isinstance(value, dict) or not {"bytes", "sha256"} <= value.keys() <= {"bytes", "sha256", "origin"}:
            raise ValueError("an entry is not an object of bytes, sha256 and origin")
        size, sha256, origin = value["bytes"], value["sha256"], value.get("origin", "")
        if type(size) is not int or size < 0 or not isinstance(origin, str):
            raise ValueError("an entry has bytes that are no size or an origin that is no text")
        if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
            raise ValueError("an entry has a sha256 that is not 64 hex digits")
        return cls(size, sha256, origin)


@dataclass(frozen=True)
class Marker:
    """export.json.

    source: where the inputs came from, in words. digest: of the checkpoint they are. inputs: SHA-256 by
    `base/NAME` and `adapter/NAME`. contract: what the loader relies on. producer: what made the export. files:
    by name below the folder.
    """

    source: str
    digest: str
    inputs: dict[str, str]
    contract: dict[str, Any]
    producer: dict[str, Any]
    files: dict[str, Entry]

    def fingerprint(self) -> str:
        """SHA-256 over everything the bytes of an export are a function of."""
        return fingerprint(self.inputs, self.contract, self.producer)

    def to_json(self) -> dict[str, Any]:
        """The document as it is written."""
        return {"format": FORMAT, "fingerprint": self.fingerprint()} | asdict(self)


def fingerprint(inputs: Mapping[str, str], contract: Mapping[str, Any], producer: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of inputs, contract and producer."""
    return sha256_json({"format": FORMAT, "inputs": inputs, "contract": contract, "producer": producer})


def open_export(folder: Path, digest: str = "") -> Marker:
    """Read the marker and verify every file against it. Reads every byte; touches no device.

    digest: what the exported checkpoint must be, "" accepts any. Raises CheckpointError listing what is wrong.
    """
    marker = read_marker(folder)
    if digest and marker.digest != digest:
        raise CheckpointError(
            f"{folder}: an export of checkpoint {marker.digest[:12]}..., the profile pins {digest[:12]}...: "
            "export the pinned checkpoint"
        )
    problems = [*_file_problems(folder, marker)]
    if problems:
        more = f" and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise CheckpointError(
            f"{folder}: not the export that was finished: {'; '.join(problems[:SHOWN])}{more}; "
            "export again into a new folder"
        )
    return marker


def read_marker(folder: Path) -> Marker:
    """The completion marker of a folder, checked in itself. Raises CheckpointError for anything else."""
    path = folder / MARKER
    if not path.is_file() or path.is_symlink():
        raise CheckpointError(_no_marker(folder))
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise CheckpointError(f"{path}: format is {data['format']!r}, this kit reads {FORMAT!r}: export again")
        files = {name: Entry.from_json(entry) for name, entry in data["files"].items()}
        marker = Marker(data["source"], data["digest"], data["inputs"], data["contract"], data["producer"], files)
        _check_kinds(marker)
        intact = data["fingerprint"] == marker.fingerprint() and marker.digest == digest_of(marker.inputs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path}: damaged ({error!r}): export again into a new folder") from error
    if marker.contract.get("version") != CONTRACT:
        raise CheckpointError(
            f"{path}: contract version {marker.contract.get('version')!r}, this kit loads {CONTRACT}: export again"
        )
    if not intact:
        raise CheckpointError(f"{path}: its fingerprint is not that of what it lists, so it was changed: export again")
    return marker


def _check_kinds(marker: Marker) -> None:
    """Raise ValueError for a value that is not what `Marker` declares."""
    if not isinstance(marker.source, str) or not isinstance(marker.digest, str):
        raise ValueError("source and digest must be text")
    if not isinstance(marker.contract, dict) or not isinstance(marker.producer, dict):
        raise ValueError("contract and producer must be objects")
    if not isinstance(marker.inputs, dict) or not all(isinstance(sha, str) for sha in marker.inputs.values()):
        raise ValueError("inputs must be an object of SHA-256 by name")
    rows = marker.contract.get("head_rows")
    if "head_rows" not in marker.contract or (rows is not None and (type(rows) is not int or rows < 1)):
        raise ValueError("contract.head_rows must be a number of rows or null")


def file_entry(path: Path, origin: str = "") -> Entry:
    """Size and SHA-256 of a file as it is now."""
    return Entry(path.stat().st_size, sha256_file(path), origin)


def hash_many(paths: Iterable[Path]) -> list[str]:
    """SHA-256 of several files, read side by side."""
    with ThreadPoolExecutor(HASHING) as pool:
        return list(pool.map(sha256_file, paths))


def _no_marker(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: no such folder (python -m kit checkpoint PROFILE export {folder} makes it)"
    if (folder / PROGRESS).exists():
        return f"{folder}: an export that was not finished: run the same `kit checkpoint PROFILE export` again"
    foreign = [name for name in FOREIGN_MARKERS if (folder / name).exists()]
    if foreign:
        return f"{folder}: {foreign[0]} marks an export of the earlier Rust/CUDA engine, which this kit does not load"
    return f"{folder}: not an export: it has no {MARKER}"


def _file_problems(folder: Path, marker: Marker) -> Iterator[str]:
    """Names first, then sizes, then, if all of that is right, hashes."""
    for name in marker.files:
        if not is_plain(name):
            yield f"{name!r} is not a plain relative name"
            return
    present = list_files(folder)  # refuses links
    present.pop(MARKER)
    present.pop(PROGRESS, None)  # left behind where the very last step was interrupted
    wrong = [f"{name} is missing" for name in sorted(marker.files.keys() - present.keys())]
    wrong += [f"{name} does not belong to it" for name in sorted(present.keys() - marker.files.keys())]
    for name in sorted(present.keys() & marker.files.keys()):
        size = present[name].stat().st_size
        if size != marker.files[name].bytes:
            wrong.append(f"{name} has {size} bytes, expected {marker.files[name].bytes}")
    if wrong:
        yield from wrong
        return
    names = sorted(marker.files)
    for name, found in zip(names, hash_many(present[name] for name in names), strict=True):
        entry = marker.files[name]
        if found != entry.sha256:
            yield f"{name} has SHA-256 {found[:12]}..., expected {entry.sha256[:12]}..."
        if entry.origin and marker.inputs.get(entry.origin) != entry.sha256:
            yield f"{name} is not its input {entry.origin}"


def is_plain(name: str) -> bool:
    """A relative name with `/` that stays below its folder."""
    parts = PurePosixPath(name).parts
    below = bool(parts) and parts[0] != "/" and ".." not in parts
    return below and "\\" not in name and str(PurePosixPath(name)) == name
