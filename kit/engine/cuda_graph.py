"""CUDA graphs as a capture backend: one graph, one memory pool and one stream for every recording.

Covers: `cuda-graph`, the `kit.engine.capture.Backend` of a GPU. Nothing is shared between recordings, because
every sharing has a known way to go wrong: in a shared pool an earlier graph's tensors can be reused by a later
capture, and the workspaces that cuBLAS keeps per stream are cleared when a graph of that stream is reset.
torch hands out its streams from a ring of 32, so each stream is created here and used by one recording at a time.
The price is a cuBLAS workspace a stream (33 MiB on an H200), kept for the next recording and not counted in bytes.
Does not cover: which forwards are captured, or static inputs (`kit.engine.graph`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.engine.graph_cache import CaptureError

if TYPE_CHECKING:
    from kit.kernels import Ops


class CudaRecording:
    """A graph, its output in the graph's own pool, and the bytes the pool has reserved."""

    def __init__(self, graph: Any, output: Tensor, size: int, give_back: Callable[[], None]) -> None:
        self.bytes = size
        self._graph = graph
        self._output: Tensor | None = output
        self._give_back = give_back

    def replay(self) -> Tensor:
        """Launch on the current stream, behind the uploads issued there; does not wait."""
        if self._output is None:
            raise RuntimeError("this recording was closed and cannot be replayed")
        self._graph.replay()
        return self._output

    def close(self) -> None:
        if self._output is None:
            return
        torch.cuda.synchronize(self._output.device)
        self._output = None
        self._graph.reset()
        self._give_back()
        # A byte bound means little while the allocator still holds the evicted pool.
        torch.cuda.empty_cache()


class CudaGraphs:
    """`cuda-graph`: whole forwards as CUDA graphs."""

    name = "cuda-graph"
    claim = "CUDA graphs replayed from static buffers, one private memory pool an entry"

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._idle: list[torch.cuda.ExternalStream] = []

    def ops(self, ops: Ops) -> Ops:
        """As they are: a GPU graph holds kernels, however many calls launched them."""
        return ops

    def record(self, forward: Callable[[], Tensor]) -> CudaRecording:
        """Warm up on the stream of the capture, then capture in thread-local mode.

        Raises CaptureError after a failure that left the device usable; where even synchronising fails, that
        error is raised, for then no later result could be trusted.
        """
        stream = self._idle.pop() if self._idle else self._new_stream()
        graph: Any = torch.cuda.CUDAGraph()
        pool = torch.cuda.graph_pool_handle()
        try:
            output = self._capture(graph, pool, stream, forward)
        except Exception as error:
            torch.cuda.synchronize(self._device)
            self._idle.append(stream)
            raise CaptureError(f"recording failed: {type(error).__name__}: {error}") from error
        # The capture only recorded: NaN marks what no replay has written.
        output.fill_(float("nan"))
        return CudaRecording(graph, output, _reserved(pool), lambda: self._idle.append(stream))

    def _capture(
        self, graph: Any, pool: Any, stream: torch.cuda.ExternalStream, forward: Callable[[], Tensor]
    ) -> Tensor:
        torch.cuda.synchronize(self._device)
        with torch.cuda.stream(stream):
            # Libraries set up handles and workspaces per stream: outside the capture, so outside its pool.
            forward()
            torch.cuda.synchronize(self._device)
            # Not `torch.cuda.graph`: when ending a broken capture raises, it leaves its stream current.
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                output = forward()
            finally:
                graph.capture_end()
        return output

    def _new_stream(self) -> torch.cuda.ExternalStream:
        """A stream of our own, one that synchronises with the legacy stream: a kernel launched there by
        mistake while we capture then breaks the capture instead of silently staying out of the graph."""
        handle = ctypes.c_void_p()
        with torch.cuda.device(self._device):
            status = _runtime().cudaStreamCreate(ctypes.addressof(handle))
        if int(status) != 0 or handle.value is None:
            raise RuntimeError(f"no CUDA stream could be created for a capture: status {status}")
        return torch.cuda.ExternalStream(handle.value, device=self._device)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        torch.cuda.synchronize(self._device)
        for stream in self._idle:
            _runtime().cudaStreamDestroy(stream.cuda_stream)
        self._idle.clear()


def _runtime() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]


def _reserved(pool: Any) -> int:
    """Bytes of device memory in the segments of a private pool."""
    segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
    return sum(segment["total_size"] for segment in segments if tuple(segment["segment_pool_id"]) == tuple(pool))
