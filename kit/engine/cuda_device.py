"""What a capture asks of a CUDA device and of torch's allocator, in one small class.

Covers: streams of our own, waiting, memory that is held and by whom, and putting the allocator right after a
capture that never ended. Everything `kit.engine.cuda_graph` does to the device goes through here, so that its
order of steps is tested on a CPU with another class of the same methods.
Does not cover: that order, or what it is for.
"""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from typing import Any, NewType, cast

import torch

Pool = NewType("Pool", tuple[int, int])  # the id of a private memory pool; a new one holds nothing


class CudaDevice:
    """The CUDA device `device`, current or not."""

    def __init__(self, device: torch.device) -> None:
        self.index = torch.cuda.current_device() if device.index is None else device.index
        self._device = torch.device("cuda", self.index)

    # Streams.

    def new_stream(self) -> Any:
        """A stream of our own: torch hands its streams out from a ring of 32, to several users each.

        It synchronises with the legacy stream: a kernel launched there by mistake while we capture then breaks
        the capture instead of silently staying out of the graph.
        """
        handle = ctypes.c_void_p()
        with torch.cuda.device(self._device):
            status = _runtime().cudaStreamCreate(ctypes.addressof(handle))
        if int(status) != 0 or handle.value is None:
            raise RuntimeError(f"no CUDA stream could be created for a capture: status {status}")
        return torch.cuda.ExternalStream(handle.value, device=self._device)  # type: ignore[no-untyped-call]

    def destroy_stream(self, stream: Any) -> None:
        """Free a stream of `new_stream` that nothing uses any more."""
        _runtime().cudaStreamDestroy(stream.cuda_stream)

    def current_stream(self) -> Any:
        """Where work is issued now."""
        return torch.cuda.current_stream(self._device)

    def on(self, stream: Any) -> AbstractContextManager[None]:
        """Issue work on `stream` inside a with block, and where it went before after it, whatever happens."""
        return cast("AbstractContextManager[None]", torch.cuda.stream(stream))

    def synchronise(self) -> None:
        """Wait for everything issued. Raises what an earlier launch left behind."""
        torch.cuda.synchronize(self._device)

    # Graphs.

    def new_graph(self) -> Any:
        """An empty graph, whose capture ends without instantiating it: the two fail for different reasons."""
        return torch.cuda.CUDAGraph(keep_graph=True)

    def capturing(self) -> bool:
        """True while the current stream records instead of running."""
        return torch.cuda.is_current_stream_capturing()

    # Memory.

    def new_pool(self) -> Pool:
        """A private pool for captures."""
        return Pool(tuple(torch.cuda.graph_pool_handle()))  # type: ignore[arg-type]

    def forget_capture(self, pool: Pool) -> bool:
        """Let the allocator leave a capture into `pool` that torch began and could not end; False if it had none.

        Where beginning or ending raises, torch leaves its allocators as if the capture went on. That of the
        device would never again free cached memory to serve a request, nor let the pool go: it is put right
        here. That of pinned host memory offers no way to, and refuses every later capture into the same pool.
        """
        try:
            torch._C._cuda_endAllocateToPool(self.index, pool)
        except RuntimeError:  # it was left in order: resetting the graph gives the pool back
            return False
        torch._C._cuda_releasePool(self.index, pool)
        return True

    def clear_workspaces(self) -> None:
        """Drop what cuBLAS works in, of every stream; the next product allocates it again."""
        torch._C._cuda_clearCublasWorkspaces()

    def empty_cache(self) -> None:
        """Give memory that nothing holds back to the device."""
        torch.cuda.empty_cache()

    def pool_bytes(self, pool: Pool) -> int:
        """Bytes of device memory in the segments of a private pool."""
        return sum(size for owner, size in _segments() if owner == pool)

    def outside_bytes(self) -> int:
        """Bytes of device memory in use that torch's allocator knows nothing of: graphs, modules, contexts.

        Of the whole device, so that other processes show in it.
        """
        free, total = torch.cuda.mem_get_info(self._device)
        return total - free - torch.cuda.memory_reserved(self._device)


def give_back(device: torch.device) -> None:
    """Return what a closed engine's tensors and products took, after waiting for the last of them; a CPU has nothing.

    Other engines of the process go on: their next product allocates a workspace again, and graphs have their own.
    """
    if device.type == "cuda":
        cuda = CudaDevice(device)
        cuda.synchronise()
        cuda.clear_workspaces()
        cuda.empty_cache()


def memory() -> dict[str, int]:
    """What torch's allocator holds on the current device, in bytes; {} in a process without a CUDA context.

    allocated: live tensors. reserved: with what it keeps for later. pools: the part of `reserved` that belongs
    to captured graphs. peak_*: the most there ever was. outside: in use on the device and not the allocator's.
    """
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return {}
    device = CudaDevice(torch.device("cuda"))
    return {
        "allocated": torch.cuda.memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
        "pools": sum(size for owner, size in _segments() if owner != (0, 0)),
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "outside": device.outside_bytes(),
    }


def _segments() -> list[tuple[tuple[int, ...], int]]:
    """(id of the pool, bytes) of every piece of memory torch's allocator holds; the common pool is (0, 0)."""
    segments = torch.cuda.memory_snapshot()  # type: ignore[no-untyped-call]
    return [(tuple(segment["segment_pool_id"]), segment["total_size"]) for segment in segments]


def _runtime() -> Any:
    return torch.cuda.cudart()  # type: ignore[no-untyped-call]
