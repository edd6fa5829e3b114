"""The graph engine on a GPU: CUDA graphs of the real forwards give the eager bits through the whole cache policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from kit import runtime
from kit.profile import GraphCache as Bounds
from kit.profile import Profile, load_profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: CUDA graphs cannot be captured here", allow_module_level=True)

from kit.engine import native
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


@pytest.fixture(scope="module")
def profile() -> Profile:
    """cpu-tiny's checkpoint on the GPU."""
    tiny = load_profile("params/cpu-tiny.toml")
    profile = dataclasses.replace(tiny, runtime=dataclasses.replace(tiny.runtime, device="cuda"))
    runtime.configure(profile)
    return profile


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


def test_a_failed_capture_runs_eagerly_and_spoils_nothing(
    build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        assert actions(engine, eager, [text(20, 1)]) == ["fallback"]
    stream = [text(20, 2), text(10, 3), text(30, 4), text(30, 5)]
    assert actions(engine, eager, stream) == ["fallback", "replay", "capture", "replay"]


def test_memory_comes_back_and_bytes_are_the_pools(build: Build) -> None:
    engine = build(vision=Bounds(16, 4096))
    language(engine, text(30))
    vision(engine, (WIDE,))
    held = engine.counters()
    assert held["text"]["bytes"] >= 2**21  # the allocator's smallest segment
    assert sum(entry.recording.bytes for entry in entries(engine.captured)) <= torch.cuda.memory_reserved()
    before = torch.cuda.memory_reserved()
    engine.captured.close()
    assert before - torch.cuda.memory_reserved() >= held["text"]["bytes"]


def test_it_says_so(build: Build) -> None:
    assert build().describe()["backend"] == "cuda-graph"
