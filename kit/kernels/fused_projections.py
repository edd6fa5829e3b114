"""The op `project` on a GPU: cuBLAS products, and one launch for all that follows them in a group.

Covers: `FusedProjections`, with the bits of the plain form (`kit.kernels.projections.project`) and a third of
its launches. Base products and the products into the adapter's rank are cuBLAS's in the reference's shapes, for
cuBLAS chooses its order of sums by shape. The product out of the rank is our FMA chain where that is cuBLAS's
order, decided outside capture for each (tokens, rows) on the FP32 bits of the caller's input and of noise, and
cuBLAS's elsewhere; a group is used only if it then gives the plain form's bits as a whole. Every decision is
listed by `Proofs.describe`. While a CUDA graph is captured, products that do not depend on each other may go to
branches of their own.
Does not cover: other ranks than 16 or adapters not in FP32 (the plain form runs), or a CPU.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kit.kernels import projections as plain
from kit.kernels.projections import Projection
from kit.kernels.projections_kernel import MEMBERS, RANK, Member, chained, combine
from kit.kernels.proof import Proofs, compare, noise_like


@dataclass(frozen=True)
class Branches:
    """What runs beside the main branch of a captured graph.

    adapters: so many branches for the FP32 copy of the input and the products with it, which are long chains
    on few multiprocessors; projections take turns. rows: base products of at most so many rows, the group's
    largest excepted, go to one branch more. Without either, everything runs in one line.
    """

    adapters: int = MEMBERS
    rows: int = 1024


ONE_LINE = Branches(adapters=0, rows=0)


class FusedProjections:
    """The op `project`, with decisions kept in `proofs` and side streams of its own.

    branches: how work forks while a graph is captured; outside of one everything runs on the current stream.
    """

    def __init__(self, proofs: Proofs, branches: Branches | None = None) -> None:
        self.branches = branches or Branches()
        self._proofs = proofs
        self._plans: dict[Any, tuple[bool, ...] | None] = {}
        self._sides: dict[torch.device, list[torch.cuda.Stream]] = {}
        self._warm: set[tuple[torch.device, int]] = set()

    def __call__(self, x: Tensor, projections: Sequence[Projection]) -> tuple[Tensor, ...]:
        """x [T, K] in the model's dtype -> one [T, N] a projection, in the dtype of x, contiguous."""
        group = tuple(projections)
        if not _supported(x, group):
            return plain.project(x, group)
        key = (x.shape, x.dtype, tuple((p.weight.shape[0], p.up is None) for p in group))
        capturing = x.is_cuda and torch.cuda.is_current_stream_capturing()
        if not capturing:
            self._prepare_streams(x)
            if key not in self._plans:
                expected = plain.project(x, group)
                self._plans[key] = self._decide(x, group, expected)
                return expected
        chains = self._plans.get(key)
        if chains is None:
            return plain.project(x, group)
        return run(x, group, chains, self._fork(x.device) if capturing else Line())

    def _decide(
        self, x: Tensor, group: tuple[Projection, ...], expected: tuple[Tensor, ...]
    ) -> tuple[bool, ...] | None:
        """By member, whether its delta is our chain's; None where the group as a whole is not equal."""
        tokens, width = x.shape
        wide = x.float()
        chains = tuple(p.up is not None and self._chain_is_exact(wide, p) for p in group)

        def whole() -> tuple[int, int]:
            fresh = noise_like(x)
            return _sum(
                compare(run(x, group, chains, Line()), expected),
                compare(run(fresh, group, chains, Line()), plain.project(fresh, group)),
            )

        names = "+".join(str(p.weight.shape[0]) for p in group)
        return chains if self._proofs.holds("project", f"{tokens}x{width} {names}", whole) else None

    def _chain_is_exact(self, wide: Tensor, projection: Projection) -> bool:
        """Whether the chain gives the FP32 bits of cuBLAS's [T, 16] x [16, N] product, before any rounding."""
        down, up = projection.down, projection.up
        assert down is not None
        assert up is not None

        def check() -> tuple[int, int]:
            low = torch.mm(wide, down.t())
            pairs = (low, up), (noise_like(low, 1), up), (noise_like(low, 2), noise_like(up, 3))
            return _sum(*(compare([chained(a, b)], [torch.mm(a, b.t())]) for a, b in pairs))

        return self._proofs.holds("project.expand", f"{wide.shape[0]}x{up.shape[0]}", check)

    def _prepare_streams(self, x: Tensor) -> None:
        """cuBLAS keeps a workspace for each thread and stream. One made during a capture would die with it."""
        device = x.device
        thread = (device, threading.get_ident())
        if self.branches == ONE_LINE or not x.is_cuda or thread in self._warm:
            return
        if device not in self._sides:
            count = self.branches.adapters + 1
            self._sides[device] = [torch.cuda.Stream(device) for _ in range(count)]  # type: ignore[no-untyped-call]
        sides = self._sides[device]
        torch.cuda.synchronize(device)
        for stream in sides:
            with torch.cuda.stream(stream):
                for dtype in (torch.float32, x.dtype):
                    square = torch.zeros(64, 64, dtype=dtype, device=device)
                    torch.mm(square, square)
            stream.synchronize()
        self._warm.add(thread)

    def _fork(self, device: torch.device) -> Line:
        sides = self._sides.get(device)
        return Line() if sides is None else Fork(self.branches, sides)


class Line:
    """Everything on the current stream, in the order it is issued."""

    def widen(self) -> AbstractContextManager[Any]:
        """Where the FP32 copy of the input is made."""
        return contextlib.nullcontext()

    def adapter(self, member: int) -> AbstractContextManager[Any]:
        """Where the products of a projection's adapter run, after the copy."""
        return contextlib.nullcontext()

    def base(self, rows: int, largest: int) -> AbstractContextManager[Any]:
        """Where a base product of so many rows runs, in a group whose largest has `largest`."""
        return contextlib.nullcontext()

    def join(self) -> None:
        """What is issued later waits for every branch."""


class Fork(Line):
    """Branches that start from the current stream and return to it; the last side is for base products.

    The caching allocator knows one stream a tensor. So whatever crosses is allocated on the current stream
    before it is used aside, and freed after the join: its memory cannot be handed out too early.
    """

    def __init__(self, branches: Branches, sides: Sequence[torch.cuda.Stream]) -> None:
        self._branches, self._sides = branches, sides
        self._main = torch.cuda.current_stream(sides[0].device)
        self._start = self._main.record_event()
        self._widened: torch.cuda.Event | None = None
        self._used: list[torch.cuda.Stream] = []

    @contextlib.contextmanager
    def widen(self) -> Iterator[None]:
        with self._aside(0 if self._branches.adapters else None, self._start):
            yield
            self._widened = torch.cuda.current_stream(self._main.device).record_event()

    def adapter(self, member: int) -> AbstractContextManager[Any]:
        count = self._branches.adapters
        return self._aside(member % count if count else None, self._widened)

    def base(self, rows: int, largest: int) -> AbstractContextManager[Any]:
        aside = rows <= self._branches.rows and rows < largest
        return self._aside(-1 if aside else None, self._start)

    def join(self) -> None:
        for side in self._used:
            self._main.wait_stream(side)

    def _aside(self, number: int | None, after: torch.cuda.Event | None) -> AbstractContextManager[Any]:
        """A side stream from an event on; None: the current stream, which has seen the event."""
        if number is None:
            return contextlib.nullcontext()
        side = self._sides[number]
        if side not in self._used:
            assert after is not None
            side.wait_event(after)
            self._used.append(side)
        return torch.cuda.stream(side)


def run(x: Tensor, group: Sequence[Projection], chains: Sequence[bool], line: Line) -> tuple[Tensor, ...]:
    """One group of one to four projections; chains: by member, whether the delta is made in the last launch."""
    outs = tuple(x.new_empty(x.shape[0], p.weight.shape[0]) for p in group)
    wide = x.new_empty(x.shape, dtype=torch.float32)
    pairs = [
        _Pair.of(*item, wide) for item in zip(outs, group, chains, strict=True) if item[1].up is not None
    ]
    if pairs:
        with line.widen():
            wide.copy_(x)
        for number, pair in enumerate(pairs):
            with line.adapter(number):
                for a, b, into in pair.products:
                    torch.mm(a, b.t(), out=into)
    largest = max(out.shape[1] for out in outs)
    for out, projection in zip(outs, group, strict=True):
        with line.base(out.shape[1], largest):
            torch.mm(x, projection.weight.t(), out=out)
    line.join()
    if pairs:
        combine([pair.member for pair in pairs])
    return outs


class _Pair(NamedTuple):
    """An adapter's products, each a [T, K] times b [N, K] into a buffer, and its share of the last launch."""

    products: tuple[tuple[Tensor, Tensor, Tensor], ...]
    member: Member

    @classmethod
    def of(cls, out: Tensor, projection: Projection, chain: bool, wide: Tensor) -> _Pair:
        _, down, up, scale = projection
        assert down is not None
        assert up is not None
        low = wide.new_empty(wide.shape[0], RANK)
        if chain:
            return cls(((wide, down, low),), Member(out, low, up, scale))
        delta = wide.new_empty(out.shape)
        return cls(((wide, down, low), (low, up, delta)), Member(out, delta, None, scale))


def _supported(x: Tensor, group: tuple[Projection, ...]) -> bool:
    """Whether the kernel covers this group: its rank, its dtypes, contiguous matrices."""
    return (
        x.dim() == 2
        and 0 < len(group) <= MEMBERS
        and x.is_contiguous()
        and all(_pair_supported(p) for p in group)
        and any(p.up is not None for p in group)
    )


def _pair_supported(projection: Projection) -> bool:
    down, up = projection.down, projection.up
    if down is None or up is None:
        return True
    return (
        down.dtype == up.dtype == torch.float32
        and up.shape[1] == RANK
        and down.is_contiguous()
        and up.is_contiguous()
    )


def _sum(*found: tuple[int, int]) -> tuple[int, int]:
    """(elements, different) of several comparisons."""
    return sum(elements for elements, _ in found), sum(different for _, different in found)
