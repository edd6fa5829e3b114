"""The op `project` on a GPU: base products by cuBLAS, and few launches for the adapters of a whole group.

Covers: `FusedProjections`, with the bits of the plain form (`kit.kernels.projections.project`). Base products
stay cuBLAS's, in the reference's shapes. An adapter's FP32 products are ours where they can be summed in
cuBLAS's order (`kit.kernels.projections_kernel`). cuBLAS picks that order by shape, so it is read from a product
of the shape (`kit.kernels.sum_order`), outside capture, and what is found is compared with cuBLAS on the FP32
bits of the caller's input and of noise, then the group as a whole on its results. Where nothing fits, cuBLAS
makes the product. Every decision is listed by `Proofs.describe`.
`FORMS` says, by the number of tokens, where cuBLAS makes the products into the rank all the same, being faster,
and what runs beside what while a CUDA graph is captured. It was chosen by measurements on an H200
(docs/performance-log.md has the milliseconds) and decides speed only: in every form the bits are the same.
Does not cover: other ranks than 16 or adapters not in FP32 (the plain form runs), or a CPU. An instance serves
one capture at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from kit.kernels import projections as plain
from kit.kernels.branches import Fork, Line
from kit.kernels.projections import Projection
from kit.kernels.projections_kernel import MEMBERS, RANK, Member, combine, expand, shrink
from kit.kernels.proof import PoisonedAllocations, Proofs, capturing, compare, noise_like
from kit.kernels.sum_order import RUN, Order, UnknownOrderError, read

EXPAND_PARTS = (1, 2, 4)  # ways cuBLAS was seen to cut K = 16


class Form(NamedTuple):
    """How groups run at some number of tokens.

    own: the products into the rank are one launch of our kernel, if their order is known; else cuBLAS's, one a
    projection. adapter: branches of a captured graph for the adapters' products; projections take turns. narrow:
    base products of at most so many rows, the group's widest excepted, go to one branch more. Without either,
    everything is in one line; so it is outside of a capture.
    """

    own: bool
    adapter: int = 0
    narrow: int = 0

    @property
    def branches(self) -> int:
        """Beside the main line."""
        return self.adapter + bool(self.narrow)


Forms = Sequence[tuple[float, Form]]  # up to so many tokens, this form; the last entry takes all
FORMS: Forms = (
    (144, Form(own=True, adapter=1, narrow=1024)),
    (320, Form(own=True)),
    (1536, Form(own=False, adapter=4, narrow=1024)),
    (math.inf, Form(own=False)),
)


class Plan(NamedTuple):
    """How the adapters of a group run at one number of tokens.

    order: of the products into the rank; None: cuBLAS. parts: of the product out of the rank, by adapted
    member; 0: cuBLAS. form: what runs beside what.
    """

    order: Order | None
    parts: tuple[int, ...]
    form: Form


class FusedProjections:
    """The op `project`, with the decisions it rests on in `proofs`, and side streams of its own for captures."""

    twin = staticmethod(plain.project)

    def __init__(self, proofs: Proofs, forms: Forms = FORMS) -> None:
        self._proofs, self._forms = proofs, forms
        self._plans: dict[Any, Plan | None] = {}
        self._orders: dict[tuple[int, ...], Order | None] = {}
        self._parts: dict[tuple[int, int], int] = {}
        self._sides: dict[torch.device, list[torch.cuda.Stream]] = {}
        proofs.enlist("project", plain.project, combine)
        proofs.enlist("project.shrink", torch.mm, shrink)
        proofs.enlist("project.expand", torch.mm, expand)

    def __call__(self, x: Tensor, projections: Sequence[Projection]) -> tuple[Tensor, ...]:
        """x [T, K] in the model's dtype -> one [T, N] a projection, in the dtype of x, contiguous."""
        group = tuple(projections)
        if not _supported(x, group):
            return plain.project(x, group)
        key = (x.shape, x.dtype, tuple((p.weight.shape[0], p.up is None) for p in group))
        recording = x.is_cuda and capturing()
        if key not in self._plans and not recording:
            expected = plain.project(x, group)
            self._plans[key] = self._decide(x, group, expected)
            return expected
        plan = self._plans.get(key)
        if plan is None:
            return plain.project(x, group)
        return run(x, group, plan, self._fork(x.device, plan.form) if recording else Line())

    def _decide(self, x: Tensor, group: tuple[Projection, ...], expected: tuple[Tensor, ...]) -> Plan | None:
        """The plan of a group; None where the group as a whole is not equal."""
        pairs = [(p.down, p.up) for p in group if p.down is not None and p.up is not None]
        form = form_for(x.shape[0], self._forms)
        wide = x.float()
        if x.shape not in self._orders:
            self._orders[x.shape] = self._shrink_order(x, wide, pairs[0][0]) if form.own else None
        parts = tuple(self._expand_parts(torch.mm(wide, down.t()), up) for down, up in pairs)
        plan = Plan(self._orders[x.shape], parts, form)
        self._prepare_sides(x.device, form)

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
        try:
            order = read(lambda a, b: torch.mm(a, b.t()), wide, down)
        except UnknownOrderError as error:
            self._proofs.holds("project.shrink", f"{shape} in no known order", _refused(error))
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
        tokens, width = low.shape[0], up.shape[0]
        if (tokens, width) not in self._parts:
            shape = f"{tokens}x{width}"
            ways = {f"{shape} in {n} part{'s' if n > 1 else ''}": n for n in EXPAND_PARTS}
            checks = {key: _expand_check(low, up, n) for key, n in ways.items()}
            found = self._proofs.first("project.expand", checks, f"{shape} in no known way")
            self._parts[tokens, width] = ways[found] if found else 0
        return self._parts[tokens, width]

    def _prepare_sides(self, device: torch.device, form: Form) -> None:
        """Streams for the branches of later captures, made outside of them."""
        sides = self._sides.setdefault(device, [])
        while device.type == "cuda" and len(sides) < form.branches:
            sides.append(torch.cuda.Stream(device))  # type: ignore[no-untyped-call]

    def _fork(self, device: torch.device, form: Form) -> Line:
        """The form's branches, from here on."""
        return Fork(self._sides[device]) if form.branches else Line()


def form_for(tokens: int, forms: Forms = FORMS) -> Form:
    """The first form that takes so many tokens."""
    return next(form for most, form in forms if tokens <= most)


def run(x: Tensor, group: Sequence[Projection], plan: Plan, line: Line | None = None) -> tuple[Tensor, ...]:
    """One group of one to four projections as planned, in one line or with the plan's branches.

    What crosses branches is allocated before anything is issued, and has a name here until after the join.
    """
    line = line or Line()
    outs = tuple(x.new_empty(x.shape[0], p.weight.shape[0]) for p in group)
    room = x.new_empty(len(plan.parts), x.shape[0], RANK, dtype=torch.float32)
    pairs = _pairs(group, outs, room, plan)
    if plan.order is not None:
        with line.branch(pairs[0].branch):
            shrink(x, [pair.down for pair in pairs], plan.order, room)
    else:
        wide = x.new_empty(x.shape, dtype=torch.float32)
        with line.branch(pairs[0].branch):
            wide.copy_(x)
            widened = line.mark()
        for pair in pairs:
            with line.branch(pair.branch, widened):
                torch.mm(wide, pair.down.t(), out=pair.low)
    for pair in pairs:
        if pair.delta is not None:
            with line.branch(pair.branch):
                torch.mm(pair.low, pair.up.t(), out=pair.delta)
    aside, narrow = plan.form.adapter + 1, min(plan.form.narrow, max(out.shape[1] for out in outs) - 1)
    for out, projection in zip(outs, group, strict=True):
        with line.branch(aside if out.shape[1] <= narrow else 0):
            torch.mm(x, projection.weight.t(), out=out)
    line.join()
    combine([pair.member for pair in pairs])
    return outs


class _Pair(NamedTuple):
    """One adapted projection in a run. delta [T, N] FP32: where cuBLAS makes the product out of the rank."""

    out: Tensor
    down: Tensor
    up: Tensor
    scale: float
    parts: int
    low: Tensor
    delta: Tensor | None
    branch: int

    @property
    def member(self) -> Member:
        """Its share of the last launch."""
        if self.delta is not None:
            return Member(self.out, self.delta, None, self.scale)
        return Member(self.out, self.low, self.up, self.scale, self.parts)


def _pairs(group: Sequence[Projection], outs: Sequence[Tensor], room: Tensor, plan: Plan) -> list[_Pair]:
    """The adapted projections, each with its buffers and the branch of its products.

    room: [pairs, T, 16] FP32, what our kernel writes at once. cuBLAS gets buffers aligned as in the plain form.
    """
    own, branches = plan.order is not None, plan.form.adapter
    if own:
        branches = min(branches, 1)
    adapted = [
        (out, p.down, p.up, p.scale)
        for out, p in zip(outs, group, strict=True)
        if p.down is not None and p.up is not None
    ]
    return [
        _Pair(
            *tensors,
            parts=parts,
            low=row if own else torch.empty_like(row),
            delta=None if parts else room.new_empty(tensors[0].shape),
            branch=1 + number % branches if branches else 0,
        )
        for number, (tensors, parts, row) in enumerate(zip(adapted, plan.parts, room.unbind(), strict=True))
    ]


def _refused(error: Exception) -> Callable[[], NoReturn]:
    """A check that fails by an error that was met before."""

    def check() -> NoReturn:
        raise error

    return check


def _expand_check(low: Tensor, up: Tensor, parts: int) -> Callable[[], tuple[int, int]]:
    """A check for `Proofs.first` of the FP32 product, before any rounding, on this input and on noise."""

    def check() -> tuple[int, int]:
        pairs = (low, up), (noise_like(low, 1), up), (noise_like(low, 2), noise_like(up, 3))
        return _sum(*(compare(expand(a, b, parts), torch.mm(a, b.t())) for a, b in pairs))

    return check


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
