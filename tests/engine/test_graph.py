"""The graph engine against the eager native engine: the same bits, whatever is captured, replayed or dropped."""

from __future__ import annotations

import base64
import dataclasses
import gc
import io
import json
import logging
import random
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from PIL import Image
from torch import Tensor

from kit.engine import native
from kit.engine.base import Decision, Event
from kit.engine.capture import AtenRecording, AtenReplay, Backend, Recording
from kit.engine.cuda_graph import CudaGraphs
from kit.engine.graph import GraphEngine
from kit.engine.graph_cache import PlannedForward, predict
from kit.engine.native import NativeEngine
from kit.profile import Graph, Profile
from kit.profile import GraphCache as Bounds
from tests.engine.fake_cuda import FakeCuda
from tests.engine.forwards import (
    SMALL,
    TALL,
    WIDE,
    actions,
    counts,
    entries,
    language,
    multimodal,
    poison,
    poison_outputs,
    text,
    vision,
)


@pytest.fixture(scope="module")
def eager(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


Build = Callable[..., GraphEngine]


@pytest.fixture
def build(profile: Profile) -> Iterator[Build]:
    """Graph engines with other bounds or another backend; closed at the end of the test."""
    made: list[GraphEngine] = []

    def build(capture: Backend | None = None, **graph: Any) -> GraphEngine:
        changed = dataclasses.replace(profile, graph=dataclasses.replace(profile.graph, **graph))
        made.append(GraphEngine(changed, capture))
        return made[-1]

    yield build
    for engine in made:
        engine.close()


class TestReplayReadsItsBuffers:
    def test_ids(self, build: Build, eager: NativeEngine) -> None:
        a, b = text(30, seed=1), text(30, seed=2)
        assert language(eager, a)[0] != language(eager, b)[0]
        assert actions(build(), eager, [a, b, a, b]) == ["capture", "replay", "replay", "replay"]

    def test_positions(self, build: Build, eager: NativeEngine) -> None:
        a, b = multimodal(eager, 30, start=0), multimodal(eager, 30, start=7)
        assert language(eager, a)[0] != language(eager, b)[0]
        assert actions(build(), eager, [a, b, a]) == ["capture", "replay", "replay"]

    def test_image_rows(self, build: Build, eager: NativeEngine) -> None:
        a, b = multimodal(eager, 30, seed=1), multimodal(eager, 30, seed=1)
        b = dataclasses.replace(b, features=-multimodal(eager, 30, seed=2).features)  # type: ignore[operator]
        assert language(eager, a)[0] != language(eager, b)[0]
        assert actions(build(), eager, [a, b, a]) == ["capture", "replay", "replay"]

    def test_pixels(self, build: Build, eager: NativeEngine) -> None:
        engine = build()
        for seed, action in ((1, "capture"), (2, "replay"), (1, "replay")):
            features, event = vision(engine, (SMALL, WIDE), seed)
            assert features == vision(eager, (SMALL, WIDE), seed)[0]
            assert event.action == action

    def test_lengths_that_take_turns(self, build: Build, eager: NativeEngine) -> None:
        lengths = [5, 90, 64, 1, 65, 90, 5, 1, 64, 65, 5]
        stream = [text(tokens, seed) for seed, tokens in enumerate(lengths)]
        assert actions(build(), eager, stream) == ["capture"] * 5 + ["replay"] * 6

    def test_text_and_multimodal_of_one_length_do_not_meet(self, build: Build, eager: NativeEngine) -> None:
        engine = build()
        stream = [text(30, 1), multimodal(eager, 30, 2), text(30, 3), multimodal(eager, 30, 4)]
        assert actions(engine, eager, stream) == ["capture", "capture", "replay", "replay"]
        assert counts(engine, "text", "captures", "replays") == (1, 1)
        assert counts(engine, "multimodal", "captures", "replays") == (1, 1)

    def test_image_shape_and_order_are_part_of_the_key(self, build: Build, eager: NativeEngine) -> None:
        engine = build()
        keys = []
        for grids in ((WIDE,), (TALL,), (SMALL, WIDE), (WIDE, SMALL), (WIDE,)):
            features, event = vision(engine, grids, seed=5)
            assert features == vision(eager, grids, seed=5)[0]
            keys.append((event.key, event.action))
        assert keys[-1] == ("vision:1x4x8", "replay")
        assert [action for _, action in keys[:-1]] == ["capture"] * 4

    def test_everything_a_replay_reads_is_written_before_it(self, build: Build, eager: NativeEngine) -> None:
        engine = build()
        actions(engine, eager, [text(70, 1), text(30, 1), multimodal(eager, 40, 1)])
        vision(engine, (WIDE,), seed=1)
        for seed in (2, 3):
            poison(engine.captured)
            assert actions(engine, eager, [text(30, seed), multimodal(eager, 40, seed)]) == ["replay", "replay"]
            poison(engine.captured)
            assert vision(engine, (WIDE,), seed) == (vision(eager, (WIDE,), seed)[0], Event("vision:1x4x8", "replay"))

    def test_a_capture_in_one_thread_serves_another(self, build: Build, eager: NativeEngine) -> None:
        engine, seen = build(), []
        language(engine, text(30, 1))
        thread = threading.Thread(target=lambda: seen.append(language(engine, text(30, 2))))
        thread.start()
        thread.join()
        assert seen == [(language(eager, text(30, 2))[0], Event("text:30", "replay"))]


class TestBounds:
    def test_an_evicted_length_is_captured_again(self, build: Build, eager: NativeEngine) -> None:
        engine = build(text=Bounds(2, 1))
        stream = [text(tokens, seed) for seed, tokens in enumerate([10, 20, 30, 10, 30, 20])]
        assert actions(engine, eager, stream) == ["capture"] * 4 + ["replay", "capture"]
        assert counts(engine, "text", "evictions", "entries") == (3, 2)

    def test_fifo_keeps_no_favourites(self, build: Build, eager: NativeEngine) -> None:
        engine = build(text=Bounds(2, 1), policy="fifo")
        stream = [text(tokens, seed) for seed, tokens in enumerate([10, 20, 10, 30, 10])]
        assert actions(engine, eager, stream) == ["capture", "capture", "replay", "capture", "capture"]

    def test_off_is_eager_and_counts_nothing(self, build: Build, eager: NativeEngine) -> None:
        engine = build(text=Bounds(0, 1), vision=Bounds(1, 0))
        assert actions(engine, eager, [text(10, 1), text(10, 2), multimodal(eager, 20)]) == ["eager", "eager", "capture"]
        assert vision(engine, (SMALL,)) == (vision(eager, (SMALL,))[0], Event("vision:1x4x4", "eager"))
        assert {sum(engine.counters()[name].values()) for name in ("text", "vision")} == {0}

    def test_an_entry_larger_than_the_bound_is_used_once_and_dropped(self, build: Build, eager: NativeEngine) -> None:
        engine = build(vision=Bounds(16, 1))
        large = (1, 16, 32)  # 512 patches: 1.5 MiB of pixels alone
        for grid, held in ((SMALL, 1), (large, 0), (large, 0), (SMALL, 1)):
            features, event = vision(engine, (grid,), seed=3)
            assert features == vision(eager, (grid,), seed=3)[0]
            assert event.action == "capture"
            assert counts(engine, "vision", "entries") == (held,)
        assert counts(engine, "vision", "evictions", "captures") == (3, 4)

    def test_growth_drops_every_language_entry_and_short_prompts_still_work(
        self, build: Build, eager: NativeEngine
    ) -> None:
        engine = build()
        vision(engine, (SMALL,))
        stream = [text(40, 1), multimodal(eager, 40, 1), text(2300, 2), text(40, 3), text(2300, 4), multimodal(eager, 40, 5)]
        assert actions(engine, eager, stream) == ["capture"] * 4 + ["replay", "capture"]
        assert engine.captured._scratch is not None
        assert engine.captured._scratch.capacity == 3072
        assert counts(engine, "text", "invalidations", "entries") == (1, 2)
        assert counts(engine, "multimodal", "invalidations", "entries") == (1, 1)
        assert vision(engine, (SMALL,))[1].action == "replay"

    def test_the_old_scratch_is_freed(self, build: Build) -> None:
        engine = build(scratch_tokens=16)
        language(engine, text(16))
        assert engine.captured._scratch is not None
        old = weakref.ref(engine.captured._scratch._buffers[0])
        language(engine, text(17))
        assert old() is None

    def test_short_prompts_do_not_shrink_it(self, build: Build) -> None:
        engine = build(scratch_tokens=16)
        language(engine, text(33))
        language(engine, text(3))
        assert engine.captured._scratch is not None
        assert engine.captured._scratch.capacity == 48


class TestBytes:
    def test_a_language_entry_holds_its_static_row_and_logits(self, build: Build) -> None:
        engine = build()
        for tokens in (7, 300):
            assert language(engine, text(tokens))[1].bytes == 2 * (engine.config.text.hidden_size + 32)
        assert counts(engine, "text", "bytes", "pool_bytes") == (4 * (engine.config.text.hidden_size + 32), 0)

    def test_a_vision_entry_holds_pixels_tables_and_features(self, build: Build) -> None:
        engine = build()
        patches, head = 16 + 32, engine.config.vision.head_dim
        pixels, corners, weights, angles = 2 * 1536, 4 * 8, 4 * 4, 2 * 4 * head  # bytes a patch
        features = patches // 4 * 2 * engine.config.vision.out_hidden_size
        assert vision(engine, (SMALL, WIDE))[1].bytes == patches * (pixels + corners + weights + angles) + features

    def test_weights_are_shared_with_the_engine(self, build: Build) -> None:
        engine = build()
        language(engine, text(30))
        vision(engine, (SMALL,))
        assert engine.captured._scratch is not None
        known = storages([engine.language, engine.head, engine.vision, engine.captured._scratch, *entries(engine.captured)])
        for entry in entries(engine.captured):
            constants = [arg for call in entry.recording.calls for arg in (*call.args, *call.kwargs.values())]
            tensors = [arg for arg in constants if isinstance(arg, Tensor)]
            assert len(tensors) > 20
            assert {tensor.untyped_storage().data_ptr() for tensor in tensors} <= known


def storages(found: Any) -> set[int]:
    """Addresses of every tensor reachable through attributes, dataclass fields and tuples."""
    if isinstance(found, Tensor):
        return {found.untyped_storage().data_ptr()}
    if isinstance(found, list | tuple):
        return set().union(*map(storages, found))
    module = type(found).__module__
    if not module.startswith(("kit.model", "kit.engine")) or isinstance(found, AtenRecording):
        return set()
    names = [field.name for field in dataclasses.fields(found)] if dataclasses.is_dataclass(found) else vars(found)
    return set().union(*(storages(getattr(found, name)) for name in names))


class Faulty(AtenReplay):
    """A backend that fails on demand: while recording, or in the first replay, or by giving other bits."""

    def __init__(self) -> None:
        self.fault = ""
        self.closed: list[Recording] = []

    def record(self, forward: Callable[[], Tensor], group: str) -> Recording:
        fault, self.fault = self.fault, ""
        if fault == "record":
            return super().record(lambda: _raise(forward()), group)
        recording = super().record(forward, group)
        assert isinstance(recording, AtenRecording)
        right, close = recording.replay, recording.close

        def wrong() -> Tensor:
            result = right()
            if fault == "replay":
                raise RuntimeError("injected")
            if fault == "bits":
                result.view(-1)[-1].neg_()
            return result

        def closing() -> None:
            self.closed.append(recording)
            close()

        recording.replay, recording.close = wrong, closing  # type: ignore[method-assign]
        return recording


def _raise(_: Tensor) -> Tensor:
    raise ValueError("injected")


class TestFailure:
    @pytest.mark.parametrize(
        ("fault", "said"),
        [
            ("record", "recording failed: ValueError: injected"),
            ("replay", "first replay failed: RuntimeError: injected"),
            ("bits", "first replay differs from the eager result"),
        ],
    )
    def test_a_failed_capture_answers_eagerly_and_spoils_nothing(
        self, build: Build, eager: NativeEngine, caplog: pytest.LogCaptureFixture, fault: str, said: str
    ) -> None:
        backend = Faulty()
        engine = build(backend)
        actions(engine, eager, [text(10)])
        backend.fault = fault
        with caplog.at_level(logging.WARNING, logger="kit.engine.captured"):
            stream = [text(20, 1), text(20, 2), text(10, 3), text(30, 4), text(30, 5), multimodal(eager, 20)]
            assert actions(engine, eager, stream) == [
                "fallback", "fallback", "replay", "capture", "replay", "capture"
            ]  # fmt: skip
        assert [record.message for record in caplog.records] == [
            f"capture of text:20 failed, this shape runs eagerly from now on: {said}"
        ]
        assert counts(engine, "text", "captures", "fallbacks", "entries") == (2, 2, 2)
        assert len(backend.closed) == (0 if fault == "record" else 1)

    @pytest.mark.parametrize("fault", ["record", "replay", "bits"])
    def test_vision_likewise(self, build: Build, eager: NativeEngine, fault: str) -> None:
        backend = Faulty()
        engine = build(backend)
        backend.fault = fault
        for grid, action in ((SMALL, "fallback"), (SMALL, "fallback"), (WIDE, "capture"), (WIDE, "replay")):
            features, event = vision(engine, (grid,))
            assert (features, event.action) == (vision(eager, (grid,))[0], action)
        assert counts(engine, "vision", "fallbacks", "entries") == (2, 1)

    def test_an_error_of_the_forward_itself_is_raised(
        self, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = build()
        monkeypatch.setattr(engine.language, "forward", lambda *views: _raise(views[0]))
        with pytest.raises(ValueError, match="injected"):
            language(engine, text(10))
        assert counts(engine, "text", "captures", "fallbacks") == (0, 0)


def test_a_random_stream_gives_the_native_bits_and_the_predicted_events(build: Build, eager: NativeEngine) -> None:
    graph = Graph(scratch_tokens=16, policy="lru", text=Bounds(3, 1), multimodal=Bounds(2, 1), vision=Bounds(2, 1))
    engine = build(**vars(graph))
    rng = random.Random(5)
    stream, events = [], []
    for step in range(80):
        kind = rng.choice(["text", "multimodal", "vision"])
        if kind == "vision":
            grids = tuple(rng.choices([SMALL, WIDE], k=rng.randint(1, 2)))
            result, event = vision(engine, grids, seed=step)
            expected, tokens = vision(eager, grids, seed=step)[0], None
        else:
            tokens = rng.choice([9, 12, 15, 16, 17, 20, 25, 33 if step > 60 else 9])
            inputs = text(tokens, step) if kind == "text" else multimodal(eager, tokens, step, start=step)
            (result, event), expected = language(engine, inputs), language(eager, inputs)[0]
        assert result == expected, (step, event)
        stream.append(PlannedForward(kind, event.key, tokens, event.bytes))  # type: ignore[arg-type]
        events.append(event)
    predicted, counters = predict(stream, graph)
    assert [event.action for event in events] == [event.action for event in predicted]
    assert engine.counters() == counters
    assert all(counters[name][what] > 0 for name in counters for what in ("captures", "replays", "evictions"))
    assert counters["text"]["invalidations"] > 0


# Whole requests.


def screenshot(width: int, height: int, seed: int) -> str:
    pixels = random.Random(seed).randbytes(width * height * 3)
    file = io.BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def request(state: str, images: Sequence[str] = ()) -> bytes:
    questions = {
        "which": {"type": "choice", "criteria": {"stay": "wait", "go": "leave now", "ask": "ask a person"}},
        "how": {"type": "score", "criteria": ["", "calm", "urgent"]},
        "sure": {"type": "noul", "instructions": "Is this about billing?"},
    }
    return json.dumps({"state": state, "questions": questions, "images": list(images)}).encode()


def outcome(decision: Decision) -> tuple[Any, ...]:
    return decision.answers, decision.input_tokens, [(q.question_id, q.logits, q.hidden, q.tokens) for q in decision.questions]


def test_requests_are_decided_as_by_the_native_engine(build: Build, eager: NativeEngine) -> None:
    engine = build()
    one, two = screenshot(256, 256, 1), screenshot(256, 256, 2)
    bodies = [
        request("The invoice is wrong."),
        request("One screen.", [one]),
        request("The invoice is wrong?"),
        request("One screen.", [two]),
        request("Two screens.", [one, two]),
        request("Two screens.", [two, one]),
    ]
    for _ in range(2):
        for body in bodies:
            prepared = engine.prepare(body)
            assert outcome(engine.decide(prepared)) == outcome(eager.decide(prepared))
    assert counts(engine, "vision", "captures", "replays") == (2, 6)
    assert counts(engine, "multimodal", "captures", "replays") == (6, 18)


class TestOneRequest:
    def test_questions_are_queued_together_and_waited_for_once(
        self, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, log = build(), []
        for name in ("run_vision", "run_language", "_synchronise"):
            method = getattr(engine, name)

            def noted(*args: Any, name: str = name, method: Callable[..., Any] = method) -> Any:
                log.append(name)
                return method(*args)

            monkeypatch.setattr(engine, name, noted)
        engine.decide(engine.prepare(request("One screen.", [screenshot(256, 256, 1)])))
        assert log == ["run_vision", *["run_language"] * 3, "_synchronise"]

    def test_without_images_the_tower_does_nothing(self, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = build()
        monkeypatch.setattr(engine, "vision", None)
        decision = engine.decide(engine.prepare(request("No picture.")))
        assert decision.vision is None
        assert decision.timings_ms.keys() == {"language", "total"}
        assert engine.counters()["vision"]["captures"] == 0

    def test_each_question_has_its_own_time(self, build: Build) -> None:
        engine = build()
        decision = engine.decide(engine.prepare(request("A state.")))
        times = [question.milliseconds for question in decision.questions]
        assert all(time > 0 for time in times)
        assert sum(times) == pytest.approx(decision.timings_ms["language"])
        assert decision.timings_ms["language"] <= decision.timings_ms["total"]

    def test_features_outlive_the_entry_that_made_them(
        self, build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the middle of a request every graph goes and whatever a graph wrote to turns to NaN."""
        engine = build()
        prepared = engine.prepare(request("Two screens.", [screenshot(256, 256, 1), screenshot(256, 200, 2)]))
        engine.decide(prepared)
        run = engine.run_language

        def after_the_cache_is_gone(*inputs: Any) -> Any:
            poison_outputs(engine.captured)
            engine.clear_graphs()
            return run(*inputs)

        monkeypatch.setattr(engine, "run_language", after_the_cache_is_gone)
        decision = engine.decide(prepared)
        assert decision.vision == Event("vision:1x16x16+1x16x20", "replay")
        assert outcome(decision) == outcome(eager.decide(prepared))

    def test_an_error_leaves_when_what_was_queued_has_ended(
        self, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine, log = build(), []
        engine.decide(prepared := engine.prepare(request("Fine.")))
        monkeypatch.setattr(engine, "_synchronise", lambda: log.append("synchronise"))
        run, calls = engine.run_language, iter(range(9))

        def second_fails(*inputs: Any) -> Any:
            if next(calls) == 1:
                log.append("failing")
                raise RuntimeError("device lost")
            return run(*inputs)

        monkeypatch.setattr(engine, "run_language", second_fails)
        with pytest.raises(RuntimeError, match="device lost"):
            engine.decide(prepared)
        assert log == ["failing", "synchronise"]

    def test_the_first_error_is_the_one_that_leaves(
        self, build: Build, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = build()

        def broken(*_: Any) -> Any:
            raise ValueError("second")

        monkeypatch.setattr(engine, "_synchronise", broken)
        monkeypatch.setattr(engine, "run_language", lambda *inputs: _raise(inputs[1]))
        with pytest.raises(ValueError, match="injected"):
            engine.decide(engine.prepare(request("A state.")))
        assert "did not finish" in caplog.text


class TestCudaGraphsWithoutADevice:
    """The graph engine over the CUDA backend, its device a stand-in that records ATen calls."""

    @pytest.mark.parametrize("late", [False, True])
    @pytest.mark.parametrize("step", ["begin", "end", "instantiate"])
    @pytest.mark.parametrize("cache", ["text", "multimodal", "vision"])
    def test_a_step_of_a_capture_fails(
        self, build: Build, eager: NativeEngine, cache: str, step: str, late: bool
    ) -> None:
        """The first capture of its cache: nothing shares the pool, so nothing else is lost."""
        cuda = FakeCuda()
        engine = build(CudaGraphs(eager.device, cuda))
        cuda.fail, cuda.late = step, late
        if cache == "vision":
            assert vision(engine, (WIDE,)) == (vision(eager, (WIDE,))[0], Event("vision:1x4x8", "fallback"))
        else:
            inputs = text(12, 1) if cache == "text" else multimodal(eager, 12, 1)
            assert actions(engine, eager, [inputs, inputs]) == ["fallback", "fallback"]
        assert counts(engine, cache, "captures", "entries", "bytes") == (0, 0, 0)
        stream = [text(9, 2), text(9, 3), multimodal(eager, 10, 4), multimodal(eager, 10, 5)]
        assert actions(engine, eager, stream) == ["capture", "replay"] * 2
        assert [vision(engine, (SMALL,), seed)[1].action for seed in (1, 2)] == ["capture", "replay"]
        assert (cuda.capturing(), cuda.allocating) == (False, None)

    def test_an_attempt_that_made_the_shared_pool_grow_costs_the_cache_its_entries(
        self, build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cuda = FakeCuda()
        engine = build(CudaGraphs(eager.device, cuda))
        actions(engine, eager, [text(9, 1), multimodal(eager, 10, 1)])
        forward = engine.language.forward

        def greedy(*views: Tensor) -> Tensor:
            row = forward(*views)
            if cuda.capturing():
                for _ in range(50):
                    row = row + 0.0
                raise torch.OutOfMemoryError("no memory")
            return row

        with monkeypatch.context() as patch:
            patch.setattr(engine.language, "forward", greedy)
            row, event = language(engine, text(12, 2))
        assert row == language(eager, text(12, 2))[0]
        assert (event.action, event.bytes, event.pool > 0) == ("fallback", 0, True)
        assert counts(engine, "text", "invalidations", "entries", "bytes", "fallbacks") == (1, 0, 0, 1)
        stream = [text(9, 3), text(9, 4), text(12, 5), multimodal(eager, 10, 6)]
        assert actions(engine, eager, stream) == ["capture", "replay", "fallback", "replay"]

    def test_pools_are_accounted_for(self, build: Build, eager: NativeEngine) -> None:
        cuda = FakeCuda()
        engine = build(CudaGraphs(eager.device, cuda), text=Bounds(2, 1))
        for tokens in (9, 70, 9, 20, 70, 130):
            language(engine, text(tokens))
            held = sum(size for size, users in cuda.pools.values() if users)
            assert sum(counters["pool_bytes"] for counters in engine.counters().values()) == held > 0
        assert counts(engine, "text", "evictions", "entries") == (3, 2)
        engine.clear_graphs()
        assert all(users == 0 for _, users in cuda.pools.values())
        assert counts(engine, "text", "bytes", "invalidations") == (0, 2)

    def test_eviction_synchronises_and_drops_the_graph_before_its_buffers(
        self, build: Build, eager: NativeEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cuda = FakeCuda()
        engine = build(CudaGraphs(eager.device, cuda), vision=Bounds(1, 64))
        vision(engine, (SMALL,))
        buffer = weakref.ref(entries(engine.captured)[0].pixels)
        note = cuda.log.append
        monkeypatch.setattr(cuda, "empty_cache", lambda: note(f"buffers {'alive' if buffer() is not None else 'gone'}"))
        vision(engine, (WIDE,))
        reset = cuda.log.index("reset 1")
        assert cuda.log[reset - 1 : reset + 2] == ["synchronise", "reset 1", "buffers alive"]
        gc.collect()
        assert buffer() is None

    def test_a_failed_replay_is_a_failed_inference(self, build: Build, eager: NativeEngine) -> None:
        cuda = FakeCuda()
        engine = build(CudaGraphs(eager.device, cuda))
        body = request("A state.")
        engine.decide(engine.prepare(body))
        cuda.fail = "replay"
        with pytest.raises(RuntimeError, match="injected at replay"):
            engine.decide(engine.prepare(body))

    def test_whole_requests(self, build: Build, eager: NativeEngine) -> None:
        engine = build(CudaGraphs(eager.device, FakeCuda()))
        bodies = [request("The invoice is wrong."), request("A screen.", [screenshot(64, 64, 1)])]
        for _ in range(2):
            for body in bodies:
                prepared = engine.prepare(body)
                assert outcome(engine.decide(prepared)) == outcome(eager.decide(prepared))
        assert {engine.counters()[name]["fallbacks"] for name in engine.counters()} == {0}


class TestEvidenceAndEnd:
    def test_it_says_which_backend_ran_and_what_that_shows(self, build: Build, eager: NativeEngine) -> None:
        facts = build().describe()
        assert facts["backend"] == "aten-replay"
        assert "nothing about the speed" in facts["backend_claim"]
        assert facts["graph"]["text"] == {"entries": 64, "megabytes": 1024}
        assert facts["ops"] == eager.describe()["ops"]
        json.dumps(facts)

    def test_closing_frees_recordings_before_their_buffers(self, profile: Profile) -> None:
        backend = Faulty()
        engine = GraphEngine(profile, backend)
        language(engine, text(10))
        vision(engine, (SMALL,))
        captured, alive = engine.captured, []
        scratch = weakref.ref(captured._scratch)
        for entry in entries(captured):
            close = entry.recording.close
            entry.recording.close = lambda close=close: (alive.append(scratch() is not None), close())
        engine.close()
        assert alive == [True, True]
        assert len(backend.closed) == 2
        assert scratch() is None
