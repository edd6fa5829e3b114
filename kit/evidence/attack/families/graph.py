"""Trace lines and counters of the graph cache: events dropped, renamed, resized; totals edited; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import Choose, assign, change, double, drop, first, forward, nth, swap
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document

NAME = "records/graph/worker.jsonl"
CACHES = ("text", "multimodal", "vision")


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if "graph" not in clean.engines():
        return
    made = partial(Mutation, "graph", sealing="resealed")
    for what, deed in events().items():
        yield made(what, deed, (NAME,))
    for what, deed in totals(clean).items():
        yield made(what, deed, (NAME, "counters.json", "records/graph"))
    for what, deed in summaries().items():
        yield made(what, deed, ("counters.json", "records/graph/engine.json"))


def events() -> dict[str, Deed]:
    return {
        "a replay said to be eager": assign(NAME, forward(0, action="replay"), "action", to="eager"),
        "a replay said to be a capture": assign(NAME, forward(0, action="replay"), "action", to="capture"),
        "a capture said to be a replay": assign(NAME, forward(0, action="capture"), "action", to="replay"),
        "a capture said to be a fallback": assign(NAME, forward(-1, action="capture"), "action", to="fallback"),
        "an event of an unknown kind": assign(NAME, forward(5), "action", to="magic"),
        "a replay under another key": assign(NAME, forward(0, action="replay"), "key", to="text:1"),
        "a replay without a key": assign(NAME, forward(0, action="replay"), "key", to=""),
        "a replay dropped": drop(NAME, forward(1, action="replay")),
        "a replay twice": double(NAME, forward(1, action="replay")),
        "a warm-up's capture dropped": drop(NAME, first(kind="vision", sequence=None)),
        "a vision event dropped": drop(NAME, nth(3, kind="vision")),
        "two events in the other order": swap(NAME, forward(3), other=forward(-2)),
        "a capture that took nothing": assign(NAME, forward(0, action="capture"), "bytes", to=0),
        "a capture that took less than nothing": assign(NAME, forward(0, action="capture"), "bytes", to=-1),
        "a capture of half a byte": assign(NAME, forward(0, action="capture"), "bytes", to=0.5),
        "a replay that took memory": assign(NAME, forward(0, action="replay"), "bytes", to=4096),
        "a replay that grew the pool": assign(NAME, forward(0, action="replay"), "pool", to=4096),
        "a capture of an exabyte": assign(NAME, forward(0, action="capture"), "bytes", to=1 << 60),
        "another grid of a vision event": assign(NAME, nth(3, kind="vision"), "grids", to=[[1, 2, 2]]),
        "all replays said to be captures": change_all({"replay": "capture"}),
        "all captures said to be eager": change_all({"capture": "eager"}),
    }


def totals(clean: Content) -> dict[str, Deed]:
    """Counters behind a post, when ready and when closed."""
    used = [cache for cache in CACHES if counted(clean, cache)]
    found: dict[str, Deed] = {}
    for cache in used:
        found |= {
            f"one replay more in {cache} behind a post": counter(nth(12, kind="post", status=200), cache, "replays"),
            f"one replay more in {cache} when closed": counter(first(kind="closed"), cache, "replays"),
            f"one replay more in {cache} from a post on": from_post_on(cache, "replays"),
        }
    found |= {
        "one capture less when ready": counter(first(kind="ready"), used[0], "captures", -1),
        "more bytes held when closed": counter(first(kind="closed"), used[0], "bytes", 1),
        "an eviction nobody needed": counter(first(kind="closed"), used[0], "evictions", 1),
        "no counters behind a post": assign(NAME, nth(12, kind="post", status=200), "counters", to={}),
        "no counters when closed": assign(NAME, first(kind="closed"), "counters", to={}),
        "a cache more than there is": assign(NAME, first(kind="closed"), "counters", "audio", to={"replays": 1, "pool_bytes": 0}),
    }  # fmt: skip
    return found


def summaries() -> dict[str, Deed]:
    """counters.json and engine.json against what the worker recorded."""
    closed = ("counters.json", "engines", "graph", "closed")
    return {
        "counters.json: one replay more": change("counters.json", "engines", "graph", "counters", "text", "replays", by=plus(1)),
        "counters.json: predictions edited": change(*closed, "predicted", "text", "replays", by=plus(1)),
        "counters.json: both sides edited alike": both_sides,
        "counters.json: a phase left out": drop("counters.json", "engines", "graph", "phases", -1),
        "counters.json: a phase that replayed more": change("counters.json", "engines", "graph", "phases", -1, "replay", by=plus(3)),
        "counters.json: a mismatch invented": assign("counters.json", "engines", "graph", "mismatches", "text", to=["post 3"]),
        "counters.json: an engine left out": drop("counters.json", "engines", "native"),
        "counters.json: an engine too many": assign("counters.json", "engines", "fast", to={"counters": {}}),
        "counters.json: phases of the native engine": assign("counters.json", "engines", "native", "phases", to=[]),
        "engine.json: counters edited": change("records/graph/engine.json", "counters", "text", "replays", by=plus(1)),
        "engine.json: no counters": assign("records/graph/engine.json", "counters", to={}),
    }  # fmt: skip


def plus(amount: int) -> Callable[[Any], Any]:
    return lambda old: old + amount


def counter(where: Choose, cache: str, name: str, amount: int = 1) -> Deed:
    return change(NAME, where, "counters", cache, name, by=plus(amount))


def counted(clean: Content, cache: str) -> bool:
    lines = clean.lines(NAME)
    return bool(lines[-1].get("counters", {}).get(cache, {}).get("captures"))


def from_post_on(cache: str, name: str) -> Deed:
    """In every counter from the tenth post on, and at the end."""

    def edit(lines: Sequence[Document]) -> None:
        told = [line for line in lines if line.get("counters") and line["kind"] in ("post", "closed")]
        for line in told[5:]:
            line["counters"][cache][name] += 1

    return lambda suspect: suspect.edit_lines(NAME, edit)


def change_all(actions: dict[str, str]) -> Deed:
    def edit(lines: Sequence[Document]) -> None:
        for line in lines:
            line.update({"action": actions[line["action"]]} if line.get("action") in actions else {})

    return lambda suspect: suspect.edit_lines(NAME, edit)


def both_sides(suspect: Any) -> None:
    def edit(document: Document) -> None:
        for side in document["engines"]["graph"]["closed"].values():
            side["text"]["replays"] += 1

    suspect.edit("counters.json", edit)
