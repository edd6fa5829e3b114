"""What a drill is, and the record of all drills of a run.

Covers: one drill with its expectations by name, records/drills.jsonl (format kit-drills/1) written and read.
Does not cover: the drills themselves (`kit.campaign.faults` against workers, `kit.campaign.poison` in process).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kit.campaign.reading import read_lines
from kit.evidence.records import JsonlWriter

FORMAT = "kit-drills/1"
RECORD = "records/drills.jsonl"


class DrillFailedError(RuntimeError):
    """A drill did not end as it must; records/drills.jsonl has the details."""


@dataclass(frozen=True)
class Drill:
    """One drill: every expectation by name, and what was seen."""

    drill: str
    checks: dict[str, bool]
    observed: dict[str, Any]

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(self.checks.values())


def record_drills(run_dir: Path, engine: str, drills: Iterable[Drill]) -> list[dict[str, Any]]:
    """Write each drill as it ends, and return the lines after the header.

    Raises DrillFailedError when a drill failed, after all of them have been written.
    """
    file = run_dir / RECORD
    file.unlink(missing_ok=True)  # drills of a stage that was interrupted are run again as a whole
    results = []
    with JsonlWriter(file, {"format": FORMAT, "engine": engine, "run": run_dir.name}) as lines:
        for drill in drills:
            line = asdict(drill) | {"passed": drill.passed}
            lines.write(line)
            results.append(line)
    failed = [f"{line['drill']}: {name}" for line in results for name, ok in line["checks"].items() if not ok]
    if failed:
        raise DrillFailedError("; ".join(failed))
    return results


def read_drills(run_dir: Path) -> list[dict[str, Any]]:
    """The drills a run has recorded."""
    return read_lines(run_dir / RECORD, FORMAT)
