"""The made-up run with every document a bundle may have: generated questions, layers, floor, faults, a diagnosis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kit.campaign.layer_drift import layers_document
from kit.campaign.planted.document import control_row, document, dose_row, fault_row
from tests.campaign.diagnosis.test_evidence import compared
from tests.campaign.generated import made_up
from tests.campaign.planted.test_document import FAULT, SMALL, trial
from tests.campaign.test_layer_drift import pair


def add_everything(run: Path) -> Path:
    """Write them into a run folder and return it."""
    made_up.write(run, 60, change=lambda number, logits: logits if number % 10 else logits[::-1])
    put(run, "layers.json", layers_document([pair("reference", "oracle", 1.1), pair("native", "oracle", 1.3)], "d1"))
    put(run, "records/floor.json", floor())
    put(run, "records/faults.json", faults())
    put(run, "diagnosis.json", compared(run))
    return run


def put(run: Path, name: str, value: dict[str, Any]) -> None:
    (run / name).write_text(json.dumps(value))


def floor() -> dict[str, Any]:
    """floor.json of one form that was measured and one that was not harmless here."""
    quantiles = {"p99": {"value": 0.004, "low": 0.003, "high": 0.005}}
    group = {"questions": 400, "contents": 200, "flips": 1} | dict.fromkeys(("hidden", "steps", "probability"), quantiles)
    forms = [("row0", "row 0 of a batch of two", True), ("padded", "masked rows in front", False)]
    return {
        "format": "kit-floor/1",
        "says": "the reference against itself under harmless changes",
        "forms": [{"name": n, "what": what, "detail": "on this machine", "measured": measured} for n, what, measured in forms],
        "summary": {"row0": {"text": group, "image": group}},
        "band": {kind: {"hidden": 0.01, "steps": 2.5, "probability": 0.004} for kind in ("text", "image")},
    }  # fmt: skip


def faults() -> dict[str, Any]:
    """faults.json of one fault at two doses, which HTTP misses, and one control that was flagged."""
    doses = [dose_row("1.01", trial("bitwise"), None), dose_row("1.5", trial("bitwise", "rows"), None)]
    return document({"profile": "tiny"}, [fault_row(FAULT, doses)], [control_row(SMALL, trial("lattice"))])
