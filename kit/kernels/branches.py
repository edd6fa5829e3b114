"""Branches of a CUDA graph: work that leaves the captured stream and comes back to it.

Covers: `Fork`, side streams that start where the captured stream is and end before what it does after `join`;
and `Line`, the same calls without branches, for an eager run.
The caching allocator knows one stream a tensor. So what crosses is allocated on the main stream before any work
is issued aside, and let go after the join; what is allocated on a side stream stays there, and is handed out
again only behind it. `Tensor.record_stream` would do as well, but keeps memory until a capture has ended.
Does not cover: which work goes where (`kit.kernels.fused_projections`), or an event that outlives its capture.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch


class Line:
    """Everything on the current stream, in the order it is issued."""

    def branch(self, number: int, after: Any = None) -> AbstractContextManager[Any]:
        """Issue work on a branch inside a with block. 0 is the main line; another starts `after` a mark."""
        return contextlib.nullcontext()

    def mark(self) -> Any:
        """The end of what the current branch has got so far."""
        return None

    def join(self) -> None:
        """What the main line does from here on waits for every branch."""


class Fork(Line):
    """Branch n is side stream n - 1. Branches start where the first of them is entered, behind everything that
    was issued on the main stream until then, whatever fills freshly allocated memory included."""

    def __init__(self, sides: Sequence[torch.cuda.Stream]) -> None:
        self._sides = sides
        self._main = torch.cuda.current_stream(sides[0].device)
        self._start: torch.cuda.Event | None = None
        self._used: list[torch.cuda.Stream] = []

    def branch(self, number: int, after: Any = None) -> AbstractContextManager[Any]:
        if number == 0:
            return contextlib.nullcontext()
        side = self._sides[number - 1]
        self._start = self._start or self._main.record_event()
        if side not in self._used:
            self._used.append(side)
            side.wait_event(self._start)
        if after is not None:
            side.wait_event(after)
        return torch.cuda.stream(side)

    def mark(self) -> Any:
        return torch.cuda.current_stream(self._main.device).record_event()

    def join(self) -> None:
        for side in self._used:
            self._main.wait_stream(side)
