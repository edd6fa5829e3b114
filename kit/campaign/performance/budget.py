"""A time budget for a list of phases, spent on the most important ones first.

Covers: `Budget`, which lets a phase begin only if what is left also covers the more important phases behind it.
Phases run in an order that the work dictates (a merge spoils the weights, so it comes last), which is not the
order of importance; what does not run is reported, never dropped in silence.
Does not cover: stopping a phase that takes longer than expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """One piece of work. rank: 0 is the most important; seconds: what it is expected to take."""

    name: str
    rank: int
    seconds: float


class Budget:
    """seconds: for all phases together, counted from `started` on the clock (default: now)."""

    def __init__(
        self,
        seconds: float,
        phases: Sequence[Phase],
        *,
        started: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._clock = clock
        self._end = (clock() if started is None else started) + seconds
        self._waiting = list(phases)

    def left(self) -> float:
        """Seconds left, perhaps below zero."""
        return self._end - self._clock()

    def refusal(self, name: str) -> str:
        """Why the phase may not begin, "" if it may; either way it no longer waits. Phases come in their order."""
        phase = next(phase for phase in self._waiting if phase.name == name)
        self._waiting.remove(phase)
        reserved = sum(later.seconds for later in self._waiting if later.rank < phase.rank)
        left = self.left() - reserved
        if phase.seconds <= left:
            return ""
        kept = f", {reserved:.0f} s of it for what is more important" if reserved else ""
        return f"takes about {phase.seconds:.0f} s; {max(self.left(), 0):.0f} s of the budget were left{kept}"
