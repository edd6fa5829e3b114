"""A CUDA device in name only: it notes what a capture backend asks of it, computes on the CPU, and fails on demand.

A graph's capture is recorded as ATen calls (`kit.engine.capture`), so that replays repeat real bits; pools,
streams and memory are bookkeeping. `log` holds every step in order. `fail` names one call that raises once,
`late` lets it do its work first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from kit.engine.capture import _Recorder, _straight_line, _with_lifetimes
from kit.engine.cuda_device import CudaDevice, Pool

BLOCK = 1000  # bytes a capture takes of its pool for each ATen call


class FakeCuda(CudaDevice):
    """See the module. `pools`: id -> [bytes, graphs that use it]; `allocating`: the pool a capture is thought to run into."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.fail, self.late = "", False
        self.pools: dict[Pool, list[int]] = {}
        self.allocating: Pool | None = None
        self.refused: set[Pool] = set()  # that torch takes no more captures into
        self.recorder: _Recorder | None = None
        self._current = FakeStream(self, "main")
        self._streams = self._graphs = 0

    def step(self, name: str, do: Callable[[], Any] = lambda: None) -> Any:
        """One call: noted, done, and failed if it is its turn."""
        self.log.append(name)
        failing = self.fail != "" and name.startswith(self.fail)
        if failing:
            self.fail = ""
            if not self.late:
                raise RuntimeError(f"injected at {name}")
        result = do()
        if failing:
            raise RuntimeError(f"injected at {name}")
        return result

    def new_stream(self) -> Any:
        self._streams += 1
        return FakeStream(self, f"stream {self._streams}")

    def destroy_stream(self, stream: Any) -> None:
        self.log.append(f"destroy {stream.name}")

    def current_stream(self) -> Any:
        return self._current

    @contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        before, self._current = self._current, stream
        try:
            yield
        finally:
            self._current = before

    def synchronise(self) -> None:
        self.step("synchronise")

    def new_graph(self) -> Any:
        self._graphs += 1
        return FakeGraph(self, self._graphs)

    def capturing(self) -> bool:
        return self.recorder is not None

    def new_pool(self) -> Pool:
        pool = Pool((0, len(self.pools) + 1))
        self.pools[pool] = [0, 0]
        return pool

    def forget_capture(self, pool: Pool) -> bool:
        self.log.append("forget the capture")
        if self.allocating != pool:
            return False
        self.allocating = None
        self.refused.add(pool)
        self.release(pool)
        return True

    def release(self, pool: Pool) -> None:
        self.pools[pool][1] -= 1
        if self.pools[pool][1] == 0:
            self.pools[pool][0] = 0

    def clear_workspaces(self) -> None:
        self.log.append("clear workspaces")

    def empty_cache(self) -> None:
        self.log.append("empty cache")

    def pool_bytes(self, pool: Pool) -> int:
        return self.pools[pool][0]

    def outside_bytes(self) -> int:
        return 0


class FakeStream:
    """A name; waiting is noted."""

    def __init__(self, cuda: FakeCuda, name: str) -> None:
        self._cuda, self.name = cuda, name

    def wait_stream(self, other: FakeStream) -> None:
        self._cuda.log.append(f"{self.name} waits for {other.name}")


class FakeGraph:
    """torch.cuda.CUDAGraph with keep_graph=True, as far as the backend uses it."""

    def __init__(self, cuda: FakeCuda, number: int) -> None:
        self._cuda, self.number = cuda, number
        self._pool: Pool | None = None
        self._run: Callable[[], Tensor] | None = None
        self._output: Tensor | None = None
        self._ended = False

    def capture_begin(self, pool: Pool, capture_error_mode: str) -> None:
        assert capture_error_mode == "thread_local"
        self._cuda.step(f"begin {self.number} on {self._cuda.current_stream().name}", lambda: self._begin(pool))

    def _begin(self, pool: Pool) -> None:
        assert pool not in self._cuda.refused
        self._pool = self._cuda.allocating = pool
        self._cuda.pools[pool][1] += 1
        self._cuda.recorder = _Recorder()
        self._cuda.recorder.__enter__()

    def capture_end(self) -> None:
        self._cuda.step(f"end {self.number}", self._end)

    def _end(self) -> None:
        recorder, self._cuda.recorder = self._cuda.recorder, None
        assert recorder is not None
        assert self._pool is not None
        recorder.__exit__(None, None, None)
        self._cuda.allocating = None
        self._ended = True
        held = self._cuda.pools[self._pool]
        held[0] = max(held[0], BLOCK * len(recorder.calls))
        if not recorder._slots:  # the forward failed, and its tensors are gone
            return
        # The forward's result is what its last call made.
        slot = max(recorder._slots.values())
        self._output = next(tensor for tensor, number in recorder._slots.items() if number == slot)
        self._run = _straight_line(_with_lifetimes(recorder.calls, slot), slot)

    def instantiate(self) -> None:
        assert self._ended
        self._cuda.step(f"instantiate {self.number}")

    def replay(self) -> None:
        run, output = self._run, self._output
        assert run is not None, "a graph that was reset or never captured"
        assert output is not None
        self._cuda.step(f"replay {self.number} on {self._cuda.current_stream().name}", lambda: output.copy_(run()))

    def reset(self) -> None:
        self._cuda.log.append(f"reset {self.number}")
        if self._ended and self._pool is not None:
            self._cuda.release(self._pool)
        self._ended, self._run, self._output = False, None, None
