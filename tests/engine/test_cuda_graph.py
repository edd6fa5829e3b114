"""The order of a capture's steps, and what each failure leaves behind, without a device (`tests.engine.fake_cuda`).

What a real device does in the same places is tested in tests/gpu/test_cuda_graph.py.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.engine.captured import same_bits
from kit.engine.cuda_graph import CudaGraphs, CudaRecording
from kit.engine.graph_cache import CaptureError
from tests.engine.fake_cuda import BLOCK, FakeCuda


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


class Forward:
    """x * 2 * 2 ... of a static buffer; `calls` says how much a capture of it takes."""

    def __init__(self, calls: int = 3) -> None:
        self.buffer, self.calls = torch.arange(4.0), calls

    def __call__(self) -> Tensor:
        result = self.buffer
        for _ in range(self.calls):
            result = result * 2
        return result


@pytest.fixture
def cuda() -> FakeCuda:
    return FakeCuda()


@pytest.fixture
def backend(cuda: FakeCuda) -> CudaGraphs:
    return CudaGraphs(torch.device("cpu"), cuda)


def captured(backend: CudaGraphs, forward: Forward, group: str = "text") -> CudaRecording:
    backend.run(forward)
    return backend.record(forward, group)


class TestOrder:
    def test_a_capture_from_eager_run_to_replay(self, backend: CudaGraphs, cuda: FakeCuda) -> None:
        recording = captured(backend, Forward())
        recording.replay()
        recording.close()
        backend.close()
        assert cuda.log == [
            "stream 1 waits for main",  # the eager run, where the capture will be
            "main waits for stream 1",
            "synchronise",
            "clear workspaces",  # so that the capture's lie in its pool
            "empty cache",
            "begin 1 on stream 1",
            "end 1",
            "instantiate 1",
            "clear workspaces",
            "replay 1 on main",
            "synchronise",  # before the graph is dropped, and its memory behind it
            "reset 1",
            "empty cache",
            "synchronise",
            "clear workspaces",
            "empty cache",
            "destroy stream 1",
        ]

    def test_one_stream_serves_all_captures(self, backend: CudaGraphs, cuda: FakeCuda) -> None:
        for group in ("text", "vision", "text"):
            captured(backend, Forward(), group)
        assert {line for line in cuda.log if line.startswith("begin")} == {f"begin {n} on stream 1" for n in (1, 2, 3)}

    def test_a_replay_reads_its_buffer(self, backend: CudaGraphs) -> None:
        forward = Forward()
        recording = captured(backend, forward)
        for value in (1.0, -3.0):
            forward.buffer.fill_(value)
            assert same_bits(recording.replay(), forward())

    def test_what_a_forward_refers_to_lives_until_its_recording_is_closed(self, backend: CudaGraphs) -> None:
        class Tables:
            """Stands for tensors of which a graph knows only where they lie."""

        def recorded(tables: Tables) -> CudaRecording:
            forward = Forward()

            def reading_tables() -> Tensor:
                assert tables is not None
                return forward()

            return backend.record(reading_tables, "vision")

        tables = Tables()
        alive = weakref.ref(tables)
        recording = recorded(tables)
        del tables
        gc.collect()
        assert alive() is not None
        recording.close()
        gc.collect()
        assert alive() is None

    def test_nothing_is_replayed_while_capturing(self, backend: CudaGraphs) -> None:
        recording = captured(backend, Forward())
        assert recording._output is not None
        assert recording._output.isnan().all()


class TestPools:
    def test_a_group_grows_to_its_largest(self, backend: CudaGraphs) -> None:
        growth = [captured(backend, Forward(calls)).pool_bytes for calls in (3, 5, 2, 9)]
        assert growth == [3 * BLOCK, 2 * BLOCK, 0, 4 * BLOCK]

    def test_groups_have_a_pool_each(self, backend: CudaGraphs) -> None:
        assert [captured(backend, Forward(), group).pool_bytes for group in ("text", "vision")] == [3 * BLOCK] * 2

    def test_a_pool_goes_with_its_last_recording_and_the_next_one_is_new(
        self, backend: CudaGraphs, cuda: FakeCuda
    ) -> None:
        first, second = captured(backend, Forward(9)), captured(backend, Forward(3))
        first.close()
        third = captured(backend, Forward(9))
        assert third.pool_bytes == 0
        second.close()
        third.close()
        assert captured(backend, Forward(3)).pool_bytes == 3 * BLOCK
        assert len(cuda.pools) == 2

    def test_closing_twice_counts_once(self, backend: CudaGraphs) -> None:
        first, second = captured(backend, Forward()), captured(backend, Forward())
        first.close()
        first.close()
        assert backend._pools["text"].users == 1
        with pytest.raises(RuntimeError, match="closed"):
            first.replay()
        second.replay()


FAULTS = [
    ("begin", False, "beginning the capture failed: RuntimeError: injected at begin 1 on stream 1"),
    ("begin", True, "beginning the capture failed: RuntimeError: injected at begin 1 on stream 1"),
    ("end", False, "ending the capture failed: RuntimeError: injected at end 1"),
    ("end", True, "ending the capture failed: RuntimeError: injected at end 1"),
    ("instantiate", False, "instantiating the graph failed: RuntimeError: injected at instantiate 1"),
    ("instantiate", True, "instantiating the graph failed: RuntimeError: injected at instantiate 1"),
]


def assert_sane(backend: CudaGraphs, cuda: FakeCuda, used_pools: int = 0) -> None:
    """Nothing records, no stream stays current, no pool is held, and the next capture works."""
    assert not cuda.capturing()
    assert cuda.allocating is None
    assert cuda.current_stream().name == "main"
    assert sum(users > 0 for _, users in cuda.pools.values()) == used_pools
    forward = Forward()
    recording = captured(backend, forward)
    assert same_bits(recording.replay(), forward())
    recording.close()


class TestFailure:
    @pytest.mark.parametrize(("step", "late", "said"), FAULTS)
    def test_each_step_is_named_and_leaves_everything_in_order(
        self, backend: CudaGraphs, cuda: FakeCuda, step: str, late: bool, said: str
    ) -> None:
        cuda.fail, cuda.late = step, late
        with pytest.raises(CaptureError) as caught:
            captured(backend, Forward())
        assert str(caught.value) == said
        assert caught.value.pool == 0
        assert_sane(backend, cuda)

    @pytest.mark.parametrize("error", [ValueError("in the forward"), torch.OutOfMemoryError("no memory")])
    def test_an_error_while_recording(self, backend: CudaGraphs, cuda: FakeCuda, error: Exception) -> None:
        forward = Forward()

        def broken() -> Tensor:
            result = forward()
            if cuda.capturing():
                raise error
            return result

        backend.run(broken)
        with pytest.raises(CaptureError, match=f"^recording failed: {type(error).__name__}: {error}$"):
            backend.record(broken, "text")
        assert cuda.log[-7:] == [
            "begin 1 on stream 1",
            "end 1",
            "forget the capture",
            "clear workspaces",
            "synchronise",
            "reset 1",
            "empty cache",
        ]
        assert_sane(backend, cuda)

    def test_tensors_of_the_failed_forward_die_though_the_error_lives(self, backend: CudaGraphs, cuda: FakeCuda) -> None:
        seen: list[weakref.ref[Tensor]] = []

        def broken() -> Tensor:
            local = torch.ones(3) * 2
            seen.append(weakref.ref(local))
            raise ValueError(f"after {tuple(local.shape)}")

        with pytest.raises(CaptureError, match="after") as caught:
            backend.record(broken, "text")
        gc.collect()
        assert seen[0]() is None
        assert caught.value.__cause__ is None

    def test_what_a_pool_in_use_has_grown_by_is_reported(self, backend: CudaGraphs, cuda: FakeCuda) -> None:
        captured(backend, Forward(3))
        cuda.fail = "instantiate"
        with pytest.raises(CaptureError) as caught:
            captured(backend, Forward(7))
        assert caught.value.pool == 4 * BLOCK
        assert_sane(backend, cuda, used_pools=1)

    def test_a_pool_that_a_capture_could_not_leave_gets_no_other(
        self, backend: CudaGraphs, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An invalidated capture: CUDA ends it, and torch raises before it has told its allocators."""
        kept = captured(backend, kept_forward := Forward())
        real = cuda.new_graph

        def invalidated() -> Any:
            graph = real()

            def end() -> None:
                cuda.recorder.__exit__(None, None, None)  # type: ignore[union-attr]
                cuda.recorder = None
                raise RuntimeError("capture invalidated")

            graph.capture_end = end
            return graph

        with monkeypatch.context() as patch:
            patch.setattr(cuda, "new_graph", invalidated)
            for _ in range(2):
                with pytest.raises(CaptureError, match="ending the capture failed: RuntimeError: capture invalidated"):
                    captured(backend, Forward())
        assert_sane(backend, cuda, used_pools=1)
        assert same_bits(kept.replay(), kept_forward())
        kept.close()
        assert_sane(backend, cuda)

    def test_a_device_that_cannot_be_synchronised_is_no_fallback(self, backend: CudaGraphs, cuda: FakeCuda) -> None:
        def broken() -> Tensor:
            cuda.fail = "synchronise"
            raise ValueError("the cause")

        with pytest.raises(RuntimeError, match="injected at synchronise") as caught:
            backend.record(broken, "text")
        assert not isinstance(caught.value, CaptureError)

    def test_a_capture_that_cannot_be_ended_is_no_fallback(
        self, backend: CudaGraphs, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        graph = cuda.new_graph()
        monkeypatch.setattr(graph, "capture_end", lambda: cuda.step("end", lambda: 1 / 0))
        monkeypatch.setattr(cuda, "new_graph", lambda: graph)
        with pytest.raises(RuntimeError, match="cannot be ended"):
            backend.record(Forward(), "text")
        graph._end()  # the recorder of the fake

    def test_a_kernel_tuned_inside_fails_the_capture(
        self, backend: CudaGraphs, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tuner = SimpleNamespace(cache={"known": 1})
        monkeypatch.setattr("kit.engine.autotune.autotuners", lambda: {"kernel": tuner})
        forward = Forward()

        def tunes() -> Tensor:
            tuner.cache["new"] = 2
            return forward()

        recording = backend.record(forward, "text")
        with pytest.raises(CaptureError, match="autotuned inside the capture"):
            backend.record(tunes, "text")
        recording.close()
        assert_sane(backend, cuda)
