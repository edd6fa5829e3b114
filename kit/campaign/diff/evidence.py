"""One bundle as a diff reads it: its documents as they are, and its records decoded.

Covers: reading leniently (a document that is not there is empty), because the other bundle may come from another
version of the kit; records are read strictly, as a run's own stages read them. Does not cover: whether the bundle
can be believed, which its audit says first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.campaign.reading import EngineRecords, RecordsError, declared_temperatures, read_engine, read_json
from kit.evidence import manifest
from kit.evidence.records import sha256_file

ROWS = "records/rows"


class DiffError(RuntimeError):
    """The two bundles cannot be compared; the message says why."""


@dataclass(frozen=True)
class Evidence:
    """A bundle. engines: those that left records, in the profile's order; requests: request id -> SHA-256 of its bytes."""

    folder: Path
    name: str
    digest: str
    audit: Mapping[str, Any]
    profile: Mapping[str, Any]
    engines: Mapping[str, EngineRecords]
    temperatures: Mapping[str, float]

    def document(self, name: str) -> dict[str, Any]:
        """A JSON document of the bundle; empty where it has none. Raises RecordsError for one that cannot be read."""
        file = self.folder / name
        return read_json(file) if file.is_file() else {}

    def row(self, digest: str) -> bytes | None:
        """The bytes of a hidden row, None where the bundle does not hold it."""
        file = self.folder / ROWS / digest
        return file.read_bytes() if digest and "/" not in digest and file.is_file() else None

    @property
    def dtype(self) -> str:
        """Of hidden rows."""
        return str(self.profile.get("runtime", {}).get("dtype", ""))

    @property
    def label(self) -> str:
        return f"{self.name} ({self.digest[:12]})"


def read_evidence(folder: Path, audit: Mapping[str, Any], name: str) -> Evidence:
    """Read a bundle's folder. Raises DiffError where there is nothing to compare."""
    try:
        profile = read_json(folder / "profile.json")
        engines = {
            engine: read_engine(folder, engine)
            for engine in profile["campaign"]["engines"]
            if (folder / "records" / engine / "exchanges.jsonl").exists()
        }
        temperatures = declared_temperatures(folder, engines.values())
    except (RecordsError, LookupError, TypeError, ValueError, json.JSONDecodeError) as error:
        raise DiffError(f"{name}: its records cannot be read: {error}") from error
    if not engines:
        raise DiffError(f"{name}: no engine left records, so there is nothing to compare")
    sums = folder / manifest.SUMS
    digest = sha256_file(sums) if sums.is_file() else ""
    return Evidence(folder, name, digest, audit, profile, engines, temperatures)
