"""One op on given inputs in every way that it runs in service: eagerly, again and again, and from a graph.

Covers: the count of elements that differ from the expected result, from run to run, from the plain torch form
on changed inputs, and between a replay and an eager run. Buffers an op asks for start as NaN, in the graph too,
and the graph's inputs lie in memory that is NaN on both sides, so that a read outside an input or of an
unwritten workspace shows.
Does not cover: where inputs and expected results come from (`kit.campaign.operator_trace`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kit.campaign.operator_trace import difference, tensors
from kit.engine.capture import Backend, choose
from kit.engine.graph_cache import CaptureError
from kit.kernels import Ops
from kit.kernels.proof import PoisonedAllocations, compare
from kit.kernels.table import without_kernels

REPEATS = {"cuda": 20, "cpu": 3}  # runs of each op on the same inputs
MARGIN = 64  # rows of NaN on either side of a graph's inputs, at least 2 KiB
GROUP = "operators"  # of recordings: one is closed before the next is made
Form = Callable[..., Any]  # (op table, *inputs) -> tensor or tensors: how an op is called, its weights bound


class Trials:
    """Runs ops of one table on one device; `close` frees what its graphs share."""

    def __init__(self, ops: Ops, device: torch.device) -> None:
        self.ops, self.twins = ops, without_kernels(device)
        self.repeats = REPEATS[device.type]
        self._backend: Backend = choose(device)

    def run(
        self, op: str, against: str, form: Form, inputs: Sequence[Tensor], expected: Any, capture: bool
    ) -> dict[str, Any]:
        """One line of the comparison. capture=False: an op that only ever runs outside a graph."""
        form(self.ops, *inputs)  # a kernel's guard decides here, and hands on the twin's result this once
        results = [self._poisoned(form, inputs) for _ in range(self.repeats)]
        line = difference(op, against, list(zip(tensors(results[0]), tensors(expected), strict=True)))
        line["repeats"] = self.repeats
        line["repeats_different"] = sum(compare(again, results[0])[1] for again in results[1:])
        other = [changed(x) for x in inputs]
        eager = self._poisoned(form, other)
        line["changed_different"] = compare(eager, form(self.twins, *other))[1]
        line |= self._replays(form, [(inputs, results[0]), (other, eager)]) if capture else NO_REPLAY
        return line

    def _poisoned(self, form: Form, inputs: Sequence[Tensor], ops: Ops | None = None) -> Any:
        with PoisonedAllocations():  # type: ignore[no-untyped-call]
            return form(ops or self.ops, *inputs)

    def _replays(self, form: Form, runs: list[tuple[Sequence[Tensor], Any]]) -> dict[str, Any]:
        """Capture on the first inputs, then replay on each and on the first again, against the eager results."""
        static = [surrounded(x) for x in runs[0][0]]
        ops = self._backend.ops(self.ops)
        total = sum(x.numel() for x in tensors(runs[0][1]))
        try:
            self._backend.run(lambda: _packed(self._poisoned(form, static, ops)))
            recording = self._backend.record(lambda: _packed(self._poisoned(form, static, ops)), GROUP)
        except CaptureError as error:
            return {"replays": 0, "replay_different": total, "replay_error": str(error)[:300]}
        different = 0
        try:
            for inputs, result in (*runs, runs[0]):
                for buffer, x in zip(static, inputs, strict=True):
                    buffer.copy_(x)
                different += compare(recording.replay(), _packed(result))[1]
        finally:
            recording.close()
        return {"replays": len(runs) + 1, "replay_different": different}

    def close(self) -> None:
        self._backend.close()


NO_REPLAY = {"replays": 0, "replay_different": 0}


def changed(x: Tensor) -> Tensor:
    """Other values of the same range and strides: rows from last to first, each turned by one; indices stay."""
    if not x.is_floating_point() or x.ndim == 0:
        return x
    other = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    return other.copy_(x.flip(0).roll(1, -1))


def surrounded(x: Tensor) -> Tensor:
    """A copy with the same strides, in the middle of memory that holds NaN; gaps of the strides too."""
    if not x.is_floating_point():
        return x.clone()
    row = x.stride(0) if x.ndim > 1 else 1
    margin = -(-max(MARGIN * row, 1024) // 256) * 256  # keeps the alignment of a fresh allocation
    span = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    memory = torch.full((2 * margin + span,), torch.nan, dtype=x.dtype, device=x.device)
    return memory.as_strided(x.shape, x.stride(), margin).copy_(x)


def with_gaps(x: Tensor) -> Tensor:
    """x [..., D] as every other D values of a buffer whose rest is NaN: the layout of a part of a projection."""
    wide = torch.full((*x.shape[:-1], 2 * x.shape[-1]), torch.nan, dtype=x.dtype, device=x.device)
    return wide[..., : x.shape[-1]].copy_(x)


def _packed(value: Any) -> Tensor:
    """All results of an op in one row, for a recording has one output; wider types hold narrower ones exactly."""
    results = tensors(value)
    widest = torch.float64 if any(x.dtype == torch.float64 for x in results) else torch.float32
    return torch.cat([x.reshape(-1).to(widest) for x in results])
