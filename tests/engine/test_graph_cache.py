"""The graph cache's policy: keys, bounds, order, invalidation, failures and counters, over plain strings."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.campaign.graph_policy import Forward, PolicySimulation
from kit.engine.base import Event
from kit.engine.graph_cache import (
    CaptureError,
    Cost,
    GraphCache,
    GraphCaches,
    PlannedForward,
    language_key,
    predict,
    vision_key,
)
from kit.profile import Graph
from kit.profile import GraphCache as Bounds

MB = 2**20


class Driver:
    """A cache whose entries are the keys themselves, with a log of what was run and released."""

    def __init__(self, entries: int = 3, megabytes: int = 1, policy: str = "lru") -> None:
        self.log: list[str] = []
        self.cache: GraphCache[str] = GraphCache(
            Bounds(entries, megabytes),
            policy,  # type: ignore[arg-type]
            lambda entry: self.log.append(f"release {entry}"),
        )

    def __call__(self, key: str, size: int = 1, pool: int = 0, fail: bool = False) -> str:
        result, event = self.cache.forward(
            key, eager=self._run(f"eager {key}"), capture=self._capture(key, size, pool, fail), replay=self._replay
        )
        assert result == f"value {key}"
        assert event.key == key
        tried = event.action == "capture" or f"capture {key}" in self.log[-3:]
        assert (event.bytes, event.pool) == (size if event.action == "capture" else 0, pool if tried else 0)
        return event.action

    def _run(self, what: str) -> Callable[[], str]:
        def eager() -> str:
            self.log.append(what)
            return "value " + what.split()[1]

        return eager

    def _capture(self, key: str, size: int, pool: int, fail: bool) -> Callable[[str], tuple[str, Cost]]:
        def capture(result: str) -> tuple[str, Cost]:
            assert result == f"value {key}"  # what a first replay is compared with
            self.log.append(f"capture {key}")
            if fail:
                raise CaptureError("as asked", pool)
            return key, Cost(size, pool)

        return capture

    def _replay(self, entry: str) -> str:
        self.log.append(f"replay {entry}")
        return f"value {entry}"

    def counts(self, *names: str) -> tuple[int, ...]:
        return tuple(self.cache.counters()[name] for name in names)


class TestKeys:
    def test_a_key_is_the_exact_shape(self) -> None:
        assert language_key("text", 98) == "text:98"
        assert language_key("multimodal", 149) == "multimodal:149"
        assert vision_key([(1, 16, 16), (1, 16, 32)]) == "vision:1x16x16+1x16x32"

    def test_image_order_and_shape_matter_at_equal_patch_counts(self) -> None:
        grids = [(1, 16, 32), (1, 32, 16), (2, 16, 16)]
        assert len({vision_key([grid]) for grid in grids}) == 3
        assert vision_key(grids) != vision_key(grids[::-1])


class TestOneCache:
    def test_first_sight_runs_eagerly_and_captures_then_replays(self) -> None:
        run = Driver()
        assert [run("a"), run("a"), run("a")] == ["capture", "replay", "replay"]
        assert run.log == ["eager a", "capture a", "replay a", "replay a"]
        assert run.counts("captures", "replays", "entries", "bytes") == (1, 2, 1, 1)

    def test_lru_evicts_the_longest_unused(self) -> None:
        run = Driver(entries=2)
        assert [run(key) for key in "abaca"] == ["capture", "capture", "replay", "capture", "replay"]
        assert "release b" in run.log
        assert run.cache.keys() == ("c", "a")

    def test_fifo_evicts_the_oldest_whatever_was_replayed(self) -> None:
        run = Driver(entries=2, policy="fifo")
        assert [run(key) for key in "abaca"] == ["capture", "capture", "replay", "capture", "capture"]
        assert [line for line in run.log if line.startswith("release")] == ["release a", "release b"]

    def test_an_evicted_key_is_captured_again(self) -> None:
        run = Driver(entries=1)
        assert [run(key) for key in "abab"] == ["capture"] * 4
        assert run.counts("captures", "evictions", "entries") == (4, 3, 1)

    def test_bytes_evict_as_many_as_it_takes(self) -> None:
        run = Driver(entries=9, megabytes=1)
        for key in "abcd":
            run(key, size=MB // 4)
        assert run.counts("evictions", "bytes") == (0, MB)
        run("e", size=MB // 2)
        assert run.cache.keys() == ("c", "d", "e")
        assert run.counts("evictions", "bytes") == (2, MB)

    def test_an_entry_larger_than_the_bound_leaves_nothing_behind(self) -> None:
        run = Driver(entries=9, megabytes=1)
        run("a")
        assert run("big", size=MB + 1) == "capture"
        assert run.log[-2:] == ["release a", "release big"]
        assert run.counts("captures", "evictions", "entries", "bytes") == (2, 2, 0, 0)
        assert run("big", size=MB + 1) == "capture"

    def test_shared_memory_counts_until_the_last_entry_goes(self) -> None:
        run = Driver(entries=2, megabytes=1)
        run("a", pool=MB // 2)
        run("b", pool=MB // 4)
        run("c")
        assert run.counts("entries", "bytes", "pool_bytes") == (2, 3 * MB // 4 + 2, 3 * MB // 4)
        run.cache.invalidate()
        assert run.counts("bytes", "pool_bytes") == (0, 0)

    def test_shared_memory_over_the_bound_costs_all_entries(self) -> None:
        run = Driver(entries=9, megabytes=1)
        run("a", pool=MB // 2)
        assert run("b", pool=MB // 2) == "capture"
        assert run.log[-2:] == ["release a", "release b"]
        assert run.counts("evictions", "entries", "bytes", "pool_bytes") == (2, 0, 0, 0)

    def test_a_failed_capture_that_left_shared_memory_costs_all_entries_and_no_other_key_its_chance(self) -> None:
        run = Driver()
        run("a", pool=5)
        assert run("b", pool=7, fail=True) == "fallback"
        assert run.log[-1] == "release a"
        assert run.counts("invalidations", "fallbacks", "bytes") == (1, 1, 0)
        assert [run("a"), run("b"), run("a")] == ["capture", "fallback", "replay"]

    @pytest.mark.parametrize(("entries", "megabytes"), [(0, 1), (1, 0)])
    def test_off_runs_eagerly_and_counts_nothing(self, entries: int, megabytes: int) -> None:
        run = Driver(entries, megabytes)
        assert [run("a"), run("a")] == ["eager", "eager"]
        assert run.log == ["eager a", "eager a"]
        assert set(run.cache.counters().values()) == {0}

    def test_a_failed_key_is_not_tried_again_and_others_are(self) -> None:
        run = Driver()
        assert [run("a", fail=True), run("a"), run("b"), run("b")] == ["fallback", "fallback", "capture", "replay"]
        assert run.log.count("capture a") == 1
        assert run.counts("captures", "replays", "fallbacks", "entries") == (1, 1, 2, 1)

    def test_a_failed_key_stays_failed_over_an_invalidation(self) -> None:
        run = Driver()
        run("a", fail=True)
        run.cache.invalidate()
        assert run("a") == "fallback"

    def test_invalidation_releases_oldest_first_and_counts_each(self) -> None:
        run = Driver()
        run("a")
        run("b")
        run.cache.invalidate()
        assert run.log[-2:] == ["release a", "release b"]
        assert run.counts("invalidations", "evictions", "entries", "bytes") == (2, 0, 0, 0)
        assert run("a") == "capture"

    def test_closing_releases_without_counting(self) -> None:
        run = Driver()
        run("a")
        run.cache.close()
        assert run.log[-1] == "release a"
        assert run.counts("captures", "invalidations", "evictions", "entries", "bytes") == (1, 0, 0, 0, 0)

    def test_errors_of_a_forward_or_a_replay_are_not_swallowed(self) -> None:
        cache: GraphCache[str] = GraphCache(Bounds(3, 1), "lru", lambda entry: None)

        def broken(*_: object) -> str:
            raise RuntimeError("device lost")

        with pytest.raises(RuntimeError, match="device lost"):
            cache.forward("a", eager=broken, capture=lambda result: ("a", Cost(1)), replay=broken)
        assert cache.counters()["captures"] == 0
        cache.forward("a", eager=lambda: "x", capture=lambda result: ("a", Cost(1)), replay=broken)
        with pytest.raises(RuntimeError, match="device lost"):
            cache.forward("a", eager=lambda: "x", capture=lambda result: ("a", Cost(1)), replay=broken)

    def test_only_a_capture_error_is_a_fallback(self) -> None:
        cache: GraphCache[str] = GraphCache(Bounds(3, 1), "lru", lambda entry: None)

        def capture(result: str) -> tuple[str, Cost]:
            raise RuntimeError("device lost")

        with pytest.raises(RuntimeError, match="device lost"):
            cache.forward("a", eager=lambda: "x", capture=capture, replay=lambda entry: "x")
        assert cache.counters()["fallbacks"] == 0


class TestThreeCaches:
    def caches(self, **bounds: Bounds) -> tuple[GraphCaches[str], list[str]]:
        released: list[str] = []
        return GraphCaches(Graph(scratch_tokens=1024, **bounds), released.append), released

    def fill(self, caches: GraphCaches[str]) -> None:
        for name in ("text", "multimodal", "vision"):
            caches[name].forward(  # type: ignore[index]
                f"{name}:1", eager=lambda: 0, capture=lambda _, n=name: (n, Cost(1)), replay=lambda entry: 0
            )

    def test_growth_rounds_up_to_the_step_and_drops_language_entries_only(self) -> None:
        caches, released = self.caches()
        self.fill(caches)
        assert not caches.reserve(1024)
        assert caches.reserve(1025)
        assert caches.capacity == 2048
        assert released == ["text", "multimodal"]
        counters = caches.counters()
        assert [counters[name]["invalidations"] for name in counters] == [1, 1, 0]
        assert counters["vision"]["entries"] == 1
        assert not caches.reserve(98)
        assert caches.capacity == 2048

    def test_growth_happens_with_a_cache_off(self) -> None:
        caches, released = self.caches(text=Bounds(0, 1))
        self.fill(caches)
        assert caches.reserve(5000)
        assert caches.capacity == 5120
        assert released == ["multimodal"]

    def test_close_releases_all(self) -> None:
        caches, released = self.caches()
        self.fill(caches)
        caches.close()
        assert sorted(released) == ["multimodal", "text", "vision"]


class TestPrediction:
    def test_a_stream_by_hand(self) -> None:
        graph = Graph(scratch_tokens=100, text=Bounds(2, 1), vision=Bounds(0, 0))
        stream = [
            PlannedForward("text", "text:50", 50, 8),
            PlannedForward("text", "text:50", 50, 8),
            PlannedForward("vision", "vision:1x2x2", None, 8),
            PlannedForward("multimodal", "multimodal:60", 60, None),
            PlannedForward("text", "text:120", 120, 8),
            PlannedForward("text", "text:50", 50, 8),
        ]
        events, counters = predict(stream, graph)
        assert [event.action for event in events] == [
            "capture", "replay", "eager", "fallback", "capture", "capture"
        ]  # fmt: skip
        assert events[0] == Event("text:50", "capture", 8)
        assert counters["text"] == {
            "captures": 3, "replays": 1, "evictions": 0, "invalidations": 1, "fallbacks": 0,
            "captured_bytes": 24, "entries": 2, "bytes": 16, "pool_bytes": 0,
        }  # fmt: skip
        assert counters["multimodal"]["fallbacks"] == 1

    sizes = st.integers(0, 3 * MB)
    bounds = st.builds(Bounds, entries=st.integers(0, 4), megabytes=st.integers(0, 5))
    graphs = st.builds(
        Graph,
        policy=st.sampled_from(["lru", "fifo"]),
        scratch_tokens=st.integers(1, 12),
        text=bounds,
        multimodal=bounds,
        vision=bounds,
    )
    forwards = st.lists(st.tuples(st.sampled_from(["text", "multimodal", "vision"]), st.integers(1, 30)), max_size=60)

    @settings(max_examples=200, deadline=None)
    @given(graph=graphs, forwards=forwards, sizes=st.lists(sizes, min_size=30, max_size=30), failing=st.sets(st.integers(1, 30)), pools=st.lists(st.sampled_from([0, 0, 1, MB]), min_size=30, max_size=30))
    def test_the_cache_does_what_the_campaigns_own_simulation_says(
        self, graph: Graph, forwards: list[tuple[str, int]], sizes: list[int], failing: set[int], pools: list[int]
    ) -> None:
        """Two implementations that share no code, over random streams, bounds and failures."""
        stream = [
            PlannedForward(
                name,  # type: ignore[arg-type]
                f"{name}:{shape}",
                None if name == "vision" else shape,
                None if shape in failing else sizes[shape - 1],
                pools[shape - 1],
            )
            for name, shape in forwards
        ]
        events, counters = predict(stream, graph)
        simulation = PolicySimulation(graph)
        for planned, event in zip(stream, events, strict=True):
            recorded = Forward(planned.cache, planned.key, planned.tokens, event.action, event.bytes, event.pool)
            assert simulation.step(recorded) == event.action
        assert simulation.counters() == counters
