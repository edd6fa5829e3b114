"""What the notebooks of an engine show: driving it once, and its records as tables.

Covers: `drive` (or reading what a finished stage left), counts against the plan, repeats, counters, refusals.
Does not cover: sending (`kit.campaign.runner`) or judging (`kit.campaign.verdict`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from kit.campaign.counters import compute_counters
from kit.campaign.integrity import repeats_gate
from kit.campaign.plan import planned_exchanges
from kit.campaign.reading import RunRecords, exchanges_frame, read_run
from kit.campaign.runner import run_engine

if TYPE_CHECKING:
    from kit.campaign.stage import Stage

def drive(stage: Stage, engine: str) -> None:
    """Send the engine everything planned for it, unless this stage has done so already."""
    if not stage.finished:
        run_engine(stage.run, engine)


def facts_of(stage: Stage, engine: str) -> dict[str, Any]:
    """engine.json of an engine."""
    facts: dict[str, Any] = stage.read_json(f"records/{engine}/engine.json")
    return facts


def exchanges(stage: Stage, engine: str) -> pd.DataFrame:
    """One row an exchange of this engine."""
    frame = exchanges_frame(read_run(stage.path))
    return frame[frame["engine"] == engine]


def counts(stage: Stage, engine: str) -> dict[str, int]:
    """Posts sent, planned, answered, refused, and with another status than planned."""
    records = read_run(stage.path).engines[engine].exchanges
    return {
        "posts": len(records),
        "planned": len(planned_exchanges(stage.run.protocol, stage.run.profile, engine)),
        "ok": sum(line.status == 200 for line in records),
        "rejected": sum(line.status == 422 for line in records),
        "unexpected": sum(line.status != line.expect for line in records),
    }


def repeats(stage: Stage, engine: str) -> int | str:
    """Repeated answers that differ from the first measured pass, or why there is nothing to compare."""
    gate = repeats_gate(read_run(stage.path), engine)
    return gate.value if isinstance(gate.value, int) else gate.detail


def describe_frame(facts: dict[str, Any]) -> pd.DataFrame:
    """What an engine says of itself, nested facts flattened to dotted names."""
    flat = pd.json_normalize(facts["describe"])
    return flat.T.rename(columns={0: "value"}) if len(flat) else pd.DataFrame({"value": []})


def counters_frame(stage: Stage) -> pd.DataFrame:
    """Reported and predicted final counters of the graph caches side by side, one row a cache and counter."""
    closed = compute_counters(stage.path)["engines"]["graph"]["closed"]
    rows = {
        (cache, name): {"reported": (closed["reported"] or {}).get(cache, {}).get(name), "predicted": value}
        for cache, values in closed["predicted"].items()
        for name, value in values.items()
    }
    return pd.DataFrame(rows).T


def refusals_frame(stage: Stage) -> pd.DataFrame:
    """One row a refused request: who refused it, what was said, and whether the next request was answered."""
    return pd.DataFrame(_refusals(stage, read_run(stage.path)))


def _refusals(stage: Stage, run: RunRecords) -> list[dict[str, Any]]:
    rows = []
    for engine, records in run.engines.items():
        for line, following in zip(records.exchanges, records.exchanges[1:], strict=False):
            if line.phase != "refused":
                continue
            said = stage.read_json(f"records/bodies/{line.response_sha256}")
            rows.append(
                {
                    "engine": engine, "request": line.request_id, "refused": line.status == 422,
                    "error": said.get("error"), "detail": said.get("detail"),
                    "recovered": following.phase == "recovery" and following.status == 200,
                }
            )  # fmt: skip
    return rows


def timings_frame(stage: Stage) -> pd.DataFrame:
    """Median milliseconds of each part of a request, by engine, as the workers measured them."""
    rows = [
        {"engine": name, **line.post["timings_ms"]}
        for name, records in read_run(stage.path).engines.items()
        for line in records.exchanges
        if line.phase == "measured" and line.post is not None
    ]
    return pd.DataFrame(rows).groupby("engine", sort=False).median() if rows else pd.DataFrame()
