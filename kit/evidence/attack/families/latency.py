"""performance.json and the samples behind it: rows, ratios, targets and floors edited; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import assign, change, double, drop, first, nth, step_up
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document

NAME, SAMPLES = "performance.json", "records/performance_samples.json"
GRAPH = first(engine="graph", workload="text")  # entry of the samples


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "latency", sealing="resealed")
    document = clean.json(NAME)
    for what, deed in rows(document, chance.randrange(len(document["rows"]))).items():
        yield made(what, deed, (NAME,))
    if not clean.has(SAMPLES):
        none: Document = {"targets": [], "seconds": {}, "not_measured": []}
        yield made("figures of a GPU beside a CPU run", assign(NAME, "measured", to=none), (NAME,))
    for engine in ("reference", "native"):
        if engine in clean.engines():
            yield made(f"a {engine} that starts sooner", faster_start(engine), (f"records/{engine}", NAME))
    if clean.has(SAMPLES):
        for what, deed in measured(document).items():
            yield made(what, deed, (NAME, SAMPLES))
        for what, deed in samples().items():
            yield made(what, deed, (SAMPLES, NAME))
        if clean.json("profile.json")["claim"] == "exact":  # another claim allows some drift
            other = change(SAMPLES, "entries", GRAPH, "logits", by=lambda found: [step_up(text) for text in found])
            yield made("other logits", other, (SAMPLES, NAME))


def rows(document: Document, here: int) -> dict[str, Deed]:
    row = (NAME, "rows", here)
    invented = {**document["rows"][here], "workload": "production", "median_ms": 0.1}
    return {
        "a median edited": change(*row, "median_ms", by=lambda ms: ms / 2),
        "a tail edited": change(*row, "p95_ms", by=lambda ms: ms / 2),
        "a fastest time edited": assign(*row, "min_ms", to=0.001),
        "more samples": change(*row, "samples", by=lambda n: n * 10),
        "a speed-up edited": assign(NAME, "rows", nth(-1, engine="graph"), "speedup", to=100.0),
        "drift beside it edited": assign(*row, "drift", to=1e-9),
        "no drift beside it": drop(*row, "drift"),
        "another class": assign(*row, "class", to="floor"),
        "another engine": assign(*row, "engine", to="merged"),
        "another workload": assign(*row, "workload", to="production"),
        "a row left out": drop(*row),
        "a row twice": double(*row),
        "a row invented": change(NAME, "rows", by=lambda found: [*found, invented]),
        "no rows": assign(NAME, "rows", to=[]),
        "a key nobody knows in a row": assign(*row, "tokens_per_second", to=1e6),
        "another unit": assign(NAME, "unit", to="microseconds"),
        "another reference": assign(NAME, "reference", to="native"),
        "another profile": assign(NAME, "profile", to="jemm-27b"),
        "no notes": assign(NAME, "notes", to=[]),
        "a key nobody knows": assign(NAME, "certified", to=True),
        "a start edited": assign(NAME, "start_seconds", "eager", to=0.001),
        "a first answer edited": assign(NAME, "first_answer_seconds", "eager", to=0.001),
        "a start of an engine that did not run": assign(NAME, "start_seconds", "merged", to=1.0),
        "another format": assign(NAME, "format", to="kit-performance/9"),
    }


def measured(document: Document) -> dict[str, Deed]:
    here = (NAME, "measured")
    return {
        "a target said to be met": change(*here, "targets", 0, "outcome", by=lambda o: "met" if o != "met" else "missed"),
        "a target's value edited": change(*here, "targets", 0, "value", by=lambda v: v / 2),
        "a target's bound edited": change(*here, "targets", 0, "bound", by=lambda v: v * 2),
        "a target left out": drop(*here, "targets", 0),
        "something left out without a reason": change(*here, "not_measured", by=lambda found: found[1:]),
        "a workload said to be left out": change(
            *here, "not_measured", by=lambda found: [*found, {"phase": "images-4", "reason": "no time"}]
        ),
        "weights of another size": change(*here, "weight_bytes", by=lambda n: n // 2),
        "a floor edited": change(*here, "floors", 0, "ways", 0, "median_ms", by=lambda ms: ms / 2),
        "the fastest floor renamed": assign(*here, "floors", 0, "fastest", to="paper"),
        "a floor left out": drop(*here, "floors", 0),
        "bandwidth edited": change(*here, "floors", 0, "bandwidth_ms", by=lambda ms: ms * 3),
        "another method": assign(*here, "method", to="best of a hundred"),
        "phases that took no time": change(*here, "seconds", by=lambda found: dict.fromkeys(found, 0.0)),
        "the device looked at on no day": assign(*here, "device", 0, "taken_utc", to="zzz"),
        "another device": assign(*here, "device", 0, "name", to="NVIDIA A100"),
        "a key nobody knows in what was measured": assign(*here, "certified", to=True),
    }  # fmt: skip


def samples() -> dict[str, Deed]:
    """Edits of the samples themselves, from which every row is then computed again."""
    entry = (SAMPLES, "entries", GRAPH)
    return {
        "a block left out": change(*entry, "wall_ms", by=lambda blocks: blocks[1:]),
        "blocks of unequal length": change(*entry, "wall_ms", by=lambda blocks: [blocks[0][:1], *blocks[1:]]),
        "a time below nothing": change(*entry, "wall_ms", by=lambda blocks: [[-1.0, *blocks[0][1:]], *blocks[1:]]),
        "faster than its own kernels": change(*entry, "wall_ms", by=scaled(0.25)),
        "kernels slower than the call": change(*entry, "device_ms", by=scaled(4.0)),
        "no logits": assign(*entry, "logits", to=None),
        "no first call": assign(*entry, "cold_ms", to=-1.0),
        "a pool below nothing": assign(*entry, "pool_bytes", to=-1),
        "an engine nobody measures": assign(*entry, "engine", to="fast"),
        "a round of two workloads": assign(*entry, "tokens", to=97),
        "an entry twice": double(SAMPLES, "entries", GRAPH),
        "an entry left out": drop(SAMPLES, "entries", GRAPH),
        "an anchor passed off as a measurement": change(SAMPLES, "entries", by=unanchored),
        "an entry of another way": change(SAMPLES, "entries", by=lambda found: [*found, {**found[0], "way": "guess", "round": 999}]),
        "an entry of an invented workload": change(
            SAMPLES, "entries", by=lambda found: [*found, {**found[0], "workload": "production", "round": 999}]
        ),
        "another temperature": change(SAMPLES, "temperatures", by=lambda found: {**found, "text": 1.0}),
        "weights of another size in the samples": change(SAMPLES, "weight_bytes", by=lambda n: n // 2),
        "samples of another format": assign(SAMPLES, "format", to="kit-performance-samples/9"),
    }  # fmt: skip


def scaled(by: float) -> Callable[[Any], Any]:
    return lambda blocks: [[ms * by for ms in block] for block in blocks]


def unanchored(entries: list[Document]) -> list[Document]:
    if not any(entry["anchor"] for entry in entries):
        raise LookupError("no anchor was measured")
    return [{**entry, "anchor": False} for entry in entries]


def faster_start(engine: str) -> Deed:
    return change(f"records/{engine}/engine.json", "start_seconds", by=lambda seconds: seconds - 1e6)
