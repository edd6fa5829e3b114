"""Interleaved timing: contenders take turns, forwards and backwards, and every sample belongs to a block.

Covers: the order (ABBA), how many samples a block holds, and the two stopwatches: wall clock alone, and wall
clock with CUDA events around the same work.
Does not cover: what contenders do, what a round costs (`kit.campaign.performance.rounds`), or what the samples
mean (`kit.campaign.statistics`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

MIN_BLOCKS = 5
MAX_REPEATS = 4


@dataclass(frozen=True)
class Contender:
    """An engine at one workload. run: the whole unit of work; a stopwatch waits for the device after it."""

    name: str
    run: Callable[[], object]


class Stopwatch(Protocol):
    """Times one call: (wall milliseconds, milliseconds between CUDA events or None)."""

    def time(self, run: Callable[[], object]) -> tuple[float, float | None]: ...


@dataclass
class Series:
    """Samples of one contender, in milliseconds, block by block."""

    wall: list[list[float]] = field(default_factory=list)
    device: list[list[float]] = field(default_factory=list)

    @property
    def samples(self) -> int:
        return sum(map(len, self.wall))


class WallWatch:
    """Wall clock alone. clock: seconds, as `time.perf_counter` gives them."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock

    def time(self, run: Callable[[], object]) -> tuple[float, float | None]:
        began = self._clock()
        run()
        return (self._clock() - began) * 1e3, None


class CudaWatch:
    """Wall clock around work and a final synchronisation, CUDA events on the current stream around the work."""

    def __init__(self) -> None:
        import torch

        self._cuda: Any = torch.cuda

    def time(self, run: Callable[[], object]) -> tuple[float, float | None]:
        first, last = (self._cuda.Event(enable_timing=True) for _ in range(2))
        self._cuda.synchronize()
        began = time.perf_counter()
        first.record()
        run()
        last.record()
        self._cuda.synchronize()
        return (time.perf_counter() - began) * 1e3, first.elapsed_time(last)


def device_ms(run: Callable[[], object]) -> float:
    """Milliseconds between CUDA events around a call on the current stream; waits for it."""
    import torch

    cuda: Any = torch.cuda
    first, last = (cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    run()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last))


def order(names: Sequence[str], block: int) -> list[str]:
    """Who runs when in a block: as given in even blocks, backwards in odd ones, so that slow drift cancels."""
    return list(names) if block % 2 == 0 else list(reversed(names))


def repeats_for(round_ms: float, block_ms: float) -> int:
    """Samples of each contender in a block of about block_ms, when one round of all takes round_ms."""
    return max(1, min(MAX_REPEATS, int(block_ms / max(round_ms, 1e-6))))


def measure(
    contenders: Sequence[Contender], watch: Stopwatch, *, blocks: int, repeats: int
) -> dict[str, Series]:
    """Samples of every contender in interleaved blocks. Raises ValueError for fewer than MIN_BLOCKS blocks."""
    if blocks < MIN_BLOCKS:
        raise ValueError(f"{blocks} blocks: expected at least {MIN_BLOCKS}")
    by_name = {contender.name: contender for contender in contenders}
    found = {name: Series() for name in by_name}
    for block in range(blocks):
        for name in order(list(by_name), block):
            timed = [watch.time(by_name[name].run) for _ in range(repeats)]
            found[name].wall.append([wall for wall, _ in timed])
            found[name].device.append([device for _, device in timed if device is not None])
    return found
