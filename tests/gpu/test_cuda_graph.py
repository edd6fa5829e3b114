"""CUDA graphs on a real device: bits, buffers, failures, memory, and the traps of streams and pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine.capture import choose
from kit.engine.graph_cache import CaptureError

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: CUDA graphs cannot be captured here", allow_module_level=True)

from kit.engine.cuda_graph import CudaGraphs

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


def same_bits(a: Tensor, b: Tensor) -> bool:
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


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


def test_a_gpu_gets_cuda_graphs() -> None:
    assert choose(DEVICE).name == "cuda-graph"


class TestReplay:
    @pytest.mark.parametrize("tokens", [1, 98, 149, 1240])
    def test_repeats_the_bits_of_an_eager_run_on_whatever_the_buffer_holds(
        self, backend: CudaGraphs, tokens: int
    ) -> None:
        block = Block(tokens)
        block()
        recording = backend.record(block)
        for seed in (0, 1, 0, 2):
            block.upload(seed)
            assert same_bits(recording.replay(), block()), seed
        recording.close()

    def test_capturing_only_records_and_the_first_replay_writes(self, backend: CudaGraphs) -> None:
        block = Block(98)
        recording = backend.record(block)
        assert recording._output is not None
        assert recording._output.isnan().all()
        assert not recording.replay().isnan().any()
        recording.close()

    def test_nothing_of_the_last_replay_is_left_in_the_next(self, backend: CudaGraphs) -> None:
        block = Block(98)
        recording = backend.record(block)
        expected = block()
        block.buffer.fill_(float("nan"))
        assert recording.replay().isnan().all()
        block.upload(0)
        assert same_bits(recording.replay(), expected)
        recording.close()

    def test_many_times_the_same_bits(self, backend: CudaGraphs) -> None:
        block = Block(392)
        recording = backend.record(block)
        expected = recording.replay().clone()
        assert all(same_bits(recording.replay(), expected) for _ in range(50))
        recording.close()


class TestMemory:
    def test_bytes_are_the_private_pool_and_come_back(self, backend: CudaGraphs) -> None:
        block = Block(1240)
        block()
        backend.record(block).close()  # the stream's workspaces stay
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        recording = backend.record(block)
        torch.cuda.empty_cache()
        assert recording.bytes > 1240 * WIDTH * 2
        # A graph also registers a seed and an offset, in the allocator's smallest segment (2 MiB, shared).
        assert recording.bytes <= torch.cuda.memory_reserved() - before <= recording.bytes + 2**21
        recording.close()
        assert torch.cuda.memory_reserved() - before <= 2**21

    def test_streams_are_exclusive_and_used_again(self, backend: CudaGraphs) -> None:
        blocks = [Block(16 + i) for i in range(40)]  # more than torch's own 32 streams
        for _ in range(2):
            recordings = [backend.record(block) for block in blocks]
            assert all(same_bits(r.replay(), b()) for r, b in zip(recordings, blocks, strict=True))
            for recording in recordings:
                recording.close()
            assert len({stream.cuda_stream for stream in backend._idle}) == 40

    def test_freeing_every_other_graph_leaves_the_rest_working(self, backend: CudaGraphs) -> None:
        blocks = [Block(64 * (i + 1)) for i in range(12)]
        recordings = [backend.record(block) for block in blocks]
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
            recording.close()
        del noise

    def test_earlier_graphs_survive_later_captures(self, backend: CudaGraphs) -> None:
        first, later = Block(98), [Block(100 + 50 * i) for i in range(8)]
        recording = backend.record(first)
        expected = recording.replay().clone()
        others = [backend.record(block) for block in later]
        for other in others:
            other.replay()
        assert same_bits(recording.replay(), expected)
        for other in (*others, recording):
            other.close()


class TestFailure:
    def _raise(self) -> None:
        raise ValueError("injected")

    @pytest.mark.parametrize("what", ["error", "host read", "synchronise", "legacy stream"])
    def test_a_broken_recording_is_refused_and_the_next_one_works(self, backend: CudaGraphs, what: str) -> None:
        block = Block(98)
        breaks: dict[str, Callable[[], object]] = {
            "error": self._raise,
            "host read": lambda: block.buffer.sum().item(),
            "synchronise": torch.cuda.synchronize,
            "legacy stream": lambda: _on_the_legacy_stream(block),
        }

        def broken() -> Tensor:
            result = block()
            if torch.cuda.is_current_stream_capturing():
                breaks[what]()
            return result

        stream = torch.cuda.current_stream()
        for _ in range(3):
            with pytest.raises(CaptureError, match="recording failed"):
                backend.record(broken)
            assert torch.cuda.current_stream() == stream
            assert not torch.cuda.is_current_stream_capturing()
        assert block().isfinite().all()
        recording = backend.record(block)
        assert same_bits(recording.replay(), block())
        recording.close()

    def test_failures_leave_no_memory_behind(self, backend: CudaGraphs) -> None:
        block = Block(1240)

        def broken() -> Tensor:
            result = block()
            if torch.cuda.is_current_stream_capturing():
                self._raise()
            return result

        reserved = []
        for _ in range(4):
            with pytest.raises(CaptureError):
                backend.record(broken)
            torch.cuda.empty_cache()
            reserved.append(torch.cuda.memory_reserved())
        assert len(set(reserved[1:])) == 1, reserved

    def test_a_closed_recording_cannot_be_replayed(self, backend: CudaGraphs) -> None:
        recording = backend.record(Block(16))
        recording.close()
        recording.close()
        with pytest.raises(RuntimeError, match="closed"):
            recording.replay()


def _on_the_legacy_stream(block: Block) -> None:
    with torch.cuda.stream(torch.cuda.default_stream()):
        block.buffer.add_(1)
