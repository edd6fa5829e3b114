"""Freeze the answers of a run's reference with the protocol, for the profiles of that checkpoint.

Covers: taking one answer a request from a run whose reference gave the same in every pass, and writing them
beside the corpus they answer. What a profile then has to say is returned, not written: pinning a protocol is a
decision. Does not cover: the format of the answers (`kit.campaign.protocol`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.campaign.protocol import CORPUS, ProtocolError, freeze
from kit.campaign.reading import EngineRecords, read_run
from kit.evidence.records import sha256_bytes


def freeze_run(run_dir: str | Path, answers: str = "") -> dict[str, Any]:
    """Write `answers` (default: `reference-PROFILE.json`) from a run; returns what to pin in the profile.

    Raises ProtocolError when the run asked other requests than the protocol folder holds now, had no reference,
    or its passes disagree; then nothing is written.
    """
    run = read_run(run_dir)
    folder = run.profile.protocol_path()
    if sha256_bytes((folder / CORPUS).read_bytes()) != sha256_bytes((run.path / "protocol" / CORPUS).read_bytes()):
        raise ProtocolError(f"run {run.path.name} asked other requests than {folder.name} holds now")
    name = run.profile.campaign.reference
    if name not in run.engines:
        raise ProtocolError(f"run {run.path.name} has no records of a reference engine, whose answers could be frozen")
    file = answers or f"reference-{run.profile.name}.json"
    responses = _agreed(run.engines[name], run.profile.campaign.passes)
    return {"answers": file, "sha256": freeze(folder, responses, file), "responses": len(responses)}


def _agreed(engine: EngineRecords, passes: int) -> dict[str, dict[str, Any]]:
    """Response by request id, the same in every pass but for its latency."""
    first = {name: exchange.response for name, exchange in engine.measured(1).items()}
    for number in range(2, passes + 1):
        for name, exchange in engine.measured(number).items():
            before, now = first.get(name), exchange.response
            if before is None or now is None or before["answers"] != now["answers"]:
                raise ProtocolError(f"the reference answered {name} differently in pass {number}: freeze nothing of it")
    return {name: response for name, response in first.items() if response is not None}
