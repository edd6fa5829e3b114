"""The op `project` on a GPU: base products by cuBLAS, and three launches for the adapters of a whole group.

Covers: `FusedProjections`, with the bits of the plain form (`kit.kernels.projections.project`). Base products
stay cuBLAS's, in the reference's shapes. An adapter's FP32 products are ours where they can be summed in
cuBLAS's order (`kit.kernels.projections_kernel`). cuBLAS picks that order by shape, so it is read from a product
of the shape (`kit.kernels.sum_order`), outside capture, and what is found is compared with cuBLAS on the FP32
bits of the caller's input and of noise, then the group as a whole on its results. Where nothing fits, cuBLAS
makes the product. Every decision is listed by `Proofs.describe`.
Does not cover: other ranks than 16 or adapters not in FP32 (the plain form runs), or a CPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from kit.kernels import projections as plain
from kit.kernels.projections import Projection
from kit.kernels.projections_kernel import MEMBERS, RANK, Member, combine, expand, shrink
from kit.kernels.proof import PoisonedAllocations, Proofs, compare, noise_like
from kit.kernels.sum_order import RUN, Order, UnknownOrderError, contiguous, interleaved, read

SAMPLE = 8  # rows an order is first tried on
EXPAND_PARTS = (1, 2, 4)  # ways cuBLAS was seen to cut K = 16


class Plan(NamedTuple):
    """How the adapters of a group run at one number of tokens.

    order: of the products into the rank; None: cuBLAS. parts: of the product out of the rank, by adapted
    member; 0: cuBLAS.
    """

    order: Order | None
    parts: tuple[int, ...]


class FusedProjections:
    """The op `project`, with the decisions it rests on in `proofs`."""

    twin = staticmethod(plain.project)

    def __init__(self, proofs: Proofs) -> None:
        self._proofs = proofs
        self._plans: dict[Any, Plan | None] = {}
        self._orders: dict[tuple[int, ...], Order | None] = {}
        proofs.enlist("project", plain.project, combine)
        proofs.enlist("project.shrink", torch.mm, shrink)
        proofs.enlist("project.expand", torch.mm, expand)

    def __call__(self, x: Tensor, projections: Sequence[Projection]) -> tuple[Tensor, ...]:
        """x [T, K] in the model's dtype -> one [T, N] a projection, in the dtype of x, contiguous."""
        group = tuple(projections)
        if not _supported(x, group):
            return plain.project(x, group)
        key = (x.shape, x.dtype, tuple((p.weight.shape[0], p.up is None) for p in group))
        if key not in self._plans and not (x.is_cuda and torch.cuda.is_current_stream_capturing()):
            expected = plain.project(x, group)
            self._plans[key] = self._decide(x, group, expected)
            return expected
        plan = self._plans.get(key)
        return plain.project(x, group) if plan is None else run(x, group, plan)

    def _decide(self, x: Tensor, group: tuple[Projection, ...], expected: tuple[Tensor, ...]) -> Plan | None:
        """The plan of a group; None where the group as a whole is not equal."""
        pairs = [(p.down, p.up) for p in group if p.down is not None and p.up is not None]
        wide = x.float()
        if x.shape not in self._orders:
            self._orders[x.shape] = self._shrink_order(x, wide, pairs[0][0])
        order = self._orders[x.shape]
        plan = Plan(order, tuple(self._expand_parts(torch.mm(wide, down.t()), up) for down, up in pairs))

        def whole() -> tuple[int, int]:
            fresh = noise_like(x)
            theirs = plain.project(fresh, group)
            with PoisonedAllocations():  # type: ignore[no-untyped-call]
                ours = run(x, group, plan), run(fresh, group, plan)
            return _sum(compare(ours[0], expected), compare(ours[1], theirs))

        names = "+".join(str(p.weight.shape[0]) for p in group)
        key = f"{x.shape[0]}x{x.shape[1]} {names}"
        return plan if self._proofs.holds("project", key, whole) else None

    def _shrink_order(self, x: Tensor, wide: Tensor, down: Tensor) -> Order | None:
        """The order in which cuBLAS sums x [T, K] times [16, K], if it is one we can follow."""
        shape = f"{x.shape[0]}x{x.shape[1]}"
        low = torch.mm(wide, down.t())
        order = next((o for o in possible_orders(wide, down) if _gives(o, x, down, low)), None)
        if order is None:
            self._proofs.holds("project.shrink", f"{shape} in no known order", lambda: (0, 0))
            return None

        def check() -> tuple[int, int]:
            pairs = (x, down), (noise_like(x, 1), down), (noise_like(x, 2), noise_like(down, 3))
            with PoisonedAllocations():  # type: ignore[no-untyped-call]
                ours = [shrink(a, [b], order) for a, b in pairs]
            return _sum(
                *(compare(mine[0], a.float() @ b.t()) for mine, (a, b) in zip(ours, pairs, strict=True))
            )

        return order if self._proofs.holds("project.shrink", f"{shape} in {order}", check) else None

    def _expand_parts(self, low: Tensor, up: Tensor) -> int:
        """Into how many parts cuBLAS cuts K for low [T, 16] times [N, 16]; 0: none that we follow."""
        for parts in EXPAND_PARTS:
            key = f"{low.shape[0]}x{up.shape[0]} in {parts} part{'s' if parts > 1 else ''}"
            if self._proofs.holds("project.expand", key, _expand_check(low, up, parts)):
                return parts
        return 0


def run(x: Tensor, group: Sequence[Projection], plan: Plan) -> tuple[Tensor, ...]:
    """One group of one to four projections as planned."""
    outs = tuple(torch.mm(x, p.weight.t()) for p in group)
    adapted = [
        (out, p.down, p.up, p.scale)
        for out, p in zip(outs, group, strict=True)
        if p.down is not None and p.up is not None
    ]
    lows = _lows(x, [down for _, down, _, _ in adapted], plan.order)
    combine(
        [
            Member(out, low, up, scale, parts) if parts else Member(out, torch.mm(low, up.t()), None, scale)
            for (out, _, up, scale), low, parts in zip(adapted, lows, plan.parts, strict=True)
        ]
    )
    return outs


def _lows(x: Tensor, downs: Sequence[Tensor], order: Order | None) -> Sequence[Tensor]:
    """x [T, K] into the rank of each adapter, [T, 16] FP32 each."""
    if order is not None:
        return shrink(x, downs, order).unbind()
    wide = x.float()
    return [torch.mm(wide, down.t()) for down in downs]


def possible_orders(wide: Tensor, down: Tensor) -> Iterator[Order]:
    """What the product wide [T, K] times down [16, K] shows; then, in case that misleads, what is likely."""
    with contextlib.suppress(UnknownOrderError):
        yield read(lambda a, b: torch.mm(a, b.t()), wide, down)
    yield from likely_orders(wide.shape[0], wide.shape[1], _processors(wide))


def likely_orders(tokens: int, inner: int, processors: int) -> Iterator[Order]:
    """Orders in which cuBLAS may sum a [T, K] x [K, 16] product, likeliest first.

    Its kernels tile the tokens and cut K until a device with so many multiprocessors is filled: contiguous
    parts, a multiple of 32 long and not under 64, while they fit at once; or one part a slot, interleaved,
    for some number of slots on every multiprocessor.
    """
    found: dict[Order, None] = {}
    for rows in (64, 128, 32):
        tiles = -(-tokens // rows)
        lengths = range(64, inner, 32)
        length = next((n for n in lengths if tiles * -(-inner // n) <= processors), inner)
        found[contiguous(inner, length)] = None
    slots = (32, 3), (128, 2), (64, 2), (64, 3), (128, 1), (32, 2), (32, 4), (64, 1), (64, 4), (128, 3)
    for rows, each in slots:
        parts = each * processors // -(-tokens // rows)
        if 2 <= parts <= inner // RUN:
            for paired in (rows == 32, rows != 32):
                found[interleaved(parts, paired)] = None
    yield from found


def _gives(order: Order, x: Tensor, down: Tensor, low: Tensor) -> bool:
    """Whether an order gives the first rows of the product."""
    rows = x[:SAMPLE]
    return compare(shrink(rows, [down], order)[0], low[: rows.shape[0]])[1] == 0


def _expand_check(low: Tensor, up: Tensor, parts: int) -> Callable[[], tuple[int, int]]:
    """A check for `Proofs.holds` of the FP32 product, before any rounding, on this input and on noise."""

    def check() -> tuple[int, int]:
        pairs = (low, up), (noise_like(low, 1), up), (noise_like(low, 2), noise_like(up, 3))
        return _sum(*(compare(expand(a, b, parts), torch.mm(a, b.t())) for a, b in pairs))

    return check


def _processors(x: Tensor) -> int:
    """Multiprocessors of the device x is on."""
    return torch.cuda.get_device_properties(x.device).multi_processor_count if x.is_cuda else 1


def _supported(x: Tensor, group: tuple[Projection, ...]) -> bool:
    """Whether the kernels cover this group: its rank, its dtypes, whole runs, contiguous matrices."""
    return (
        x.dim() == 2
        and x.shape[1] % RUN == 0
        and 0 < len(group) <= MEMBERS
        and x.is_contiguous()
        and all(_pair_supported(p) for p in group)
        and any(p.up is not None for p in group)
    )


def _pair_supported(projection: Projection) -> bool:
    down, up = projection.down, projection.up
    if down is None or up is None:
        return down is up
    return (
        down.dtype == up.dtype == torch.float32
        and up.shape[1] == RANK
        and down.is_contiguous()
        and up.is_contiguous()
    )


def _sum(*found: tuple[int, int]) -> tuple[int, int]:
    """(elements, different) of several comparisons."""
    return sum(elements for elements, _ in found), sum(different for _, different in found)
