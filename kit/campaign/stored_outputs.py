"""Keep the verdict cells' outputs in notebooks/, for nbval to compare with, and nothing else.

Covers: `python -m kit.campaign.stored_outputs RUN_ID`, which copies the outputs of cells tagged
`nbval-check-output` from an executed run into the reviewable sources and empties every other cell.
Does not cover: comparing them (nbval does).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kit.campaign.run_folder import run_path
from kit.campaign.stage import STAGES
from kit.evidence.records import write_atomic
from kit.profile import PROJECT_ROOT

CHECKED = "nbval-check-output"


def store(source: Path, executed: Path) -> int:
    """Copy checked outputs of `executed` into `source`; returns how many cells were filled.

    Raises ValueError when the executed notebook is not a run of this source.
    """
    notebook = json.loads(source.read_text(encoding="utf-8"))
    ran = [cell for cell in _cells(executed) if "injected-parameters" not in _tags(cell)]
    if [cell["source"] for cell in ran] != [cell["source"] for cell in notebook["cells"]]:
        raise ValueError(f"{executed}: not a run of the present {source.name}; run it again first")
    filled = 0
    for cell, outcome in zip(notebook["cells"], ran, strict=True):
        if cell["cell_type"] != "code":
            continue
        checked = CHECKED in _tags(cell)
        # nbval compares only cells that carry a count.
        cell["execution_count"] = outcome["execution_count"] if checked else None
        cell["outputs"] = [_without_metadata(output) for output in outcome["outputs"]] if checked else []
        filled += checked
    write_atomic(source, (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())
    return filled


def main(run_id: str) -> int:
    """Fill every notebook from a run."""
    for stage in STAGES:
        executed = run_path(run_id) / "notebooks" / f"{stage}.ipynb"
        if executed.exists():
            print(f"{stage}: {store(PROJECT_ROOT / 'notebooks' / executed.name, executed)} verdict cells")
    return 0


def _cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def _tags(cell: dict[str, Any]) -> list[str]:
    tags: list[str] = cell.get("metadata", {}).get("tags", [])
    return tags


def _without_metadata(output: dict[str, Any]) -> dict[str, Any]:
    return {**output, "metadata": {}} if "metadata" in output else output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
