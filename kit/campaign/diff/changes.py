"""What is different about two runs: packages, machine, device, settings, profile, sources, autotune, protocol, weights.

Covers: every fact the two bundles state about how they were made, one change a fact. Does not cover: which of them
matters, or what they did to answers (`kit.campaign.diff.answers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kit.campaign.diff.evidence import Evidence
from kit.evidence.records import sha256_file

ABSENT = "absent"
# Facts of a device that are about the moment, not about the device.
MOMENTARY = {"taken_utc", "temperature_c", "power_w", "clocks_mhz", "memory", "processes", "processes_listed", "slowdowns", "uuid_sha256"}
KINDS = (
    "kit", "package", "python", "machine", "device", "settings", "profile", "checkpoint", "autotune", "protocol", "source",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One fact that differs. kind: one of KINDS; a, b: as text, "absent" where a bundle does not state it."""

    kind: str
    what: str
    a: str
    b: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def changes(a: Evidence, b: Evidence) -> list[Change]:
    """All differences, kind by kind and by name."""
    ours, theirs = facts(a), facts(b)
    return [
        Change(kind, what, _text(ours[kind].get(what)), _text(theirs[kind].get(what)))
        for kind in KINDS
        for what in sorted({*ours[kind], *theirs[kind]})
        if ours[kind].get(what) != theirs[kind].get(what)
    ]


def facts(bundle: Evidence) -> dict[str, dict[str, Any]]:
    """Everything a bundle states about how it was made: kind -> name -> value."""
    environment, checkpoint = bundle.document("environment.json"), bundle.document("checkpoint.json")
    return {
        "kit": {"version": bundle.document("run.json").get("kit_version"), "auditor": _digest(bundle, "audit.py")},
        "package": _packages(environment),
        "python": {key: environment.get(key) for key in ("python", "implementation", "unicodedata")},
        "machine": dict(flat({key: environment.get(key, {}) for key in ("cpu", "platform")})),
        "device": _device(environment, bundle.document("device.json")),
        "settings": dict(flat(environment.get("settings", {}))),
        "profile": dict(flat(bundle.profile)),
        "checkpoint": {key: checkpoint.get(key) for key in ("kind", "digest", "weights_sum", "calibration", "tokenizer")},
        "autotune": _winners(bundle.document("records/autotune.json")),
        "protocol": _files(bundle, "protocol"),
        "source": dict(bundle.document("sources.json").get("after", {})),
    }


def flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted key -> value of nested tables."""
    for key, value in document.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _packages(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Installed versions; of computing packages also whether they are as their installer recorded them."""
    found = dict(environment.get("versions", {}))
    for name, package in environment.get("packages", {}).items():
        found.setdefault(name, package.get("version"))
        found[f"{name} (own checksums)"] = package.get("status")
    return found


def _device(environment: Mapping[str, Any], device: Mapping[str, Any]) -> dict[str, Any]:
    seen = {key: value for key, value in device.get("before", {}).items() if key not in MOMENTARY}
    return {**dict(flat(seen)), **environment.get("device", {})}


def _winners(ledger: Mapping[str, Any]) -> dict[str, Any]:
    """Kernel and key -> configuration; without winners nothing, whatever the ledger says of itself."""
    return {f"{winner['kernel']} {winner['key']}": winner["config"] for winner in ledger.get("winners", ())}


def _files(bundle: Evidence, folder: str) -> dict[str, str]:
    top = bundle.folder / folder
    return {file.relative_to(top).as_posix(): sha256_file(file) for file in sorted(top.rglob("*")) if file.is_file()}


def _digest(bundle: Evidence, name: str) -> str | None:
    file = bundle.folder / name
    return sha256_file(file) if file.is_file() else None


def _text(value: Any) -> str:
    return ABSENT if value is None else str(value)
