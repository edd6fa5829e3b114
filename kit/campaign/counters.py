"""counters.json: what every engine counted, beside what the cache policy predicts for the same requests.

Covers: counters when ready and when closed, and the forwards of each phase of the campaign by what the cache did
with them, so that a reader sees at a glance whether a second pass was all replays.
Does not cover: judging the difference (`kit.campaign.integrity`).
"""

from __future__ import annotations

from collections import Counter
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
        "phases": _phases(records),
        "mismatches": check.mismatches,
    }


def _phases(records: EngineRecords) -> list[dict[str, Any]]:
    """Forwards of each phase and pass, in the order they ran: {"phase", "pass", action: how many}; warm-ups first."""
    places = {exchange.sequence: (exchange.phase, exchange.pass_number) for exchange in records.exchanges}
    found: dict[tuple[str, int], Counter[str]] = {}
    for line in records.worker_lines:
        if line["kind"] in ("question", "vision"):
            place = ("warm-up", 0) if line["sequence"] is None else places.get(line["sequence"], ("unknown", 0))
            found.setdefault(place, Counter())[line["action"]] += 1
    return [{"phase": phase, "pass": number, **counts} for (phase, number), counts in found.items()]
