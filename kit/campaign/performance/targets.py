"""What a native engine on an H200 was meant to reach, and whether it did: facts, not gates.

Covers: the list of targets and their outcome from the rows of performance.json. A target whose rows were not
measured is "not measured", never met. Does not cover: why one was missed (the profile in performance.json).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

RATIO_BOUNDS = {98: 0.65, 171: 0.65, 392: 0.65, 1024: 0.75, 2282: 0.75}
SPEEDUP_BOUNDS = {98: 5.0, 392: 2.6}
VISION_MS = 6.0
PEAK_GIB = 4.0
PEAK_TOKENS = 2282

Row = Mapping[str, Any]


class Target(NamedTuple):
    """what: in words. value: None where it was not measured. at_least: the bound is a lower one."""

    what: str
    bound: float
    value: float | None
    at_least: bool = False

    @property
    def outcome(self) -> str:
        if self.value is None:
            return "not measured"
        return "met" if (self.value >= self.bound if self.at_least else self.value <= self.bound) else "missed"


def targets(rows: Sequence[Row], weight_bytes: int) -> list[dict[str, Any]]:
    """Every target as plain data."""
    found = [*_ratios(rows), *_speedups(rows), _vision(rows), _peak(rows, weight_bytes / (1 << 30))]
    return [
        {"target": t.what, "bound": t.bound, "at_least": t.at_least, "value": t.value, "outcome": t.outcome}
        for t in found
    ]


def _ratios(rows: Sequence[Row]) -> list[Target]:
    return [
        Target(f"graph / reference-graph, {tokens} tokens", bound, _ratio(rows, tokens, "reference-graph"))
        for tokens, bound in RATIO_BOUNDS.items()
    ]


def _speedups(rows: Sequence[Row]) -> list[Target]:
    found = []
    for tokens, bound in SPEEDUP_BOUNDS.items():
        ratio = _ratio(rows, tokens, "reference")
        value = 1 / ratio if ratio else None
        found.append(Target(f"reference / graph, {tokens} tokens", bound, value, at_least=True))
    return found


def _ratio(rows: Sequence[Row], tokens: int, base: str) -> float | None:
    row = _find(rows, "graph", "text", tokens)
    ratio: float | None = row["ratios"][base]["ratio"] if row and base in row["ratios"] else None
    return ratio


def _vision(rows: Sequence[Row]) -> Target:
    row = _find(rows, "graph", "vision-768x512")
    return Target("graph: vision 768x512, ms", VISION_MS, row["median_ms"] if row else None)


def _peak(rows: Sequence[Row], weights_gib: float) -> Target:
    """Over every workload of up to PEAK_TOKENS tokens; longer prompts show theirs in their own rows."""
    mine = [row for row in rows if row["engine"] == "graph" and row.get("peak_gib") is not None]
    peaks = [row["peak_gib"] for row in mine if row["tokens"] <= PEAK_TOKENS]
    return Target("graph: GiB above the weights", PEAK_GIB, max(peaks) - weights_gib if peaks else None)


def _find(rows: Sequence[Row], engine: str, workload: str, tokens: int | None = None) -> Row | None:
    matching = (r for r in rows if r["engine"] == engine and r["workload"] == workload)
    return next((row for row in matching if tokens is None or row["tokens"] == tokens), None)
