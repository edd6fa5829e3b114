"""CUDA graphs as a capture backend: whole forwards, recorded on one stream into a memory pool a group.

Covers: `cuda-graph`, the `kit.engine.capture.Backend` of a GPU: the run before a capture, the capture in steps
that fail apart (begin, record, end, instantiate), and leaving device, stream and allocator in order after each.

The recordings of a group (a cache) share a private pool. With a pool each, every recording would keep what its
forward computes in for itself: at 27B 184 MiB and 0.36 MiB a token, 13 GiB for the 38 prompt lengths of the
protocol, of which the largest alone is 1 GiB (measured on an H200). Sharing is safe because nothing in a pool
lives past a replay: replays are issued one after another on the engine's stream, and a result is copied out of
the pool before the next one begins. Two things would break that, and are kept out of it. Buffers a caller fills
lie outside, since they were allocated before. And the workspace that cuBLAS keeps for each stream: made before
the capture, it would lie outside every pool, and resetting one graph makes torch free it under all others of
that stream; so it is dropped first, and every capture takes its own from the pool.
Does not cover: which forwards are captured, or static inputs (`kit.engine.captured`).
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.engine import autotune
from kit.engine.cuda_device import CudaDevice, Pool
from kit.engine.graph_cache import CaptureError

if TYPE_CHECKING:
    from kit.kernels import Ops

log = logging.getLogger(__name__)


@dataclass
class _SharedPool:
    """One group's pool.

    bytes: its size, as far as recordings have accounted for it. users: open recordings. spoiled: torch takes no
    more captures into it.
    """

    id: Pool
    bytes: int = 0
    users: int = 0
    spoiled: bool = False


class CudaRecording:
    """A graph and its output, which lies in the group's pool. `kit.engine.capture.Recording`."""

    bytes = 0  # what is its own lies outside torch's allocator: see `CudaGraphs.outside_bytes`

    def __init__(
        self,
        cuda: CudaDevice,
        graph: Any,
        forward: Callable[[], Tensor],
        output: Tensor,
        pool: _SharedPool,
        growth: int,
    ) -> None:
        self.pool_bytes = growth
        self._cuda, self._graph, self._pool = cuda, graph, pool
        # A graph knows addresses only: what its forward closes over must live as long as it does.
        self._forward: Callable[[], Tensor] | None = forward
        self._output: Tensor | None = output

    def replay(self) -> Tensor:
        """Launch on the current stream, behind the uploads issued there; does not wait."""
        if self._output is None:
            raise RuntimeError("this recording was closed and cannot be replayed")
        self._graph.replay()
        return self._output

    def close(self) -> None:
        if self._output is None:
            return
        self._cuda.synchronise()
        self._output = None
        self._graph.reset()
        self._forward = None
        self._pool.users -= 1
        # A byte bound means little while the allocator still holds what nobody uses.
        self._cuda.empty_cache()


class CudaGraphs:
    """`cuda-graph`: whole forwards as CUDA graphs. `cuda`: the device to capture on, by way of its few calls."""

    name = "cuda-graph"
    claim = "CUDA graphs replayed from static buffers, one private memory pool a cache"

    def __init__(self, device: torch.device, cuda: CudaDevice | None = None) -> None:
        self._cuda = cuda or CudaDevice(device)
        self._stream: Any = None
        self._pools: dict[str, _SharedPool] = {}
        self._failed: list[Any] = []

    def ops(self, ops: Ops) -> Ops:
        """As they are: a GPU graph holds kernels, however many calls launched them."""
        return ops

    def run(self, forward: Callable[[], Tensor]) -> Tensor:
        """Run on the stream of the captures: libraries set up handles, and autotuners tune, for that stream."""
        current, stream = self._cuda.current_stream(), self._own_stream()
        stream.wait_stream(current)
        with self._cuda.on(stream):
            result = forward()
        # The result belongs to the captures' stream; that one waits for ours before it reuses the memory.
        current.wait_stream(stream)
        return result

    def record(self, forward: Callable[[], Tensor], group: str) -> CudaRecording:
        """Capture in thread-local mode.

        Raises CaptureError after a failure that left the device usable; where even synchronising fails, that
        error is raised, for then no later result could be trusted. What a failed capture got from a pool in use
        stays there: only the pool as a whole can be freed, because its graphs compute in memory it holds as free.
        """
        pool = self._pool(group)
        self._cuda.synchronise()
        self._cuda.clear_workspaces()
        # An allocation inside a capture cannot make room by freeing what the run before it left cached.
        self._cuda.empty_cache()
        graph = self._cuda.new_graph()
        output, failure = self._capture(graph, pool, forward)
        self._cuda.clear_workspaces()
        if output is None:
            self._discard(graph)
            raise CaptureError(failure, self._cuda.pool_bytes(pool.id) - pool.bytes if pool.users else 0)
        # The capture only recorded: NaN marks what no replay has written.
        output.fill_(float("nan"))
        pool.users += 1
        known, pool.bytes = pool.bytes, self._cuda.pool_bytes(pool.id)
        return CudaRecording(self._cuda, graph, forward, output, pool, pool.bytes - known)

    def outside_bytes(self) -> int:
        """Device memory that torch's allocator does not know: its growth over a capture is the graph's own."""
        return self._cuda.outside_bytes()

    def close(self) -> None:
        self._cuda.synchronise()
        self._pools.clear()
        self._cuda.clear_workspaces()
        self._cuda.empty_cache()
        if self._stream is not None:
            self._cuda.destroy_stream(self._stream)
            self._stream = None

    def _capture(self, graph: Any, pool: _SharedPool, forward: Callable[[], Tensor]) -> tuple[Tensor | None, str]:
        """(output, "") or (None, what failed); afterwards the stream does not record any more."""
        step = "beginning the capture"
        # Not `torch.cuda.graph`: when ending a broken capture raises, it leaves its stream current.
        with self._cuda.on(self._own_stream()):
            try:
                graph.capture_begin(pool=pool.id, capture_error_mode="thread_local")
                step, tuned = "recording", _tuned_keys()
                output = forward()
                if _tuned_keys() != tuned:
                    raise CaptureError("a kernel was autotuned inside the capture")
                step = "ending the capture"
                graph.capture_end()
                step = "instantiating the graph"
                graph.instantiate()
                return output, ""
            except Exception as error:
                log.debug("%s failed", step, exc_info=error)
                self._leave(graph, pool, step)
                # Tensors of the forward that failed would live, in the pool, as long as this error does, or
                # until the kernel is called again that it could not tune.
                traceback.clear_frames(error.__traceback__)
                autotune.let_go()
                return None, f"{step} failed: {type(error).__name__}: {error}"

    def _leave(self, graph: Any, pool: _SharedPool, step: str) -> None:
        """End a capture that is still under way, as well as it can be ended."""
        if step == "instantiating the graph":
            return
        for _ in range(2):  # the second time where the first raised and ended nothing
            if self._cuda.capturing():
                try:
                    graph.capture_end()
                except Exception as error:
                    log.debug("a broken capture ended with an error", exc_info=error)
        if self._cuda.capturing():
            raise RuntimeError("a broken capture cannot be ended: its stream and this device are lost")
        pool.spoiled = self._cuda.forget_capture(pool.id)

    def _discard(self, graph: Any) -> None:
        """Free what a failed capture left, and show that the device still works."""
        self._cuda.synchronise()
        graph.reset()
        self._cuda.empty_cache()
        # Kept: torch's host allocator may go on asking this object whether its capture is under way.
        self._failed.append(graph)

    def _pool(self, group: str) -> _SharedPool:
        """The group's pool; a new one when no recording uses the old one any more, which is freed then."""
        pool = self._pools.get(group)
        if pool is None or pool.users == 0 or pool.spoiled:
            pool = self._pools[group] = _SharedPool(self._cuda.new_pool())
        return pool

    def _own_stream(self) -> Any:
        """One stream for all: the allocator reuses a pool's memory only for the stream it was allocated on."""
        if self._stream is None:
            self._stream = self._cuda.new_stream()
        return self._stream


def _tuned_keys() -> int:
    """How many keys Triton's autotuners of this process have decided."""
    return sum(len(tuner.cache) for tuner in autotune.autotuners().values())
