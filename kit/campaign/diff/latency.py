"""How much slower or faster B is than A: ratios of latencies, each with a 95% interval.

Covers: the campaign's own requests in their last measured pass (geometric mean of B over A, request by request, as
the server reports them, resampled by request) and, on GPUs, the timed workloads of stage 09 (ratio of medians, the
blocks of each bundle resampled by themselves: two runs share no rounds). Plain Python with one seed, so that the same
bundles give the same interval everywhere. Does not cover: why; two machines, loads or clocks differ in more than
code, and an interval only knows the noise within each run.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kit.campaign.bench import figure_name
from kit.campaign.diff.evidence import Evidence
from kit.campaign.performance.document import FILE as SAMPLES
from kit.campaign.statistics import RESAMPLES, SEED, median, pooled, quantile, resample

LEAST = 5  # requests or blocks behind an interval
REQUESTS = "requests of the protocol"


def compare_latency(a: Evidence, b: Evidence) -> list[dict[str, Any]]:
    """One row an engine and workload that both bundles timed: ratio B/A with low, high, and both medians in ms."""
    return [*_requests(a, b), *_workloads(a, b)]


def changed(row: Mapping[str, Any]) -> str:
    """In a word: "slower", "faster", "same" (the interval holds 1), "unsure" (too few samples for an interval)."""
    if row["low"] is None:
        return "unsure"
    return "slower" if row["low"] > 1 else "faster" if row["high"] < 1 else "same"


# ---------------------------------------------------------------- the campaign's requests


def _requests(a: Evidence, b: Evidence) -> Iterator[dict[str, Any]]:
    for engine in a.engines:
        if engine not in b.engines:
            continue
        ours, theirs = _times(a, engine), _times(b, engine)
        shared = [key for key in ours if key in theirs]
        if shared:
            yield _row(
                figure_name(engine), REQUESTS, [ours[key] for key in shared], [theirs[key] for key in shared],
                *_geometric([theirs[key] / ours[key] for key in shared]),
            )  # fmt: skip


def _times(bundle: Evidence, engine: str) -> dict[tuple[str, str], float]:
    """(request id, digest of its bytes) -> milliseconds the server reports, in the last measured pass."""
    last = max((x.pass_number for x in bundle.engines[engine].exchanges if x.phase == "measured"), default=0)
    measured = bundle.engines[engine].measured(last)
    return {(x.request_id, x.request_sha256): x.latency_ms for x in measured.values() if x.latency_ms}


def _geometric(ratios: Sequence[float]) -> tuple[float, float | None, float | None]:
    logs = [math.log(ratio) for ratio in ratios]

    def mean_of(drawn: Sequence[int]) -> float:
        return math.exp(math.fsum(logs[i] for i in drawn) / len(drawn))

    everything = range(len(logs))
    return mean_of(everything), *_interval(len(logs), lambda chance: mean_of(resample(chance, len(logs))))


# ---------------------------------------------------------------- the timed workloads of stage 09


def _workloads(a: Evidence, b: Evidence) -> Iterator[dict[str, Any]]:
    ours, theirs = _blocks(a), _blocks(b)
    for place, one in ours.items():
        other = theirs.get(place)
        if other is None:
            continue

        def ratio(chance: random.Random, one: Any = one, other: Any = other) -> float:
            numerator = pooled([other[i] for i in resample(chance, len(other))])
            return median(numerator) / median(pooled([one[i] for i in resample(chance, len(one))]))

        engine, workload, way, tokens = place
        name = f"{workload}, {tokens} tokens, {way}" if tokens else f"{workload}, {way}"
        fewest = min(len(one), len(other))
        point = median(pooled(other)) / median(pooled(one))
        yield _row(engine, name, pooled(one), pooled(other), point, *_interval(fewest, ratio))


def _blocks(bundle: Evidence) -> dict[tuple[Any, ...], list[list[float]]]:
    """(engine, workload, way, tokens) -> blocks of wall milliseconds, of entries that are not anchors of a round."""
    return {
        (entry["engine"], entry["workload"], entry["way"], entry["tokens"]): entry["wall_ms"]
        for entry in bundle.document(SAMPLES).get("entries", ())
        if not entry["anchor"] and all(entry["wall_ms"]) and entry["wall_ms"]
    }


# ---------------------------------------------------------------- intervals


def _interval(count: int, figure: Callable[[random.Random], float]) -> tuple[float | None, float | None]:
    """Ends of the 95% interval of a resampled figure; None from fewer than LEAST samples."""
    if count < LEAST:
        return None, None
    chance = random.Random(SEED)
    drawn = [figure(chance) for _ in range(RESAMPLES)]
    return quantile(drawn, 0.025), quantile(drawn, 0.975)


def _row(
    engine: str,
    workload: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    ratio: float,
    low: float | None,
    high: float | None,
) -> dict[str, Any]:
    return {
        "engine": engine, "workload": workload, "a_ms": median(ours), "b_ms": median(theirs), "ratio": ratio, "low": low,
        "high": high, "samples_a": len(ours), "samples_b": len(theirs),
    }  # fmt: skip
