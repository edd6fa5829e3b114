"""Freeze the answers of a run's reference with the protocol, for the profiles of that checkpoint.

Covers: taking one answer a request from a run that passed and whose reference gave the same in every pass, and
writing them beside the corpus they answer. What profiles then have to say is returned, not written: pinning a
protocol is a decision. Does not cover: the format of the answers (`kit.campaign.protocol`).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from kit.campaign.protocol import CORPUS, Protocol, ProtocolError, freeze, load_protocol
from kit.campaign.reading import EngineRecords, read_json, read_run
from kit.evidence.records import sha256_bytes
from kit.profile import PROJECT_ROOT

PROFILES = PROJECT_ROOT / "params"
PASSES = 2  # at least: one pass cannot show that the reference repeats itself


def freeze_run(run_dir: str | Path, answers: str = "") -> dict[str, Any]:
    """Write `answers` (default: `reference-PROFILE.json`) from a run; returns what to pin in the profile.

    `repin` names the profiles of params/ that pin the protocol as it was before. Raises ProtocolError when the
    run did not pass, asked other requests than the protocol folder holds now, had no reference, or its passes
    are not whole or disagree, and for other answers of that name; then nothing is written.
    """
    if not (Path(run_dir) / "run.json").is_file():
        raise ProtocolError(f"{run_dir}: no such run folder (expected one with run.json in it)")
    run = read_run(run_dir)
    if not (run.path / "verdict.json").is_file():
        raise ProtocolError(f"run {run.path.name} has no verdict, so it is not finished: freeze nothing of it")
    verdict = read_json(run.path / "verdict.json").get("verdict")
    if verdict != "pass":
        raise ProtocolError(f"the verdict of run {run.path.name} is {verdict!r}, not 'pass': freeze nothing of it")
    folder = run.profile.protocol_path()
    if sha256_bytes((folder / CORPUS).read_bytes()) != sha256_bytes((run.path / "protocol" / CORPUS).read_bytes()):
        raise ProtocolError(f"run {run.path.name} asked other requests than {folder.name} holds now")
    name = run.profile.campaign.reference
    if name not in run.engines:
        raise ProtocolError(f"run {run.path.name} has no records of a reference engine, whose answers could be frozen")
    file = answers or f"reference-{run.profile.name}.json"
    responses = _agreed(run.engines[name], run.protocol, max(PASSES, run.profile.campaign.passes))
    before = load_protocol(folder).sha256
    sha256 = freeze(folder, responses, file, replace=False)
    repin = profiles_that_pin(before) if sha256 != before else []
    return {"answers": file, "sha256": sha256, "responses": len(responses), "repin": repin}


def profiles_that_pin(sha256: str) -> list[str]:
    """Names of the files in params/ that pin a protocol by this digest."""
    pins = {path.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(PROFILES.glob("*.toml"))}
    return [name for name, profile in pins.items() if profile.get("protocol", {}).get("sha256") == sha256]


def _agreed(engine: EngineRecords, protocol: Protocol, passes: int) -> dict[str, dict[str, Any]]:
    """Response by request id: one for every case in every pass, the same but for its latency."""
    first: dict[str, dict[str, Any]] = {}
    for number in range(1, passes + 1):
        measured = engine.measured(number)
        for case in protocol.cases:
            now = measured[case.id].response if case.id in measured else None
            if now is None:
                raise ProtocolError(f"the reference has no answer to {case.id} in pass {number}: freeze nothing of it")
            if _judged(now) != _judged(first.setdefault(case.id, now)):
                raise ProtocolError(f"the reference answered {case.id} differently in pass {number}: freeze nothing of it")
    return first


def _judged(response: dict[str, Any]) -> dict[str, Any]:
    """A response without how long it took."""
    usage = response.get("usage")
    kept = {name: value for name, value in usage.items() if name != "latency_ms"} if isinstance(usage, dict) else usage
    return response | {"usage": kept}
