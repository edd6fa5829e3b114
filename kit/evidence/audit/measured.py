"""Measured speed on a GPU: rows, intervals, drift and targets from the samples."""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from functools import lru_cache
from typing import Any, Dict, List, Sequence, Tuple

from kit.evidence.audit.numbers import floats, is_bf16, quantile, softmax
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import SAMPLES, Json, Key, UnreadableError
from kit.evidence.audit.values import is_number, same, short

# Figures: engines by what they are, what is measured on a GPU, and what was meant to be reached there.
FIGURE_CLASSES = {
    "reference": "reference", "eager": "candidate", "graph": "candidate", "remote": "candidate",
    "reference-graph": "baseline", "merged": "baseline", "merged-graph": "baseline", "compiled-graph": "baseline",
    "merged-compiled-graph": "baseline", "gemm-floor": "floor",
}  # fmt: skip
FIGURE_BASES = ("reference", "reference-graph")
TEXT_LENGTHS = (98, 171, 392, 1024, 2282)
TEXT_ENGINES = ("reference", "reference-graph", "eager", "graph", "gemm-floor")
PHASES = (
    *("text %d" % tokens for tokens in TEXT_LENGTHS), "text 8192", "vision-768x512", "image-768x512", "image-256x256",
    "images-4", "questions-4", "profile", "http", "adapter swap", "stream", "compiled", "merged", "merged compiled",
)  # fmt: skip
WORKLOAD_PHASES = ("vision-768x512", "image-768x512", "image-256x256", "images-4", "questions-4")
RATIO_TARGETS = ((98, 0.65), (171, 0.65), (392, 0.65), (1024, 0.75), (2282, 0.75))
SPEEDUP_TARGETS = ((98, 5.0), (392, 2.6))
VISION_TARGET_MS, PEAK_TARGET_GIB, GIB = 6.0, 4.0, 1 << 30
LEAST_BLOCKS = 5
MOST_ENTRIES = 400
MOST_BLOCKS, MOST_TIMES = 64, 1024  # what one entry can hold
RESAMPLES, RESAMPLE_SEED = 1000, 20261130


def sampled_rows(bundle: Bundle) -> Dict[Key, Json]:
    """The row performance.json must have for each entry of the samples, but for anchors."""
    if "sampled rows" not in bundle.memory:
        bundle.memory["sampled rows"] = compute_sampled_rows(bundle)
    rows: Dict[Key, Json] = bundle.memory["sampled rows"]
    return rows


def compute_sampled_rows(bundle: Bundle) -> Dict[Key, Json]:
    document = bundle.json(SAMPLES)
    if len(document["entries"]) > MOST_ENTRIES:
        raise UnreadableError("%s holds %d entries, expected at most %d" % (SAMPLES, len(document["entries"]), MOST_ENTRIES))
    entries = [entry for entry in document["entries"] if sound(bundle, entry)]
    rounds = measured_together(bundle, entries)
    answers = {
        (e["workload"], e["way"], e["tokens"]): e["logits"]
        for e in entries
        if e["engine"] == "reference" and not e["anchor"]
    }
    rows: Dict[Key, Json] = OrderedDict()
    for entry in entries:
        if entry["anchor"]:
            continue
        expected = answers.get((entry["workload"], entry["way"], entry["tokens"]))
        row = sampled_row(bundle, entry, rounds[entry["round"]], expected)
        where = "%s %s" % (SAMPLES, "/".join(map(str, figure_key(row)[:4])))
        if figure_key(row) in rows:
            bundle.fail(where, "is there more than once")
        rows[figure_key(row)] = row
        answering = entry["way"] == "call" and not entry["workload"].startswith("vision")
        if answering and row["class"] in ("baseline", "candidate") and row["drift"] is None:
            bundle.fail(where, "has no drift beside its speed")
        exact = bundle.profile["claim"] == "exact" and row["class"] == "candidate"
        if exact and row["drift"] not in (None, 0.0):
            bundle.fail(where, "drifts by %s, expected 0.0, as the claim is exact" % short(row["drift"]))
    return rows


def measured_together(bundle: Bundle, entries: List[Json]) -> Dict[Any, Dict[str, Json]]:
    """Entries of each round by engine. A round is one workload in equal blocks, or its ratios would mean nothing."""
    rounds: Dict[Any, Dict[str, Json]] = {}
    for entry in entries:
        together = rounds.setdefault(entry["round"], {})
        where = "%s round %s %s" % (SAMPLES, entry["round"], entry["engine"])
        if entry["engine"] in together:
            bundle.fail(where, "is there more than once")
        together.setdefault(entry["engine"], entry)
        if circumstances(entry) != circumstances(next(iter(together.values()))):
            bundle.fail(
                where, "was measured on another workload or in other blocks than the rest of its round"
            )
    return rounds


def circumstances(entry: Json) -> Tuple[Any, ...]:
    shape = (len(entry["wall_ms"]), len(entry["wall_ms"][0]))
    return (entry["workload"], entry["way"], entry["tokens"], entry["images"], shape)


def sound(bundle: Bundle, entry: Json) -> bool:
    """Whether an entry is of a known engine and has whole blocks of times."""
    where = "%s round %s %s" % (SAMPLES, entry["round"], short(entry["engine"]))
    if entry["engine"] not in FIGURE_CLASSES:
        bundle.fail(where, "is no engine that is measured")
        return False
    blocks = entry["wall_ms"]
    times = [ms for block in blocks for ms in block]
    whole = LEAST_BLOCKS <= len(blocks) <= MOST_BLOCKS and len({len(block) for block in blocks}) == 1 and len(times) <= MOST_TIMES
    if not whole or not times or not all(is_number(ms) and ms > 0 for ms in times):
        bundle.fail(where, "holds no %d or more equal blocks of positive times (at most %d)" % (LEAST_BLOCKS, MOST_BLOCKS))
        return False
    sizes = [entry["pool_bytes"]] + ([] if entry["extra_bytes"] is None else [entry["extra_bytes"]])
    if not all(type(size) is int and size >= 0 for size in sizes):
        bundle.fail(where, "holds a size in bytes that is none")
        return False
    cold = entry["cold_ms"]
    if cold is not None and not (is_number(cold) and cold > 0):
        bundle.fail(where, "cold_ms is %s, expected a time or nothing" % short(cold))
        return False
    if bundle.profile["runtime"]["dtype"] == "bfloat16" and not all(map(is_bf16, entry["logits"] or ())):
        bundle.fail(where, "holds logits that are no BF16 numbers, expected what the model's dtype holds")
        return False
    if not all(math.isfinite(logit) for text in entry["logits"] or () for logit in floats(text)):
        bundle.fail(where, "holds logits that are not finite")
        return False
    return True


def sampled_row(bundle: Bundle, entry: Json, together: Dict[str, Json], answer: Any) -> Json:
    wall = [ms for block in entry["wall_ms"] for ms in block]
    on_device = [ms for block in entry["device_ms"] for ms in block]
    extra = entry["extra_bytes"]
    used = None if extra is None else bundle.json(SAMPLES)["weight_bytes"] + extra + entry["pool_bytes"]
    return {
        "engine": entry["engine"], "workload": entry["workload"], "way": entry["way"], "tokens": entry["tokens"],
        "samples": len(wall), "median_ms": quantile(wall, 0.5), "p95_ms": quantile(wall, 0.95),
        "min_ms": min(wall), "max_ms": max(wall),
        "device_median_ms": quantile(on_device, 0.5) if on_device else None, "cold_ms": entry["cold_ms"],
        "peak_gib": None if used is None else used / GIB, "pool_gib": entry["pool_bytes"] / GIB,
        "class": FIGURE_CLASSES[entry["engine"]],
        "drift": logit_drift(entry["logits"], answer, bundle.temperatures()["image" if entry["images"] else "text"]),
        "ratios": {
            base: ratio_interval(entry["wall_ms"], together[base]["wall_ms"])
            for base in FIGURE_BASES
            if base in together and base != entry["engine"]
        },
    }  # fmt: skip


def figure_key(row: Json) -> Key:
    return (row["engine"], row["workload"], row["way"], row["tokens"], row.get("pass"))


def logit_drift(ours: Any, theirs: Any, temperature: float) -> Any:
    """Largest change of a probability between two lists of logits in hex; None where there is no like to compare."""
    if ours is None or theirs is None or [len(a) for a in ours] != [len(b) for b in theirs]:
        return None
    changes = []
    for a, b in zip(ours, theirs):
        p, q = softmax(floats(a), temperature), softmax(floats(b), temperature)
        changes += [abs(x - y) for x, y in zip(p, q)]
    return max(changes)


def ratio_interval(ours: List[List[float]], theirs: List[List[float]]) -> Json:
    """Ratio of two medians, and the middle 95% of it when blocks are drawn again, both sides alike."""
    drawn = resamples(len(ours))
    known = {blocks: ratio_of_medians([ours[i] for i in blocks], [theirs[i] for i in blocks]) for blocks in set(drawn)}
    ratios = [known[blocks] for blocks in drawn]
    return {"ratio": ratio_of_medians(ours, theirs), "low": quantile(ratios, 0.025), "high": quantile(ratios, 0.975)}


@lru_cache(maxsize=MOST_BLOCKS)
def resamples(count: int) -> List[Tuple[int, ...]]:
    """Which of so many blocks each resample takes; in order, since a median does not ask for theirs."""
    chance = random.Random(RESAMPLE_SEED)
    return [tuple(sorted(int(chance.random() * count) for _ in range(count))) for _ in range(RESAMPLES)]


def ratio_of_medians(ours: Sequence[List[float]], theirs: Sequence[List[float]]) -> float:
    sides = [quantile([ms for block in blocks for ms in block], 0.5) for blocks in (ours, theirs)]
    return sides[0] / sides[1]


def check_measured(bundle: Bundle, document: Json) -> None:
    """Everything planned was measured or is listed with a reason; targets are what the rows say."""
    measured, rows = document["measured"], sampled_rows(bundle)
    bundle.expect("%s temperatures" % SAMPLES, bundle.json(SAMPLES)["temperatures"], bundle.temperatures())
    left_out = {item["phase"]: item["reason"] for item in measured["not_measured"]}
    for phase in PHASES:
        reason = left_out.get(phase)
        if phase not in measured["seconds"] and not (isinstance(reason, str) and reason):
            bundle.fail("performance.json measured", "%s was neither measured nor listed as left out" % phase)
    for phase in sorted(set(WORKLOAD_PHASES) - set(left_out)):
        if not any(row["workload"] == phase for row in rows.values()):
            bundle.fail("%s %s" % (SAMPLES, phase), "is missing and not listed as left out")
    for tokens in TEXT_LENGTHS:
        for engine in TEXT_ENGINES:
            key = (engine, "text", "call", tokens, None)
            if "text %d" % tokens not in left_out and key not in rows:
                bundle.fail(
                    "%s %s/text/%d" % (SAMPLES, engine, tokens), "is missing and not listed as left out"
                )
    swap = measured.get("adapter_swap", {})
    for name in ("changed", "same_as_reference", "returned") if swap else ():
        bundle.expect("performance.json adapter_swap %s" % name, swap[name], True)
    told = [
        (item["target"], item["bound"], item["at_least"], item["outcome"]) for item in measured["targets"]
    ]
    wanted = targets(rows, bundle.json(SAMPLES)["weight_bytes"])
    bundle.expect(
        "performance.json measured weight_bytes",
        measured["weight_bytes"],
        bundle.json(SAMPLES)["weight_bytes"],
    )
    bundle.expect("performance.json targets", told, [(name, *rest) for name, _, *rest in wanted])
    for item, (name, value, *_) in zip(measured["targets"], wanted):
        if not same(item["value"], value):
            message = "is %s, recomputed %s"
            bundle.fail("performance.json target %s" % name, message % (short(item["value"]), short(value)))


def targets(rows: Dict[Key, Json], weight_bytes: int) -> List[Tuple[str, Any, float, bool, str]]:
    """(target, value, bound, whether at least that is wanted, outcome) of each, in order."""

    def ratio(tokens: int, base: str) -> Any:
        row = rows.get(("graph", "text", "call", tokens, None))
        return row["ratios"][base]["ratio"] if row and base in row["ratios"] else None

    vision = rows.get(("graph", "vision-768x512", "call", 384, None))
    mine = [r for r in rows.values() if r["engine"] == "graph" and r["peak_gib"] is not None]
    peaks = [row["peak_gib"] for row in mine if row["tokens"] <= max(TEXT_LENGTHS)]
    found: List[Tuple[str, float, Any, bool]] = [
        ("graph / reference-graph, %d tokens" % tokens, bound, ratio(tokens, "reference-graph"), False)
        for tokens, bound in RATIO_TARGETS
    ]
    for tokens, bound in SPEEDUP_TARGETS:
        slow = ratio(tokens, "reference")
        found.append(("reference / graph, %d tokens" % tokens, bound, 1 / slow if slow else None, True))
    found.append(
        ("graph: vision 768x512, ms", VISION_TARGET_MS, vision["median_ms"] if vision else None, False)
    )
    above = max(peaks) - weight_bytes / GIB if peaks else None
    found.append(("graph: GiB above the weights", PEAK_TARGET_GIB, above, False))
    outcomes = []
    for name, bound, value, least in found:
        reached = value is not None and (value >= bound if least else value <= bound)
        outcome = "not measured" if value is None else "met" if reached else "missed"
        outcomes.append((name, value, bound, least, outcome))
    return outcomes
