"""Training batches from worker processes: each draws samples by the shared table and sorts them into buckets.

Covers: the workers, their errors and their end, the arrays that reach the loop, time spent waiting, samples too long for
every bucket (counted by family, never cut). Does not cover: which samples (`curriculum`, `mixture`) or tensors (`steps`).
Workers import no torch. They must be forked before the loop touches a device.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.sharedctypes
import os
import queue
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kit.checkpoint.training.curriculum import Table
from kit.checkpoint.training.encode import Encoded, open_encoder
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.packing import pack
from kit.checkpoint.training.settings import FORMS, PHASES, Bucket, Settings, bucket_for
from kit.checkpoint.training.slots import Layout, Slots, layout_of

NICE = 10
PATIENCE = 2.0  # seconds between two looks at whether the loop still lives
OVERDUE = 6000  # samples of a worker that one may wait for its bucket to fill; then smaller ones fill it
CELLS = "cells"  # beside the fields of a batch: which family and level a sample is, for the counts
SPAN = 10**9  # sample numbers of one seed; phases and resumptions take parts of it
PHASE_SPAN, RESUME_SPAN = 4 * 10**8, 10**7


class WorkerError(RuntimeError):
    """A worker failed; the message is its traceback."""


@dataclass(frozen=True)
class Arrived:
    """A batch in a worker's memory, valid until it is released. arrays: of `packing.pack` and CELLS."""

    phase: int
    bucket: Bucket
    arrays: dict[str, NDArray[Any]]
    release: Callable[[], None]


@dataclass(frozen=True)
class Source:
    """What a worker needs. tokenizer: a tokenizer.json. levels: by family, in the order of the cells. resumed: how often
    this run was taken up again, so that no sample comes twice. before: what each worker does first, given its number."""

    settings: Settings
    tokenizer: Path
    levels: dict[str, int]
    resumed: int = 0
    before: Callable[[int], None] | None = None

    def cell(self, family: str, level: int) -> int:
        return list(self.levels).index(family) * max(self.levels.values()) + level

    def layouts(self) -> tuple[dict[Bucket, Layout], int]:
        """Of every bucket, and the bytes the largest takes."""
        layouts, most = {}, 0
        for bucket in self.settings.buckets:
            arrays = pack([EMPTY] * bucket.batch, bucket.tokens, bucket.patches)
            layouts[bucket], size = layout_of({**arrays, CELLS: np.zeros(bucket.batch, np.int32)})
            most = max(most, size)
        return layouts, most


EMPTY = Encoded("", 0, "", [0], 0, 0, [0], None, ())


class Feed:
    """Worker processes and the batches they make, in the order they are ready.

    Use as a context manager: leaving it ends the workers, which also end by themselves when the loop dies.
    """

    def __init__(self, source: Source, table: Table) -> None:
        settings = source.settings
        context = multiprocessing.get_context("fork")
        self._layouts, size = source.layouts()
        self._ready: Any = context.Queue()
        self.slots = [Slots(settings.slots, size) for _ in range(settings.workers)]
        self._free = [context.Semaphore(settings.slots) for _ in range(settings.workers)]
        self._long: Any = multiprocessing.sharedctypes.RawArray("q", settings.workers * len(source.levels))
        self._families = tuple(source.levels)
        self._workers = [
            context.Process(
                target=_worker, daemon=True, name=f"batches-{rank}",
                args=(rank, source, table, self._layouts, self.slots[rank], self._free[rank], self._ready, self._long),
            )
            for rank in range(settings.workers)
        ]  # fmt: skip
        self.waited = 0.0  # seconds, ever
        for worker in self._workers:
            worker.start()

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *unused: object) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.join(PATIENCE)

    def next(self, phase: int) -> Arrived:
        """The next batch of a phase; older ones are let go. Raises WorkerError where a worker failed or died."""
        while True:
            arrived = self._next()
            if arrived.phase == phase:
                return arrived
            arrived.release()

    def too_long(self) -> dict[str, int]:
        """Samples that fitted no bucket, by family, where there are any."""
        counts = np.frombuffer(self._long, dtype=np.int64).reshape(len(self._workers), -1).sum(0)
        return {name: int(count) for name, count in zip(self._families, counts, strict=True) if count}

    def _next(self) -> Arrived:
        start = time.monotonic()
        while True:
            try:
                message = self._ready.get(timeout=PATIENCE)
            except queue.Empty:
                self.check()
                continue
            self.waited += time.monotonic() - start
            if isinstance(message, str):
                raise WorkerError(message)
            rank, slot, phase, bucket = message
            arrays = self.slots[rank].views(slot, self._layouts[bucket])
            return Arrived(phase, bucket, arrays, self._free[rank].release)

    def check(self) -> None:
        """Raise WorkerError where a worker failed or died."""
        for worker in self._workers:
            if not worker.is_alive():
                raise WorkerError(
                    self._last_words() or f"worker {worker.name} ended with exit status {worker.exitcode} and said nothing"
                )

    def _last_words(self) -> str:
        """What a worker that failed has said behind the batches that wait, "" where there is nothing."""
        while True:
            try:
                message = self._ready.get(timeout=PATIENCE)
            except queue.Empty:
                return ""
            if isinstance(message, str):
                return message


def _worker(
    rank: int,
    source: Source,
    table: Table,
    layouts: dict[Bucket, Layout],
    slots: Slots,
    free: Any,
    ready: Any,
    long: Any,
) -> None:
    """The life of a worker: what comes before, then batch after batch until the loop is gone."""
    parent = os.getppid()
    os.nice(NICE)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        if source.before is not None:
            source.before(rank)
        counts = np.frombuffer(long, dtype=np.int64).reshape(source.settings.workers, -1)[rank]
        slot = 0
        for phase, bucket, arrays in batches(rank, source, table, counts):
            while not free.acquire(timeout=PATIENCE):
                if os.getppid() != parent:
                    return
            slots.write(slot, layouts[bucket], arrays)
            ready.put((rank, slot, phase, bucket))
            slot = (slot + 1) % slots.count
    except KeyboardInterrupt:
        return
    except Exception:
        ready.put(f"worker {rank} failed:\n{traceback.format_exc()}")
        ready.close()
        ready.join_thread()
        sys.exit(1)


def batches(
    rank: int, source: Source, table: Table, too_long: NDArray[np.int64]
) -> Iterator[tuple[int, Bucket, dict[str, NDArray[Any]]]]:
    """(phase, bucket, arrays) without end: samples of the table's phase, gathered until a bucket is full.

    A new phase starts with empty buckets. A bucket that few samples need is filled with smaller ones when it is OVERDUE.
    """
    families = list(source.levels)
    waiting: dict[Bucket, list[Encoded]] = {bucket: [] for bucket in source.settings.buckets}
    since: dict[Bucket, int] = {}  # the number of the first sample that waits
    phase = -1
    for number, (now, sample) in enumerate(samples(rank, source, table)):
        if now != phase:
            phase = now
            since.clear()
            for held in waiting.values():
                held.clear()
        overdue = [bucket for bucket in source.settings.buckets if number - since.get(bucket, number) > OVERDUE]
        size = len(sample.ids), sample.patches
        bucket = bucket_for(overdue, *size) or bucket_for(source.settings.buckets, *size)
        if bucket is None:
            too_long[families.index(sample.family)] += 1
            continue
        since.setdefault(bucket, number)
        held = waiting[bucket]
        held.append(sample)
        if len(held) == bucket.batch:
            arrays = pack(held, bucket.tokens, bucket.patches)
            arrays[CELLS] = np.array([source.cell(item.family, item.level) for item in held], np.int32)
            yield phase, bucket, arrays
            waiting[bucket] = []
            del since[bucket]


def samples(rank: int, source: Source, table: Table) -> Iterator[tuple[int, Encoded]]:
    """(phase, encoded question) without end, of sample numbers rank, rank + workers, ... of each phase."""
    settings = source.settings
    encoder = open_encoder(source.tokenizer, settings.dropout, seed=settings.seed * 1000 + rank)
    version, phase, number = -1, -1, 0
    mixture = table.mixture(settings.below)
    while True:
        if table.version != version:
            version, mixture = table.version, table.mixture(settings.below)
            if table.phase != phase:
                phase = table.phase
                number = settings.seed * SPAN + phase * PHASE_SPAN + source.resumed * RESUME_SPAN + rank
        family, level = mixture.draw(random.Random(f"mixture/{number}"))
        form, told = FORMS[PHASES[phase]], settings.rates(PHASES[phase]).reason > 0
        for encoded in encoder.encode(drawn(family, "train", number, level), form, told):
            yield phase, encoded
        number += settings.workers
