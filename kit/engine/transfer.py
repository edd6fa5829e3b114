"""What travels between host and device around a forward: integers up, rows down, and the time in between.

Covers: one block of pinned memory and one copy for all token ids, image places and positions of a request,
rows that arrive in pinned memory while the host goes on, and marks on the device's own clock. On a CPU the same
calls are plain tensors and the host's clock. Nothing here waits for the device.
Does not cover: pixels, or what the integers mean (`kit.engine.native`).
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Prompt(NamedTuple):
    """One question's integers on the device, all int64.

    ids [T]; places: indices of image rows, None without images; positions [3, T], None for those of a text.
    """

    ids: Tensor
    places: Tensor | None = None
    positions: Tensor | None = None


def upload(lists: Sequence[Sequence[int]], device: torch.device) -> list[Tensor]:
    """Lists of integers as int64 tensors on `device`, views of one block, in one copy that is only queued."""
    block = array("q")
    for values in lists:
        block.extend(values)
    host = torch.frombuffer(block, dtype=torch.int64) if block else torch.empty(0, dtype=torch.int64)
    if device.type == "cuda":
        # torch keeps this memory from its next user until the copy has ended.
        host = host.pin_memory().to(device, non_blocking=True)
    return list(torch.split(host, [len(values) for values in lists]))


def host_rows(rows: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Room on the host, [rows, width], for what `copy_(..., non_blocking=True)` fetches from `device`."""
    return torch.empty(rows, width, dtype=dtype, pin_memory=device.type == "cuda")


class Stopwatch:
    """Marks between pieces of work, as the device reaches them; the first is set when it is made."""

    def __init__(self, device: torch.device) -> None:
        self._events = device.type == "cuda"
        self._marks: list[Any] = []
        self.mark()

    def mark(self) -> None:
        """A mark behind everything issued so far."""
        if self._events:
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter())

    def milliseconds(self) -> list[float]:
        """Time between each mark and the next; the device must have reached the last one."""
        pairs = list(zip(self._marks, self._marks[1:], strict=False))
        if self._events:
            return [float(first.elapsed_time(second)) for first, second in pairs]
        return [1e3 * (second - first) for first, second in pairs]
