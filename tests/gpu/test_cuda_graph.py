"""CUDA graphs on a real device: bits, buffers, shared pools, memory, side streams, and every kind of failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine import autotune
from kit.engine.capture import choose
from kit.engine.captured import same_bits
from kit.engine.graph_cache import CaptureError

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: CUDA graphs cannot be captured here", allow_module_level=True)

from kit.engine.cuda_device import memory
from kit.engine.cuda_graph import CudaGraphs, CudaRecording

DEVICE = torch.device("cuda")
WIDTH = 512


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield
    torch.cuda.synchronize()


@pytest.fixture
def backend() -> Iterator[CudaGraphs]:
    backend = CudaGraphs(DEVICE)
    yield backend
    backend.close()


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16().to(DEVICE)


class Block:
    """Product, attention and gate over a static buffer: enough to need workspaces, pools and fused kernels."""

    def __init__(self, tokens: int) -> None:
        self.weight = random(3 * WIDTH, WIDTH, seed=1) * 0.05
        self.buffer = random(tokens, WIDTH)

    def __call__(self) -> Tensor:
        q, k, v = F.linear(self.buffer, self.weight).view(-1, 3, 8, 64).permute(1, 2, 0, 3).unsqueeze(1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(0).transpose(0, 1)
        return F.silu(attended.flatten(1) @ self.weight[:WIDTH]).float().pow(2).to(torch.bfloat16)

    def upload(self, seed: int) -> None:
        self.buffer.copy_(random(*self.buffer.shape, seed=seed))


def captured(backend: CudaGraphs, forward: Callable[[], Tensor], group: str = "text") -> CudaRecording:
    """As a cache does on a miss: one eager run where the capture will be, then the capture."""
    backend.run(forward)
    return backend.record(forward, group)


def test_a_gpu_gets_cuda_graphs() -> None:
    assert choose(DEVICE).name == "cuda-graph"


class TestReplay:
    @pytest.mark.parametrize("tokens", [1, 98, 149, 1240])
    def test_repeats_the_bits_of_an_eager_run_on_whatever_the_buffer_holds(
        self, backend: CudaGraphs, tokens: int
    ) -> None:
        block = Block(tokens)
        recording = captured(backend, block)
        for seed in (0, 1, 0, 2):
            block.upload(seed)
            assert same_bits(recording.replay(), block()), seed
        recording.close()

    def test_capturing_only_records_and_the_first_replay_writes(self, backend: CudaGraphs) -> None:
        block = Block(98)
        recording = captured(backend, block)
        assert recording._output is not None
        assert recording._output.isnan().all()
        assert not recording.replay().isnan().any()
        recording.close()

    def test_nothing_of_the_last_replay_is_left_in_the_next(self, backend: CudaGraphs) -> None:
        block = Block(98)
        recording = captured(backend, block)
        expected = block()
        block.buffer.fill_(float("nan"))
        assert recording.replay().isnan().all()
        block.upload(0)
        assert same_bits(recording.replay(), expected)
        recording.close()

    def test_many_times_the_same_bits(self, backend: CudaGraphs) -> None:
        block = Block(392)
        recording = captured(backend, block)
        expected = recording.replay().clone()
        assert all(same_bits(recording.replay(), expected) for _ in range(50))
        recording.close()


class TestBuffers:
    def test_no_static_buffer_moves(self, backend: CudaGraphs) -> None:
        block = Block(98)
        recording = captured(backend, block)
        inputs, outputs = block.buffer.data_ptr(), {recording.replay().data_ptr()}
        for seed in range(5):
            block.upload(seed)
            outputs.add(recording.replay().data_ptr())
        assert len(outputs) == 1
        assert block.buffer.data_ptr() == inputs
        recording.close()

    def test_what_a_graph_computes_in_is_no_part_of_the_common_pool(self, backend: CudaGraphs) -> None:
        """Its inputs are: they were allocated before, and stay when the recording goes."""
        block = Block(98)
        recording = captured(backend, block)
        pools = dict(_owners())
        assert pools[_segment_of(block.buffer)] == (0, 0)
        assert recording._output is not None
        assert pools[_segment_of(recording._output)] == recording._pool.id
        recording.close()


class TestSharedPool:
    """Recordings of a group compute in the same memory, so nothing of one may matter to another."""

    def test_it_is_nearer_to_the_largest_than_to_the_sum(self, backend: CudaGraphs) -> None:
        blocks = [Block(tokens) for tokens in (4096, 3072, 2048, 1024, 512, 256)]
        shared = [captured(backend, block, "text") for block in blocks]
        private = [captured(backend, block, f"its own {index}") for index, block in enumerate(blocks)]
        sizes = [[recording.pool_bytes >> 20 for recording in recordings] for recordings in (shared, private)]
        for recording in (*shared, *private):
            recording.close()
        assert sum(sizes[0]) <= sum(sizes[1]) // 2, sizes
        assert sizes[0][0] == sizes[1][0], sizes

    @pytest.mark.parametrize("order", [1, -1], ids=["largest first", "smallest first"])
    def test_old_buckets_replayed_last_are_right(self, backend: CudaGraphs, order: int) -> None:
        blocks = [Block(tokens) for tokens in (1240, 749, 392, 171, 98, 64, 17, 1)][::order]
        recordings = [captured(backend, block) for block in blocks]
        for seed in (1, 2):
            for block in blocks:
                block.upload(seed)
            for recording, block in reversed(list(zip(recordings, blocks, strict=True))):
                assert same_bits(recording.replay(), block()), (seed, block.buffer.shape)
        for recording in recordings:
            recording.close()

    def test_a_b_a_without_waiting_in_between(self, backend: CudaGraphs) -> None:
        """Results are copied out behind each replay, as the engine does, and looked at in the end."""
        blocks = [Block(392), Block(98)]
        recordings = [captured(backend, block) for block in blocks]
        rows = torch.empty(30, WIDTH, dtype=torch.bfloat16).pin_memory()
        for step in range(30):
            rows[step].copy_(recordings[step % 2].replay()[-1], non_blocking=True)
        torch.cuda.synchronize()
        expected = [block()[-1].cpu() for block in blocks]
        assert all(same_bits(rows[step], expected[step % 2]) for step in range(30))
        for recording in recordings:
            recording.close()

    def test_dirty_memory_does_not_matter(self, backend: CudaGraphs) -> None:
        """NaN from one recording fills whatever the next one computes in."""
        noisy, block = Block(1240), Block(98)
        noise, recording = captured(backend, noisy), captured(backend, block)
        expected = block()
        noisy.buffer.fill_(float("nan"))
        for _ in range(3):
            assert noise.replay().isnan().all()
            assert same_bits(recording.replay(), expected)
        noise.close()
        recording.close()

    def test_freeing_every_other_one_leaves_the_rest_working(self, backend: CudaGraphs) -> None:
        """torch frees the workspace of a graph's stream with the graph; here that lies in the pool, unused."""
        blocks = [Block(64 * (i + 1)) for i in range(12)]
        recordings = [captured(backend, block) for block in blocks]
        expected = [block() for block in blocks]
        for recording in recordings[::2]:
            recording.close()
        large = random(8192, 8192)
        for _ in range(3):
            large = (large @ large).clamp_(-1, 1)  # makes libraries want larger workspaces
        torch.cuda.empty_cache()
        noise = torch.full((256, 2**20), float("nan"), device=DEVICE)  # over whatever was freed too early
        for recording, value in zip(recordings[1::2], expected[1::2], strict=True):
            assert same_bits(recording.replay(), value)
        assert noise.isnan().all()  # and no replay writes into what was freed
        for recording in recordings[1::2]:
            recording.close()

    def test_groups_do_not_share(self, backend: CudaGraphs) -> None:
        """Features of one group's replay may be read while another group replays."""
        tower, language = Block(1536), Block(392)
        vision, text = captured(backend, tower, "vision"), captured(backend, language, "text")
        features = vision.replay()
        expected = features.clone()
        for seed in range(3):
            language.upload(seed)
            text.replay()
        assert same_bits(features, expected)
        vision.close()
        text.close()


class TestMemory:
    def test_pool_bytes_are_what_torch_says_and_come_back(self, backend: CudaGraphs) -> None:
        captured(backend, Block(1240)).close()
        torch.cuda.empty_cache()
        before, pools = torch.cuda.memory_reserved(), memory()["pools"]
        blocks = [Block(1240), Block(98)]
        recordings = [captured(backend, block) for block in blocks]
        held = sum(recording.pool_bytes for recording in recordings)
        assert held == memory()["pools"] - pools
        assert held > 1240 * WIDTH * 2
        for recording in recordings:
            recording.close()
        assert memory()["pools"] == pools
        del blocks, recording
        torch.cuda.empty_cache()
        assert torch.cuda.memory_reserved() - before <= 2**22

    def test_a_pool_stays_until_its_last_recording_goes(self, backend: CudaGraphs) -> None:
        first, second = captured(backend, Block(1240)), captured(backend, Block(98))
        first.close()
        assert memory()["pools"] >= first.pool_bytes
        third = captured(backend, Block(1240))
        assert third.pool_bytes <= first.pool_bytes // 4
        second.close()
        third.close()
        again = captured(backend, Block(1240))
        assert again.pool_bytes >= first.pool_bytes // 2
        again.close()

    def test_many_captures_and_evictions_leave_nothing(self, backend: CudaGraphs) -> None:
        block, sizes = Block(392), []
        for _ in range(12):
            captured(backend, block).close()
            torch.cuda.empty_cache()
            sizes.append((torch.cuda.memory_reserved(), memory()["pools"]))
        assert len(set(sizes[2:])) == 1, sizes


class TestSideStreams:
    def test_work_forked_inside_a_capture_is_in_the_graph_and_joined(self, backend: CudaGraphs) -> None:
        block = Block(392)
        sides = [torch.cuda.Stream() for _ in range(3)]

        def forked() -> Tensor:
            current = torch.cuda.current_stream()
            parts = []
            for side in sides:
                side.wait_stream(current)
                with torch.cuda.stream(side):
                    parts.append(F.linear(block.buffer, block.weight).float().sin().bfloat16())
            for side in sides:
                current.wait_stream(side)
            return parts[0] + parts[1] * parts[2]

        recording = captured(backend, forked)
        for seed in (1, 2, 1):
            block.upload(seed)
            got = recording.replay().clone()
            torch.cuda.synchronize()
            expected = forked()
            torch.cuda.synchronize()
            assert same_bits(got, expected)
        recording.close()

    def test_work_that_is_not_joined_fails_the_capture(self, backend: CudaGraphs) -> None:
        block, side = Block(98), torch.cuda.Stream()

        def unjoined() -> Tensor:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                block.weight.abs()
            return block()

        backend.run(unjoined)
        with pytest.raises(CaptureError, match="ending the capture failed"):
            backend.record(unjoined, "text")
        _assert_sane(backend)


class Injected(torch.cuda.CUDAGraph):
    """A real graph of which one step fails, before or after it was done."""

    step, late = "", False

    def _fail(self, step: str, do: Callable[[], None]) -> None:
        if self.step != step:
            return do()
        self.step = ""
        if self.late:
            do()
        raise RuntimeError(f"injected at {step}")

    def capture_begin(self, *args: object, **kwargs: object) -> None:
        begin = super().capture_begin
        self._fail("begin", lambda: begin(*args, **kwargs))

    def capture_end(self) -> None:
        self._fail("end", super().capture_end)

    def instantiate(self) -> None:
        self._fail("instantiate", super().instantiate)


def _assert_sane(backend: CudaGraphs) -> None:
    """The device, the current stream and the allocator are as before, and the next captures work."""
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert not torch.cuda.is_current_stream_capturing()
    torch.cuda.synchronize()
    block = Block(98)
    recording, other = captured(backend, block), captured(backend, Block(17), "vision")
    assert same_bits(recording.replay(), block())
    recording.close()
    other.close()
    with room_for(2**28):
        # An allocator that believes in a capture under way would refuse to free the first for the second.
        torch.empty(3 * 2**26, dtype=torch.uint8, device=DEVICE)
        torch.empty(7 * 2**25, dtype=torch.uint8, device=DEVICE)
    torch.cuda.empty_cache()
    assert memory()["pools"] == 0


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Only `size` bytes more for this process, whatever else the device has: other work on it is not disturbed."""
    torch.cuda.empty_cache()
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + size) / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


class TestFailure:
    @pytest.mark.parametrize(
        ("step", "late", "said"),
        [
            ("begin", False, "beginning the capture failed: RuntimeError: injected at begin"),
            ("begin", True, "beginning the capture failed: RuntimeError: injected at begin"),
            ("end", False, "ending the capture failed: RuntimeError: injected at end"),
            ("end", True, "ending the capture failed: RuntimeError: injected at end"),
            ("instantiate", False, "instantiating the graph failed: RuntimeError: injected at instantiate"),
            ("instantiate", True, "instantiating the graph failed: RuntimeError: injected at instantiate"),
        ],
    )
    def test_a_step_that_fails_is_named_and_leaves_everything_in_order(
        self, backend: CudaGraphs, monkeypatch: pytest.MonkeyPatch, step: str, late: bool, said: str
    ) -> None:
        block = Block(98)
        expected = backend.run(block)

        def injected() -> Injected:
            graph = Injected(keep_graph=True)
            graph.step, graph.late = step, late
            return graph

        with monkeypatch.context() as patch:
            patch.setattr(backend._cuda, "new_graph", injected)
            for _ in range(3):
                with pytest.raises(CaptureError, match=said):
                    backend.record(block, "text")
        assert same_bits(backend.run(block), expected)
        _assert_sane(backend)

    @pytest.mark.parametrize("what", ["error", "host read", "synchronise", "legacy stream"])
    def test_a_broken_recording_is_refused_and_the_next_one_works(self, backend: CudaGraphs, what: str) -> None:
        block, kept = Block(98), Block(392)
        recording = captured(backend, kept)
        breaks: dict[str, Callable[[], object]] = {
            "error": lambda: _raise(ValueError("injected")),
            "host read": lambda: block.buffer.sum().item(),
            "synchronise": torch.cuda.synchronize,
            "legacy stream": lambda: _on_the_legacy_stream(block),
        }

        def broken() -> Tensor:
            result = block()
            if torch.cuda.is_current_stream_capturing():
                breaks[what]()
            return result

        backend.run(broken)
        for _ in range(3):
            with pytest.raises(CaptureError, match=r"(recording|ending the capture) failed"):
                backend.record(broken, "text")
            assert torch.cuda.current_stream() == torch.cuda.default_stream()
        assert same_bits(recording.replay(), kept())
        recording.close()
        _assert_sane(backend)

    @pytest.mark.parametrize("group", ["text", "vision"])
    def test_out_of_memory_inside_a_capture(self, backend: CudaGraphs, group: str) -> None:
        """In a pool of its own nothing is left; in one that is in use the rest is reported, and goes with the pool."""
        block, kept = Block(98), Block(392)
        recording = captured(backend, kept, "text")

        def greedy() -> Tensor:
            if torch.cuda.is_current_stream_capturing():
                held = [torch.empty(2**26, dtype=torch.uint8, device=DEVICE) for _ in range(1000)]
                del held
            return block()

        expected = backend.run(greedy)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        with room_for(2**30), pytest.raises(CaptureError, match="recording failed: OutOfMemoryError") as caught:
            backend.record(greedy, group)
        left = torch.cuda.memory_reserved() - before
        if group == "vision":
            assert (caught.value.pool, left <= 2**21) == (0, True)
        else:
            assert caught.value.pool >= 2**29
        assert same_bits(recording.replay(), kept())
        recording.close()
        assert torch.cuda.memory_reserved() - before <= 2**21
        assert same_bits(backend.run(greedy), expected)
        _assert_sane(backend)

    def test_a_full_device_is_enough_for_an_eager_run(self, backend: CudaGraphs) -> None:
        """No room for a pool beside what the eager run needed; it came back, so a later capture has it."""
        block = Block(8192)
        expected = backend.run(block)
        torch.cuda.synchronize()
        with room_for(2**23), pytest.raises(CaptureError, match="OutOfMemoryError"):
            backend.record(block, "text")
        recording = captured(backend, block)
        assert same_bits(recording.replay(), expected)
        recording.close()
        _assert_sane(backend)

    def test_failures_leave_no_memory_behind(self, backend: CudaGraphs) -> None:
        block = Block(1240)

        def broken() -> Tensor:
            result = block()
            if torch.cuda.is_current_stream_capturing():
                _raise(ValueError("injected"))
            return result

        backend.run(broken)
        reserved = []
        for _ in range(4):
            with pytest.raises(CaptureError):
                backend.record(broken, "text")
            torch.cuda.empty_cache()
            reserved.append((torch.cuda.memory_reserved(), memory()["pools"]))
        assert len(set(reserved[1:])) == 1, reserved
        assert reserved[-1][1] == 0

    def test_a_closed_recording_cannot_be_replayed(self, backend: CudaGraphs) -> None:
        recording = captured(backend, Block(16))
        recording.close()
        recording.close()
        with pytest.raises(RuntimeError, match="closed"):
            recording.replay()


class TestKernelsOfOthers:
    def test_a_kernel_tuned_before_is_captured_and_one_that_is_not_fails_the_capture(
        self, backend: CudaGraphs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("triton")
        from tests.gpu import tuned_kernel

        monkeypatch.setattr(autotune, "PACKAGES", (*autotune.PACKAGES, "tests"))

        def forward(width: int) -> Callable[[], Tensor]:
            x = random(4, width)
            return lambda: tuned_kernel.double(x)

        known, unknown = forward(1024), forward(2048)
        backend.run(known)
        keys = len(tuned_kernel.kernel.cache)
        recording = backend.record(known, "text")
        assert len(tuned_kernel.kernel.cache) == keys
        assert same_bits(recording.replay(), known())
        recording.close()
        with pytest.raises(CaptureError):
            backend.record(unknown, "text")
        _assert_sane(backend)

    @pytest.mark.parametrize("tokens", [98, 278])
    def test_fla_chunk_kernels(self, backend: CudaGraphs, tokens: int) -> None:
        pytest.importorskip("fla")
        from kit.kernels import delta_rule

        rule = delta_rule.from_package()
        assert rule is not None
        q, k, v = random(tokens, 16, 128), random(tokens, 16, 128, seed=1), random(tokens, 48, 128, seed=2)
        g, beta = -random(tokens, 48, seed=3).float().exp(), random(tokens, 48, seed=4).sigmoid()

        def forward() -> Tensor:
            return rule(q, k, v, g, beta)

        recording = captured(backend, forward)
        for seed in (0, 5, 0):
            q.copy_(random(tokens, 16, 128, seed=seed))
            assert same_bits(recording.replay(), forward())
        recording.close()


def _raise(error: Exception) -> None:
    raise error


def _on_the_legacy_stream(block: Block) -> None:
    with torch.cuda.stream(torch.cuda.default_stream()):
        block.buffer.add_(1)


def _owners() -> list[tuple[int, tuple[int, ...]]]:
    return [(item["address"], tuple(item["segment_pool_id"])) for item in torch.cuda.memory_snapshot()]


def _segment_of(tensor: Tensor) -> int:
    """Address of the allocator's segment that a tensor lies in."""
    return next(
        item["address"]
        for item in torch.cuda.memory_snapshot()
        if item["address"] <= tensor.data_ptr() < item["address"] + item["total_size"]
    )
