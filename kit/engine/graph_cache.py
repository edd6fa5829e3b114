"""Which captured forwards are kept, and what has happened to them: keys, bounds, eviction, counters.

A key is the exact shape of a forward: `text:98`, `multimodal:149`, `vision:1x16x16+1x16x32` (image grids in
order). Text, multimodal and vision have a cache each, bounded by entries and by bytes; the language forwards
share one scratch, whose growth drops every language entry, because captured work points into it.
An entry has memory of its own, which goes with it, and may have made the memory grow that all entries of its
cache share, which goes when the cache is empty; the bound is on both together.
Covers: the whole policy, over entries and results of any type, without torch; `predict`, the same policy run
dry. Does not cover: how a forward is captured (`kit.engine.capture`, `kit.engine.captured`) or what it
computes (`kit.engine.native`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from kit.engine.base import Counters, Event, Grid

if TYPE_CHECKING:
    from kit.profile import Graph
    from kit.profile import GraphCache as Bounds

CACHES = ("text", "multimodal", "vision")
LANGUAGE = ("text", "multimodal")
CacheName = Literal["text", "multimodal", "vision"]
Entry = TypeVar("Entry")
Result = TypeVar("Result")


class Cost(NamedTuple):
    """Bytes of a captured entry: own, freed with it; pool, what it added to the memory its cache shares."""

    own: int
    pool: int = 0


class CaptureError(RuntimeError):
    """A forward could not be captured, or its first replay was not equal; its eager result is still good.

    pool: bytes by which the attempt left the memory larger that its cache shares.
    """

    def __init__(self, message: str, pool: int = 0) -> None:
        super().__init__(message)
        self.pool = pool


def language_key(cache: Literal["text", "multimodal"], tokens: int) -> str:
    """Key of a prefill of `tokens` tokens."""
    return f"{cache}:{tokens}"


def vision_key(grids: Sequence[Grid]) -> str:
    """Key of a vision forward over images in this order; equal patch counts of other shapes differ."""
    return "vision:" + "+".join("x".join(map(str, grid)) for grid in grids)


class GraphCache(Generic[Entry]):
    """Captured entries of one kind of forward, oldest first.

    bounds.entries or bounds.megabytes (of 2**20 bytes) of 0 switches the cache off. `release` is called with
    every entry that leaves, before the next one is dropped.
    """

    def __init__(self, bounds: Bounds, policy: Literal["lru", "fifo"], release: Callable[[Entry], None]) -> None:
        self.off = bounds.entries == 0 or bounds.megabytes == 0
        self._max_entries = bounds.entries
        self._max_bytes = bounds.megabytes << 20
        self._lru = policy == "lru"
        self._release = release
        self._entries: OrderedDict[str, tuple[Entry, int]] = OrderedDict()
        self._failed: set[str] = set()
        self._own = self._pool = self._captured = 0
        self._captures = self._replays = self._evictions = self._invalidations = self._fallbacks = 0

    def forward(
        self,
        key: str,
        *,
        eager: Callable[[], Result],
        capture: Callable[[Result], tuple[Entry, Cost]],
        replay: Callable[[Entry], Result],
    ) -> tuple[Result, Event]:
        """Run one forward by replay where `key` is cached, else eagerly, capturing it for the next time.

        capture gets the eager result, to compare a first replay with, and returns the entry and its cost; a
        CaptureError from it costs this key its chance: it runs eagerly from then on, counted as a fallback. One
        that left shared memory behind costs the cache its entries as well: nothing else could free it, and a
        device that is full needs it for eager runs.
        The eager result is what a capture returns. Any other exception is a failed inference and is raised.
        """
        if self.off:
            return eager(), Event(key, "eager")
        if key in self._entries:
            entry, _ = self._entries[key]
            if self._lru:
                self._entries.move_to_end(key)
            self._replays += 1
            return replay(entry), Event(key, "replay")
        result, left = eager(), 0
        if key not in self._failed:
            try:
                entry, cost = capture(result)
            except CaptureError as error:
                self._failed.add(key)
                left = error.pool
            else:
                self._insert(key, entry, cost)
                return result, Event(key, "capture", *cost)
        self._fallbacks += 1
        self._captured += left
        if left:
            self.invalidate()
        return result, Event(key, "fallback", 0, left)

    def invalidate(self) -> None:
        """Drop every entry, counted: something they share is about to go; failed keys stay failed."""
        while self._entries:
            self._drop_oldest()
            self._invalidations += 1

    def close(self) -> None:
        """Drop every entry without counting: the end of the engine is no event of the cache."""
        while self._entries:
            self._drop_oldest()

    def counters(self) -> dict[str, int]:
        """Events since the start, with the sizes of all of them as captured_bytes, and what is held now.

        Held are entries, bytes and, the shared part of these, pool_bytes.
        """
        return {
            "captures": self._captures,
            "replays": self._replays,
            "evictions": self._evictions,
            "invalidations": self._invalidations,
            "fallbacks": self._fallbacks,
            "captured_bytes": self._captured,
            "entries": len(self._entries),
            "bytes": self._own + self._pool,
            "pool_bytes": self._pool,
        }

    def keys(self) -> tuple[str, ...]:
        """Cached keys, the next to be evicted first."""
        return tuple(self._entries)

    def _insert(self, key: str, entry: Entry, cost: Cost) -> None:
        self._entries[key] = (entry, cost.own)
        self._own += cost.own
        self._pool += cost.pool
        self._captures += 1
        self._captured += sum(cost)
        # An entry larger than the bound goes last, after everything older: the rule has no special case.
        while len(self._entries) > self._max_entries or self._own + self._pool > self._max_bytes:
            self._drop_oldest()
            self._evictions += 1

    def _drop_oldest(self) -> None:
        _, (entry, own) = self._entries.popitem(last=False)
        self._own -= own
        if not self._entries:
            self._pool = 0
        self._release(entry)


class GraphCaches(Generic[Entry]):
    """The three caches of one engine, and the capacity in tokens of the scratch that language entries share."""

    def __init__(self, graph: Graph, release: Callable[[Entry], None]) -> None:
        self.capacity = self._step = graph.scratch_tokens
        self._caches: dict[str, GraphCache[Entry]] = {
            name: GraphCache(getattr(graph, name), graph.policy, release) for name in CACHES
        }

    def __getitem__(self, name: CacheName) -> GraphCache[Entry]:
        return self._caches[name]

    def reserve(self, tokens: int) -> bool:
        """Make room for a prefill of `tokens`; True when the scratch has to be reallocated at `capacity`.

        Growth goes to the next multiple of the profile's `scratch_tokens` and first drops every language
        entry, also when one of the language caches is off.
        """
        if tokens <= self.capacity:
            return False
        self.capacity = -(-tokens // self._step) * self._step
        for name in LANGUAGE:
            self._caches[name].invalidate()
        return True

    def counters(self) -> Counters:
        """`GraphCache.counters` of each cache, by name."""
        return {name: cache.counters() for name, cache in self._caches.items()}

    def invalidate(self) -> None:
        """Drop every entry of every cache, counted."""
        for cache in self._caches.values():
            cache.invalidate()

    def close(self) -> None:
        """Drop every entry of every cache."""
        for cache in self._caches.values():
            cache.close()


@dataclass(frozen=True)
class PlannedForward:
    """One forward of a stream to predict. tokens: prompt length, None for vision.

    bytes, pool: cost of its entry if it is captured; bytes is None where the capture would fail and leave `pool`.
    """

    cache: CacheName
    key: str
    tokens: int | None
    bytes: int | None
    pool: int = 0


def predict(stream: Iterable[PlannedForward], graph: Graph) -> tuple[tuple[Event, ...], Counters]:
    """Events and final counters of a stream of forwards under a profile's bounds, without running any."""
    caches: GraphCaches[None] = GraphCaches(graph, release=lambda entry: None)
    events = []
    for planned in stream:
        if planned.tokens is not None:
            caches.reserve(planned.tokens)

        def capture(_: None, planned: PlannedForward = planned) -> tuple[None, Cost]:
            if planned.bytes is None:
                raise CaptureError("planned to fail", planned.pool)
            return None, Cost(planned.bytes, planned.pool)

        _, event = caches[planned.cache].forward(
            planned.key, eager=lambda: None, capture=capture, replay=lambda entry: None
        )
        events.append(event)
    return tuple(events), caches.counters()
