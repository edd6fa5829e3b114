"""What a graph cache must have done, replayed from the recorded stream of forwards.

Covers: the cache policy written down once more, as a rule over keys and sizes and free of any engine code,
so that recorded events and counters can be checked against it; and the counters document of a run.
Whether a capture succeeded cannot be predicted: a recorded "fallback" on a key that is not cached is taken
as given and then held to its consequence (the key is never captured again).
Does not cover: capturing (`kit.engine.captured`) or the running cache (`kit.engine.graph_cache`).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kit.profile import Graph, GraphCache

CACHES = ("text", "multimodal", "vision")
COUNTERS = ("captures", "replays", "evictions", "invalidations", "fallbacks", "captured_bytes")


@dataclass(frozen=True)
class Forward:
    """One forward of a graph engine. tokens: prompt length, or None for a vision forward.

    key, action, bytes, pool: as recorded (action None: not known, so a new key is taken as captured).
    """

    cache: Literal["text", "multimodal", "vision"]
    key: str
    tokens: int | None
    action: str | None = None
    bytes: int = 0
    pool: int = 0


@dataclass
class _Cache:
    bounds: GraphCache
    entries: OrderedDict[str, int] = field(default_factory=OrderedDict)
    pool: int = 0
    failed: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def off(self) -> bool:
        return self.bounds.entries == 0 or self.bounds.megabytes == 0

    @property
    def bytes(self) -> int:
        return sum(self.entries.values()) + self.pool

    def drop_all(self) -> None:
        self.counts["invalidations"] += len(self.entries)
        self.entries.clear()
        self.pool = 0

    def insert(self, key: str, size: int, pool: int) -> None:
        self.entries[key] = size
        self.pool += pool
        while len(self.entries) > self.bounds.entries or self.bytes > self.bounds.megabytes << 20:
            self.entries.popitem(last=False)
            self.counts["evictions"] += 1
            # What entries share goes with the last of them.
            self.pool = self.pool if self.entries else 0


class PolicySimulation:
    """The three caches of one graph engine, driven one forward at a time."""

    def __init__(self, graph: Graph) -> None:
        self._step = graph.scratch_tokens
        self._capacity = graph.scratch_tokens
        self._lru = graph.policy == "lru"
        self._caches = {name: _Cache(getattr(graph, name)) for name in CACHES}

    def step(self, forward: Forward) -> str:
        """Account for one forward and return the action it must have been."""
        if forward.tokens is not None and forward.tokens > self._capacity:
            # Graphs point into the scratch, so its growth drops every language graph.
            self._capacity = -(-forward.tokens // self._step) * self._step
            self._caches["text"].drop_all()
            self._caches["multimodal"].drop_all()
        cache = self._caches[forward.cache]
        if cache.off:
            return "eager"
        if forward.key in cache.entries:
            cache.counts["replays"] += 1
            if self._lru:
                cache.entries.move_to_end(forward.key)
            return "replay"
        if forward.key in cache.failed or forward.action == "fallback":
            cache.failed.add(forward.key)
            cache.counts["fallbacks"] += 1
            cache.counts["captured_bytes"] += forward.pool
            if forward.pool:  # the failed capture left it in what entries share, so they all go
                cache.drop_all()
            return "fallback"
        cache.counts["captures"] += 1
        cache.counts["captured_bytes"] += forward.bytes + forward.pool
        cache.insert(forward.key, forward.bytes, forward.pool)
        return "capture"

    def counters(self) -> dict[str, dict[str, int]]:
        """Counters of every cache, in the form engines report them."""
        return {
            name: {key: cache.counts[key] for key in COUNTERS}
            | {"entries": len(cache.entries), "bytes": cache.bytes, "pool_bytes": cache.pool}
            for name, cache in self._caches.items()
        }


def forward_of(line: Mapping[str, Any]) -> Forward:
    """The forward behind a "vision" or "question" line of a worker's records."""
    grids = line["grids"]
    if line["kind"] == "vision":
        key = "vision:" + "+".join("x".join(map(str, grid)) for grid in grids)
        return Forward("vision", key, None, line["action"], line["bytes"], line["pool"])
    cache: Literal["text", "multimodal"] = "multimodal" if grids else "text"
    return Forward(cache, f"{cache}:{line['tokens']}", line["tokens"], line["action"], line["bytes"], line["pool"])


@dataclass(frozen=True)
class PolicyCheck:
    """Outcome of replaying a worker's records: mismatches in words, by cache, and the counters at two points."""

    mismatches: dict[str, list[str]]
    predicted_ready: dict[str, dict[str, int]]
    predicted_closed: dict[str, dict[str, int]]
    reported_ready: dict[str, dict[str, int]] | None
    reported_closed: dict[str, dict[str, int]] | None


def check_policy(
    lines: Iterable[Mapping[str, Any]], graph: Graph, final_counters: Mapping[str, Any] | None = None
) -> PolicyCheck:
    """Replay a worker's record lines (warm-ups included) and compare every event, and the counters behind each post.

    final_counters: what the runner noted in engine.json, held to the same prediction. Counters that were
    never reported are a mismatch: an engine that died cannot pass.
    """
    simulation = PolicySimulation(graph)
    mismatches: dict[str, list[str]] = {name: [] for name in CACHES}
    predicted: dict[str, dict[str, dict[str, int]]] = {}
    reported: dict[str, dict[str, dict[str, int]]] = {}
    for number, line in enumerate(lines, 2):  # line 1 of the file is its header
        kind = line["kind"]
        if kind in ("vision", "question"):
            forward = forward_of(line)
            expected = simulation.step(forward)
            if line["action"] != expected or (expected != "eager" and line["key"] != forward.key):
                mismatches[forward.cache].append(
                    f"worker.jsonl line {number}: {line['key']} {line['action']}, the policy gives "
                    f"{forward.key} {expected}"
                )
            mismatches[forward.cache] += [f"worker.jsonl line {number}: {what}" for what in misplaced_sizes(forward)]
        elif kind == "post" and line["status"] == 200:
            moment = f"post {line['sequence']}"
            for name, wanted in simulation.counters().items():
                mismatches[name] += counter_faults(moment, line["counters"].get(name), wanted)
        elif kind in ("ready", "closed"):
            predicted[kind] = simulation.counters()
            reported[kind] = line["counters"]
    predicted.setdefault("ready", simulation.counters())
    predicted.setdefault("closed", simulation.counters())
    if final_counters is not None:
        reported["engine.json"] = dict(final_counters)
        predicted["engine.json"] = predicted["closed"]
    for moment in predicted:
        for name in CACHES:
            mismatches[name] += counter_faults(moment, reported.get(moment, {}).get(name), predicted[moment][name])
    return PolicyCheck(
        mismatches, predicted["ready"], predicted["closed"], reported.get("ready"), reported.get("closed")
    )


def counter_faults(moment: str, found: Mapping[str, int] | None, wanted: Mapping[str, int]) -> list[str]:
    """What is wrong with one cache's reported counters: nothing, or one sentence."""
    return [] if found == wanted else [f"{moment}: counters {found}, the policy gives {wanted}"]


def misplaced_sizes(forward: Forward) -> list[str]:
    """Sizes on an event that took no memory."""
    took = {"capture": ("bytes", "pool"), "fallback": ("pool",)}.get(forward.action or "", ())
    sizes = {"bytes": forward.bytes, "pool": forward.pool}
    return [f"{forward.action} with {name} {size}" for name, size in sizes.items() if size and name not in took]
