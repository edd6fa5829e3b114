"""The graph engine on a GPU: CUDA graphs of the real forwards give the eager bits through the whole cache policy."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from kit.profile import GraphCache as Bounds
from kit.profile import Profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: CUDA graphs cannot be captured here", allow_module_level=True)

from kit.engine import native
from kit.engine.base import Event
from kit.engine.cuda_device import memory
from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from tests.engine.forwards import (
    SMALL,
    WIDE,
    actions,
    counts,
    entries,
    language,
    multimodal,
    poison,
    text,
    vision,
)
from tests.engine.requests import BODIES


@pytest.fixture(scope="module")
def eager(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


Build = Callable[..., GraphEngine]


@pytest.fixture
def build(profile: Profile) -> Iterator[Build]:
    made: list[GraphEngine] = []

    def build(**graph: Any) -> GraphEngine:
        made.append(GraphEngine(dataclasses.replace(profile, graph=dataclasses.replace(profile.graph, **graph))))
        return made[-1]

    yield build
    for engine in made:
        engine.close()


def test_changed_ids_rows_positions_and_lengths_that_take_turns(build: Build, eager: NativeEngine) -> None:
    stream = [
        text(30, 1), text(30, 2), text(90, 3), multimodal(eager, 30, 4), multimodal(eager, 30, 5, start=9),
        text(1, 6), text(30, 1), text(90, 7), text(64, 8), text(65, 9), text(1, 10), multimodal(eager, 30, 4),
    ]  # fmt: skip
    engine = build()
    seen = actions(engine, eager, stream)
    assert seen.count("capture") == 6
    assert seen.count("replay") == 6
    assert actions(engine, eager, stream) == ["replay"] * 12


def test_pixels(build: Build, eager: NativeEngine) -> None:
    engine = build()
    for grids in ((SMALL,), (SMALL, WIDE), (WIDE, SMALL), ((1, 16, 32),)):
        for seed, action in ((1, "capture"), (2, "replay"), (1, "replay")):
            features, event = vision(engine, grids, seed)
            assert (features, event.action) == (vision(eager, grids, seed)[0], action)


def test_everything_a_replay_reads_is_written_before_it(build: Build, eager: NativeEngine) -> None:
    engine = build()
    actions(engine, eager, [text(70, 1), text(30, 1), multimodal(eager, 40, 1)])
    vision(engine, (WIDE,), seed=1)
    for seed in (2, 3):
        poison(engine.captured)
        assert actions(engine, eager, [text(30, seed), multimodal(eager, 40, seed)]) == ["replay", "replay"]
        assert vision(engine, (WIDE,), seed)[0] == vision(eager, (WIDE,), seed)[0]


def test_growth_and_eviction(build: Build, eager: NativeEngine) -> None:
    engine = build(text=Bounds(3, 1024), scratch_tokens=64)
    lengths = [10, 20, 64, 30, 10, 65, 64, 10, 200, 65, 10, 65]
    seen = actions(engine, eager, [text(tokens, seed) for seed, tokens in enumerate(lengths)])
    assert seen == ["capture"] * 11 + ["replay"]
    assert counts(engine, "text", "evictions", "invalidations") == (2, 6)


def test_an_entry_larger_than_the_bound(build: Build, eager: NativeEngine) -> None:
    engine = build(multimodal=Bounds(8, 1))
    for seed in (1, 2):
        assert actions(engine, eager, [multimodal(eager, 30, seed)]) == ["capture"]
    assert counts(engine, "multimodal", "evictions", "entries", "bytes") == (2, 0, 0)


def test_no_static_buffer_ever_moves(build: Build, eager: NativeEngine) -> None:
    engine = build()
    actions(engine, eager, [text(30, 1), multimodal(eager, 40, 1), text(70, 1)])
    vision(engine, (WIDE,), seed=1)

    def addresses() -> list[int]:
        assert engine.captured._scratch is not None
        tensors = [*engine.captured._scratch._buffers]
        for entry in entries(engine.captured):
            tables = () if entry.tables is None else (entry.pixels, entry.tables.cos, entry.tables.corners)
            tensors += [entry.recording._output, *tables]
        return [tensor.data_ptr() for tensor in tensors]

    before = addresses()
    for seed in (2, 3):
        actions(engine, eager, [text(30, seed), multimodal(eager, 40, seed), text(70, seed)])
        vision(engine, (WIDE,), seed)
        language(engine, text(50, seed))
        assert set(before) <= set(addresses())


def test_features_outlive_the_entry_that_made_them(build: Build, eager: NativeEngine) -> None:
    """Between the vision forward and the last question of a request the whole cache goes, and its memory is reused."""
    engine = build()
    prepared = engine.prepare(BODIES[-1][1])
    assert prepared.grids
    expected = eager.decide(prepared)
    engine.decide(prepared)
    run = engine.run_language

    def after_the_cache_is_gone(*inputs: Any) -> Any:
        engine.clear_graphs()
        torch.full((2**28,), float("nan"), device="cuda")
        return run(*inputs)

    engine.run_language = after_the_cache_is_gone  # type: ignore[method-assign]
    decision = engine.decide(prepared)
    assert decision.vision is not None
    assert decision.vision.action == "replay"
    assert [q.hidden for q in decision.questions] == [q.hidden for q in expected.questions]


@pytest.mark.parametrize("body", [body for _, body in BODIES], ids=[name for name, _ in BODIES])
def test_requests_are_decided_as_by_the_native_engine(build: Build, eager: NativeEngine, body: bytes) -> None:
    engine = build()
    prepared = engine.prepare(body)
    expected = eager.decide(prepared)
    for _ in range(3):
        decision = engine.decide(prepared)
        assert [(q.hidden, q.logits) for q in decision.questions] == [(q.hidden, q.logits) for q in expected.questions]
        assert decision.answers == expected.answers
    assert {q.event.action for q in decision.questions} == {"replay"}
    assert all(q.milliseconds > 0 for q in decision.questions)
    assert sum(q.milliseconds for q in decision.questions) <= decision.timings_ms["total"]


def test_a_replayed_request_waits_for_the_device_once(build: Build) -> None:
    """torch reports every call that makes the host wait; the only one is the wait for the rows in the end."""
    engine = build()
    prepared = [engine.prepare(body) for _, body in BODIES]
    for request in prepared:
        engine.decide(request)
        engine.decide(request)
    waits: list[int] = []
    synchronise = engine._synchronise

    def wait() -> None:
        torch.cuda.set_sync_debug_mode("default")
        synchronise()
        waits.append(1)
        torch.cuda.set_sync_debug_mode("error")

    engine._synchronise = wait  # type: ignore[method-assign]
    for request in prepared:
        torch.cuda.set_sync_debug_mode("error")
        try:
            engine.decide(request)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert len(waits) == len(prepared)


STEPS = ("capture_begin", "capture_end", "instantiate")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("cache", ["text", "multimodal", "vision"])
def test_a_step_of_a_capture_fails(
    build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch, step: str, cache: str
) -> None:
    engine = build()
    actions(engine, eager, [text(60), multimodal(eager, 60)])
    vision(engine, (WIDE, WIDE))
    real = engine.captured.backend._cuda.new_graph  # type: ignore[attr-defined]

    def failing() -> Any:
        graph = real()
        done = getattr(graph, step)

        def fail(*args: Any, **kwargs: Any) -> None:
            setattr(graph, step, done)
            raise RuntimeError("injected")

        setattr(graph, step, fail)
        return graph

    with monkeypatch.context() as patch:
        patch.setattr(engine.captured.backend._cuda, "new_graph", failing)  # type: ignore[attr-defined]
        inputs = text(30, 1) if cache == "text" else multimodal(eager, 30, 1)
        run = functools.partial(vision, grids=(WIDE,)) if cache == "vision" else functools.partial(language, inputs=inputs)
        result, event = run(engine)
    assert (result, event.action) == (run(eager)[0], "fallback")
    # A smaller forward than what the pool has room for; were it not, the cache would have to start over.
    assert counts(engine, cache, "captures", "fallbacks", "entries") == (1, 1, 1), event
    stream = [text(60, 3), text(50, 4), text(50, 5), multimodal(eager, 60, 6), multimodal(eager, 50, 7)]
    assert actions(engine, eager, stream) == ["replay", "capture", "replay", "replay", "capture"]
    assert vision(engine, (WIDE, WIDE), seed=2)[1].action == "replay"
    assert run(engine) == (result, Event(event.key, "fallback"))


def test_a_recording_fails(build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = build()
    actions(engine, eager, [text(10)])
    forward = engine.language.forward

    def reads_the_host(*views: torch.Tensor) -> torch.Tensor:
        row = forward(*views)
        if torch.cuda.is_current_stream_capturing():
            row.sum().item()
        return row

    with monkeypatch.context() as patch:
        patch.setattr(engine.language, "forward", reads_the_host)
        assert actions(engine, eager, [text(9, 1)]) == ["fallback"]
    stream = [text(9, 2), text(10, 3), text(30, 4), text(30, 5)]
    seen = actions(engine, eager, stream)
    assert seen[0] == "fallback"
    assert seen[2:] == ["capture", "replay"]


def test_out_of_memory_in_a_capture_answers_eagerly_and_gives_the_memory_back(
    build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the attempt got lies in the pool of the cache, so its entries go as well; the other caches stay."""
    engine = build()
    actions(engine, eager, [text(10), multimodal(eager, 20)])
    forward = engine.language.forward
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()

    def greedy(*views: torch.Tensor) -> torch.Tensor:
        if torch.cuda.is_current_stream_capturing():
            held = [torch.empty(2**26, dtype=torch.uint8, device="cuda") for _ in range(1000)]
            del held
        return forward(*views)

    with monkeypatch.context() as patch:
        patch.setattr(engine.language, "forward", greedy)
        torch.cuda.set_per_process_memory_fraction((before + 2**30) / torch.cuda.mem_get_info()[1])
        try:
            assert actions(engine, eager, [text(30, 1)]) == ["fallback"]
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
    assert counts(engine, "text", "fallbacks", "invalidations", "entries", "bytes") == (1, 1, 0, 0)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() - before < 2**26
    stream = [text(30, 2), text(10, 3), text(50, 4), text(50, 5), text(10, 6), multimodal(eager, 20, 7)]
    assert actions(engine, eager, stream) == ["fallback", "capture", "capture", "replay", "replay", "replay"]


def test_counters_say_what_the_allocator_says(build: Build, eager: NativeEngine) -> None:
    engine = build(text=Bounds(3, 1024), vision=Bounds(16, 4096))
    others = memory()["pools"]

    def agree() -> bool:
        return sum(counters["pool_bytes"] for counters in engine.counters().values()) == memory()["pools"] - others

    for tokens in (30, 200, 10, 64, 300, 30):
        language(engine, text(tokens))
        language(engine, multimodal(eager, tokens + 20))
        assert agree(), tokens
    vision(engine, (WIDE,))
    vision(engine, (SMALL, WIDE))
    assert agree()
    held = engine.counters()
    assert all(held[name]["bytes"] >= held[name]["pool_bytes"] >= 2**21 for name in held)
    engine.clear_graphs()
    assert memory()["pools"] == others
    assert counts(engine, "text", "bytes", "pool_bytes", "entries") == (0, 0, 0)
    language(engine, text(30))
    assert agree()
    engine.captured.close()
    assert memory()["pools"] == others


def test_it_says_so(build: Build) -> None:
    assert build().describe()["backend"] == "cuda-graph"
