"""One phase of training: steps until its time is over, with the curriculum, evaluations and saves in between.

Covers: the rate's course, places of workers let go when a copy is done, losses that are no numbers, stopping on a signal.
Does not cover: what a phase trains or what comes before and after it (`loop`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kit.checkpoint.training.batches import Arrived, Feed, WorkerError
from kit.checkpoint.training.control import Control
from kit.checkpoint.training.curriculum import Curriculum, Table
from kit.checkpoint.training.journal import Clock, Journal
from kit.checkpoint.training.settings import PHASES, Phase, Rates, Settings
from kit.checkpoint.training.steps import Counts, State, Step

LAST = 0.01  # the rate at the end, of its peak
AHEAD = 4  # steps queued on a device at most
RETRIES = 3  # times a loss that is no number is forgiven
LOSSES = {  # as a log line has them: of `Counts`
    "loss": "label", "flag_loss": "flag", "text_loss": "text", "reason_loss": "reason", "hint_loss": "hint",
}  # fmt: skip


class TrainingError(RuntimeError):
    """Training cannot go on; the message says why."""


class StoppedError(RuntimeError):
    """A signal ended the run; its state is saved."""


@dataclass
class Progress:
    """What a phase has behind it, saved with the state. seen: samples by family in this phase."""

    steps: int = 0
    spent: float = 0.0  # seconds of the phase, its compiling included
    scale: float = 1.0  # of the rate, halved by every restored loss
    restored: int = 0
    seen: dict[str, int] = field(default_factory=dict)


def _mean(read: list[Counts], loss: str) -> float | None:
    """A loss over all steps of several readings; None where there was no such loss."""
    there = [(counts.steps, getattr(counts, loss)) for counts in read if math.isfinite(getattr(counts, loss))]
    steps = sum(count for count, _ in there)
    return round(sum(count * mean for count, mean in there) / steps, 4) if steps else None


def rate_at(rates: Rates, steps: int, fraction: float) -> float:
    """A linear rise over the first steps, then half a cosine down to LAST of the peak at fraction 1."""
    rise = min(1.0, (steps + 1) / rates.warm_up)
    fall = 0.5 * (1 + math.cos(math.pi * min(1.0, fraction)))
    return rates.peak * rise * (LAST + (1 - LAST) * fall)


@dataclass
class PhaseLoop:
    """A phase. until: second of the clock at which it ends. judge: accuracy by family. save: the whole run's state."""

    phase: Phase
    settings: Settings
    step: Step
    feed: Feed
    table: Table
    curriculum: Curriculum
    control: Control
    clock: Clock
    journal: Journal
    progress: Progress
    until: float
    judge: Callable[[], dict[str, float]]
    save: Callable[[State], None]
    stopping: Callable[[], bool]

    def run(self) -> None:
        """To the end of the phase. Raises StoppedError on a signal, TrainingError, or a worker's error."""
        self.table.set_phase(PHASES.index(self.phase))
        self._write_table()
        self._begun = self.clock.now()
        self._earlier = self.progress.spent
        self._first = self._begun  # of stepping: compiling the first bucket does not count for the rate
        self._held: deque[tuple[Any, Callable[[], None]]] = deque()
        self._kept = self.step.state()
        self._rate = 0.0
        self._read: list[Counts] = []  # since the last evaluation
        judged = saved = self.clock.now()
        self._waited = self.feed.waited
        while not self._over():
            try:
                self._one()
            except WorkerError:
                if not self.stopping():  # a signal to the whole group ends the workers first
                    raise
            now = self.clock.now()
            if self.progress.steps % self.settings.curriculum_every == 0:
                self._count()
            if now - judged >= self.settings.evaluate_every:
                self._evaluate(now - judged)
                judged = self.clock.now()
            if now - saved >= self.settings.save_every or self.stopping():
                self._save()
                saved = self.clock.now()
            if self.stopping():
                raise StoppedError(
                    f"stopped at step {self.progress.steps} of phase {self.phase}; the state is saved"
                )
        self._evaluate(max(1.0, self.clock.now() - judged))
        self._let_go(0)
        self._save()

    @property
    def fraction(self) -> float:
        """Of the phase, by time or steps, whichever is further."""
        by_steps = self.progress.steps / self.settings.steps if self.settings.steps else 0.0
        room = self.until - self._first + self._earlier
        by_time = (self.clock.now() - self._first + self._earlier) / room if room > 0 else 1.0
        return max(by_steps, by_time)

    def _over(self) -> bool:
        return self.control.end_phase or self.fraction >= 1

    def _one(self) -> None:
        arrived = self.feed.next(PHASES.index(self.phase))
        rates = self.settings.rates(self.phase)
        rate = rate_at(rates, self.progress.steps, self.fraction) * self.progress.scale * self.control.rate
        before = self.clock.now()
        if self.step.run(arrived, rate):
            self._waited = self.feed.waited  # nobody waits while a bucket is captured
            self.journal.write(
                "captured", bucket=arrived.bucket.name, took=round(self.clock.now() - before, 1)
            )
        if self.progress.steps == 0:
            self._first = self.clock.now()
        self._rate = rate
        self.progress.steps += 1
        self._release(arrived)

    def _release(self, arrived: Arrived) -> None:
        """Give a worker its place back once the device has read it."""
        if self.step.device.type != "cuda":
            arrived.release()
            return
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        self._held.append((done, arrived.release))
        self._let_go(AHEAD)

    def _let_go(self, most: int) -> None:
        while self._held and (len(self._held) > most or self._held[0][0].query()):
            done, release = self._held.popleft()
            done.synchronize()
            release()

    def _count(self) -> None:
        """Read the device's counts: the losses go to the next log line, the answers to the curriculum."""
        counts = self.step.read()
        if not counts.steps:
            return
        if not math.isfinite(counts.label + counts.flag):
            self._restore(counts.label)
            return
        self._read.append(counts)
        shape = self.curriculum.seen.shape
        seen, right = counts.seen.reshape(shape), counts.right.reshape(shape)
        self._add_seen(seen)
        changes = self.curriculum.update(seen, right, self.fraction)
        self._write_table()
        if changes:
            self.journal.write("curriculum", phase=self.phase, step=self.progress.steps, changes=changes)

    def _add_seen(self, seen: NDArray[np.float64]) -> None:
        for name, row in zip(self.curriculum.families, seen, strict=True):
            self.progress.seen[name] = self.progress.seen.get(name, 0) + int(row.sum())

    def _write_table(self) -> None:
        self.table.write(self.curriculum.weights(), self.curriculum.tops)

    def _restore(self, loss: float) -> None:
        self.progress.restored += 1
        self.progress.scale *= 0.5
        self.journal.write(
            "restored", phase=self.phase, step=self.progress.steps, loss=loss, scale=self.progress.scale
        )
        if self.progress.restored > RETRIES:
            raise TrainingError(
                f"the loss was no number {self.progress.restored} times; last at step {self.progress.steps}"
            )
        self.step.restore(self._kept)

    def _evaluate(self, window: float) -> None:
        applied = self.control.read(self.curriculum)
        if applied is not None:
            self.journal.write("control", phase=self.phase, step=self.progress.steps, applied=applied)
            self._write_table()
        self._count()
        steps = sum(counts.steps for counts in self._read)
        losses = {written: _mean(self._read, loss) for written, loss in LOSSES.items()}
        waited = self.feed.waited - self._waited
        accuracy = self.judge()
        self.journal.write(
            "evaluation", phase=self.phase, step=self.progress.steps, fraction=round(self.fraction, 4),
            **losses, rate=self._rate,
            steps_per_second=round(steps / window, 2), wait_share=round(min(1.0, waited / window), 3),
            held_out=accuracy, mean=round(sum(accuracy.values()) / max(1, len(accuracy)), 4), table=self.curriculum.table(),
            too_long=self.feed.too_long(),
        )  # fmt: skip
        self._read, self._waited = [], self.feed.waited

    def _save(self) -> None:
        """Keep and save the state, unless a loss since the last count was no number."""
        self._count()
        state = self.step.state()
        if all(torch.isfinite(tensors["value"]).all() for tensors in state.values()):
            self._kept = state
            self.progress.spent = self._earlier + self.clock.now() - self._begun
            self.save(state)
