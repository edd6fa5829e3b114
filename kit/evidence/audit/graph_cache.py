"""The graph cache's policy run over the recorded requests; counters and memory follow from it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Dict, List

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import CACHES, COUNTERS, SAMPLES, Json, Key
from kit.evidence.audit.values import short


class Cache:
    """One cache of the policy: entries with their sizes, oldest first."""

    def __init__(self, bounds: Json) -> None:
        self.entries: OrderedDict[str, int] = OrderedDict()
        self.failed: set[str] = set()
        self.shared = 0
        self.limit, self.room = bounds["entries"], bounds["megabytes"] * 2**20
        self.counts = dict.fromkeys(COUNTERS, 0)

    def drop_all(self) -> None:
        self.counts["invalidations"] += len(self.entries)
        self.entries.clear()
        self.shared = 0

    def held(self) -> int:
        return sum(self.entries.values()) + self.shared

    def act(self, key: str, recorded: str, size: int, pool: int, lru: bool) -> str:
        """What the policy does with a forward. Only a failed capture cannot be foreseen: it is taken as recorded."""
        if not (self.limit and self.room):
            return "eager"
        if key in self.entries:
            self.counts["replays"] += 1
            if lru:
                self.entries.move_to_end(key)
            return "replay"
        if key in self.failed or recorded == "fallback":
            self.failed.add(key)
            self.counts["fallbacks"] += 1
            self.counts["captured_bytes"] += pool
            if pool:  # what the failed capture left can only be freed with everything that shares it
                self.drop_all()
            return "fallback"
        self.counts["captures"] += 1
        self.counts["captured_bytes"] += size + pool
        self.entries[key] = size
        self.shared += pool
        while len(self.entries) > self.limit or self.held() > self.room:
            self.entries.popitem(last=False)
            self.counts["evictions"] += 1
            if not self.entries:
                self.shared = 0
        return "capture"

    def totals(self) -> Dict[str, int]:
        return dict(self.counts, entries=len(self.entries), bytes=self.held(), pool_bytes=self.shared)


class Simulation:
    """The policy run over a graph worker's record. mismatches: by cache; totals: at "ready" and "closed"."""

    def __init__(self, graph: Json, lines: List[Json]) -> None:
        self.step = self.capacity = graph["scratch_tokens"]
        self.lru = graph["policy"] == "lru"
        self.caches = {name: Cache(graph[name]) for name in CACHES}
        self.mismatches: Dict[str, List[str]] = {name: [] for name in CACHES}
        self.totals: Dict[str, Dict[str, Dict[str, int]]] = {}
        self.reported: Dict[str, Any] = {}
        for line in lines:
            if line["kind"] in ("question", "vision"):
                self.forward(line)
            elif line["kind"] == "post" and line["status"] == 200:
                self.compare("post %s" % line["sequence"], self.now(), line["counters"])
            elif line["kind"] in ("ready", "closed"):
                self.totals[line["kind"]] = self.now()
                self.reported[line["kind"]] = line["counters"]
        for moment in ("ready", "closed"):
            self.compare(moment, self.totals.setdefault(moment, self.now()), self.reported.get(moment))

    def now(self) -> Dict[str, Dict[str, int]]:
        return {name: cache.totals() for name, cache in self.caches.items()}

    def forward(self, line: Json) -> None:
        if line["kind"] == "vision":
            name, key = "vision", "vision:" + "+".join("x".join(map(str, grid)) for grid in line["grids"])
        else:
            name = "multimodal" if line["grids"] else "text"
            key = "%s:%d" % (name, line["tokens"])
            if line["tokens"] > self.capacity:  # graphs point into the scratch, so its growth drops them
                self.capacity = -(-line["tokens"] // self.step) * self.step
                self.caches["text"].drop_all()
                self.caches["multimodal"].drop_all()
        action = self.caches[name].act(key, line["action"], line["bytes"], line["pool"], self.lru)
        if line["action"] != action or (action != "eager" and line["key"] != key):
            message = "post %s: recorded %s %s, the policy gives %s %s"
            self.mismatches[name].append(
                message % (line["sequence"], line["key"], line["action"], key, action)
            )
        took = {"capture": ("bytes", "pool"), "fallback": ("pool",)}.get(line["action"], ())
        for size in ("bytes", "pool"):
            if not isinstance(line[size], int) or line[size] < 0 or (line[size] and size not in took):
                message = "post %s: %s of %s is %s, expected a count of bytes that it took"
                self.mismatches[name].append(
                    message % (line["sequence"], size, line["action"], short(line[size]))
                )

    def compare(self, moment: str, expected: Dict[str, Dict[str, int]], reported: Any) -> None:
        for name in CACHES:
            found = (reported or {}).get(name)
            if found != expected[name]:
                message = "%s: counters %s, the policy gives %s"
                self.mismatches[name].append(message % (moment, short(found), short(expected[name])))


def simulation(bundle: Bundle) -> Simulation:
    if "simulation" not in bundle.memory:
        made = Simulation(bundle.profile["graph"], bundle.worker("graph"))
        made.compare(
            "engine.json", made.totals["closed"], bundle.json("records/graph/engine.json").get("counters")
        )
        bundle.memory["simulation"] = made
    found: Simulation = bundle.memory["simulation"]
    return found


def check_graph(bundle: Bundle) -> None:
    """Graph events and counters are what the cache policy gives for the recorded requests."""
    if "graph" in bundle.engines:
        made = simulation(bundle)
        for name, mismatches in made.mismatches.items():
            for text in mismatches:
                bundle.fail("records/graph/worker.jsonl %s cache" % name, text)
        final = made.totals["closed"]
        total = {
            name: sum(final[cache][name] for cache in CACHES) for name in ("captures", "replays", "fallbacks")
        }
        if bundle.profile["claim"] == "exact" and (
            not total["captures"] or not total["replays"] or total["fallbacks"]
        ):
            bundle.fail(
                "records/graph",
                "an exact claim about graphs needs captures and replays, found %s" % short(total),
            )


def check_memory(bundle: Bundle) -> None:
    """Private pools are as large by the allocator's count as by the graph caches'; a device says what it holds."""
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] not in ("ready", "closed"):
                continue
            where, memory = (
                "records/%s/worker.jsonl %s memory" % (engine, line["kind"]),
                line.get("memory") or {},
            )
            if memory:
                pools = sum(cache["pool_bytes"] for cache in line["counters"].values())
                bundle.expect("%s pools" % where, memory["pools"], pools)
                if not 0 <= memory["allocated"] <= memory["reserved"] <= memory["peak_reserved"]:
                    bundle.fail(where, "allocated, reserved and peak_reserved are %d, %d and %d bytes, expected none to exceed the next" % (memory["allocated"], memory["reserved"], memory["peak_reserved"]))
                if not memory["allocated"] <= memory["peak_allocated"] <= memory["peak_reserved"]:
                    bundle.fail(where, "the most that was allocated is %d bytes, expected from %d to %d" % (memory["peak_allocated"], memory["allocated"], memory["peak_reserved"]))
                compare_with_device(bundle, where, memory)
            elif bundle.profile["runtime"]["device"] == "cuda":
                bundle.fail(where, "is missing")


def compare_with_device(bundle: Bundle, where: str, memory: Json) -> None:
    """What an engine holds is no more than its device has, and no less than its weights, where both are known."""
    total = bundle.json("environment.json").get("device", {}).get("memory_bytes")
    if total is not None and memory["peak_reserved"] > total:
        bundle.fail(where, "%d bytes were reserved on a device of %d" % (memory["peak_reserved"], total))
    weights = bundle.json(SAMPLES)["weight_bytes"] if bundle.measured else 0
    if memory["allocated"] < weights:
        bundle.fail(where, "%d bytes are allocated, expected at least the %d of the weights" % (memory["allocated"], weights))


def check_growth(bundle: Bundle) -> None:
    """The most that was ever taken does not shrink while a worker runs."""
    for engine in bundle.recorded_engines:
        moments = {line["kind"]: line.get("memory") or {} for line in bundle.worker(engine)}
        before, after = moments.get("ready", {}), moments.get("closed", {})
        for name in ("peak_allocated", "peak_reserved") if before and after else ():
            if after[name] < before[name]:
                message = "is %d, expected at least the %d of when it was ready"
                bundle.fail("records/%s/worker.jsonl closed memory %s" % (engine, name), message % (after[name], before[name]))


def check_counters(bundle: Bundle) -> None:
    """counters.json repeats what the engines reported, and what the policy gives."""
    engines = bundle.json("counters.json")["engines"]
    bundle.expect("counters.json engines", sorted(engines), sorted(bundle.engines))
    for engine in bundle.engines:
        reported = bundle.json("records/%s/engine.json" % engine)["counters"]
        bundle.expect("counters.json %s" % engine, engines.get(engine, {}).get("counters"), reported)
        if engine != "graph":
            bundle.expect("counters.json %s, which has no caches" % engine, engines.get(engine), {"counters": {}})
    if "graph" in bundle.engines:
        told, made = engines.get("graph", {}), simulation(bundle)
        for moment in ("ready", "closed"):
            wanted = {"reported": made.reported.get(moment), "predicted": made.totals[moment]}
            bundle.expect("counters.json graph %s" % moment, told.get(moment), wanted)
        bundle.expect("counters.json graph mismatches", told.get("mismatches"), {name: [] for name in CACHES})
        bundle.expect("counters.json graph phases", told.get("phases"), graph_phases(bundle))


def graph_phases(bundle: Bundle) -> List[Json]:
    """What the caches did in each phase of the campaign, from the trace lines."""
    places = {line["sequence"]: (line["phase"], line["pass"]) for line in bundle.exchanges("graph")}
    found: Dict[Key, Json] = OrderedDict()
    for line in bundle.worker("graph"):
        if line["kind"] in ("question", "vision"):
            place = (
                ("warm-up", 0) if line["sequence"] is None else places.get(line["sequence"], ("unknown", 0))
            )
            actions = found.setdefault(place, {"phase": place[0], "pass": place[1]})
            actions[line["action"]] = actions.get(line["action"], 0) + 1
    return list(found.values())
