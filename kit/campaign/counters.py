"""counters.json: what every engine counted, beside what the cache policy predicts for the same requests.

Does not cover: judging the difference (`kit.campaign.integrity`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit.campaign.graph_policy import check_policy
from kit.campaign.reading import EngineRecords, read_run
from kit.profile import Graph

FORMAT = "kit-counters/1"


def compute_counters(run_dir: str | Path) -> dict[str, Any]:
    """Counters of each engine that keeps any, when ready and when closed, reported and predicted.

    `counters` of an engine are its final ones, as its engine.json has them; {} for engines without caches.
    """
    run = read_run(run_dir)
    return {
        "format": FORMAT,
        "engines": {name: _engine(records, run.profile.graph) for name, records in run.engines.items()},
    }


def _engine(records: EngineRecords, graph: Graph) -> dict[str, Any]:
    counters = records.facts.get("counters", {})
    if not counters:
        return {"counters": {}}
    check = check_policy(records.worker_lines, graph, counters)
    return {
        "counters": counters,
        "ready": {"reported": check.reported_ready, "predicted": check.predicted_ready},
        "closed": {"reported": check.reported_closed, "predicted": check.predicted_closed},
        "mismatches": check.mismatches,
    }
