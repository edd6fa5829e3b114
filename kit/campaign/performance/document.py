"""What a session found as plain data: the samples file, and the rows that follow from it.

Covers: records/performance_samples.json (every sample, the logits and the memory behind a row) and
`measured_rows`, which computes the rows of performance.json from that file alone, as the audit does again.
Does not cover: rows of the campaign's own requests (`kit.campaign.bench`), or targets (`targets`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kit.campaign.statistics import median, pooled, quantile, ratio_of_medians
from kit.contract.answer import softmax
from kit.evidence.floats import decode_float32, float32_hex

if TYPE_CHECKING:
    from kit.campaign.performance.plan import Measured
    from kit.contract.answer import Calibration

FORMAT = "kit-performance-samples/1"
FILE = "records/performance_samples.json"
GIB = 1 << 30
DIGITS = 4  # of a millisecond: a tenth of a microsecond

# What a figure is: of the yardstick, of an engine that qualifies, of another way to run the reference, of a bound.
CLASSES = {
    "reference": "reference", "eager": "candidate", "graph": "candidate", "remote": "candidate",
    "reference-graph": "baseline", "merged": "baseline", "merged-graph": "baseline", "compiled-graph": "baseline",
    "merged-compiled-graph": "baseline", "gemm-floor": "floor",
}  # fmt: skip
BASES = ("reference", "reference-graph")


def samples_document(found: Measured, calibration: Calibration) -> dict[str, Any]:
    """The samples file: entries in the order they were measured. Logits are hex of float32, little endian."""
    return {
        "format": FORMAT,
        "weight_bytes": found.facts["weight_bytes"],
        "temperatures": {"text": calibration.for_images(False), "image": calibration.for_images(True)},
        "entries": [
            {
                "round": entry.number, "anchor": entry.anchor, "engine": entry.engine, "workload": entry.workload,
                "way": entry.way, "tokens": entry.tokens, "images": entry.images,
                "wall_ms": _rounded(entry.series.wall), "device_ms": _rounded(entry.series.device),
                "logits": None if entry.logits is None else [float32_hex(values) for values in entry.logits],
                "cold_ms": None if entry.cold_ms is None else round(entry.cold_ms, DIGITS),
                "extra_bytes": entry.extra_bytes, "pool_bytes": entry.pool_bytes,
            }
            for entry in found.entries
        ],
    }  # fmt: skip


def measured_rows(samples: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row an entry that is not an anchor, from the samples file."""
    rounds: dict[int, dict[str, Mapping[str, Any]]] = {}
    for entry in samples["entries"]:
        rounds.setdefault(entry["round"], {})[entry["engine"]] = entry
    expected = {_place(e): e["logits"] for e in samples["entries"] if e["engine"] == "reference" and not e["anchor"]}
    return [
        _row(samples, entry, rounds[entry["round"]], expected.get(_place(entry)))
        for entry in samples["entries"]
        if not entry["anchor"]
    ]


def _row(
    samples: Mapping[str, Any],
    entry: Mapping[str, Any],
    together: Mapping[str, Mapping[str, Any]],
    expected: Sequence[str] | None,
) -> dict[str, Any]:
    wall, device = pooled(entry["wall_ms"]), pooled(entry["device_ms"])
    temperature = samples["temperatures"]["image" if entry["images"] else "text"]
    return {
        "engine": entry["engine"],
        "workload": entry["workload"],
        "way": entry["way"],
        "tokens": entry["tokens"],
        "samples": len(wall),
        "median_ms": median(wall),
        "p95_ms": quantile(wall, 0.95),
        "min_ms": min(wall),
        "max_ms": max(wall),
        "device_median_ms": median(device) if device else None,
        "cold_ms": entry["cold_ms"],
        "peak_gib": peak_gib(samples["weight_bytes"], entry),
        "pool_gib": entry["pool_bytes"] / GIB,
        "class": CLASSES[entry["engine"]],
        "drift": drift(entry["logits"], expected, temperature),
        "ratios": {
            base: ratio_of_medians(entry["wall_ms"], together[base]["wall_ms"])
            for base in BASES
            if base in together and base != entry["engine"]
        },
    }


def peak_gib(weight_bytes: int, entry: Mapping[str, Any]) -> float | None:
    """Weights, what a run takes besides, and what recordings hold; None where memory cannot be seen."""
    if entry["extra_bytes"] is None:
        return None
    return float((weight_bytes + entry["extra_bytes"] + entry["pool_bytes"]) / GIB)


def drift(ours: Sequence[str] | None, theirs: Sequence[str] | None, temperature: float) -> float | None:
    """Largest change of a probability over all questions; None where one side has no logits."""
    if ours is None or theirs is None:
        return None
    pairs = zip(ours, theirs, strict=True)
    return max(
        abs(p - q)
        for a, b in pairs
        for p, q in zip(_probabilities(a, temperature), _probabilities(b, temperature), strict=True)
    )


def _probabilities(logits: str, temperature: float) -> Sequence[float]:
    return softmax(decode_float32(logits), temperature)


def _place(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry["workload"], entry["way"], entry["tokens"]


def _rounded(blocks: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[round(value, DIGITS) for value in block] for block in blocks]
