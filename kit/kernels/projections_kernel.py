"""Triton: an adapter's two FP32 products for a group of projections, in cuBLAS's order of sums.

Covers: `shrink`, x [T, K] times up to four matrices [16, K], which widens x as it reads it; and `combine`,
out += (low up^T) * scale for up to four projections, each element rounded where PEFT rounds it: the product, an
FP32 multiply, an FP32 add, one rounding to the dtype of out. cuBLAS cuts a product's inner dimension into parts,
each a chain of fused multiply-adds, and adds the parts; both kernels can follow any of its ways that were met
(`kit.kernels.sum_order`), the launches are fixed, and no result depends on a tile's size.
Does not cover: which way cuBLAS takes at a shape (`kit.kernels.fused_projections` finds out and checks), ranks
other than 16, or K that is not a multiple of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.sum_order import RUN, Order

RANK = 16
MEMBERS = 4  # projections a launch can take: the largest group is qkv, z, b and a


class Member(NamedTuple):
    """One projection's share of a launch of `combine`: out [T, N] is updated in place.

    low: [T, 16] FP32, to be multiplied by up [N, 16] FP32 in so many contiguous parts (1, 2 or 4), added in
    order. Without up, low is the product itself, [T, N] FP32.
    """

    out: Tensor
    low: Tensor
    up: Tensor | None
    scale: float
    parts: int = 1


class Tile(NamedTuple):
    """Rows (tokens) and columns a program holds at once, how often it goes on to the next rows, warps."""

    rows: int
    columns: int
    turns: int
    warps: int


def tile_for(tokens: int) -> Tile:
    """For `combine`: few tokens need many programs; many should not reload `up` for every few of them."""
    return Tile(8, 128, 1, 4) if tokens <= 16 else Tile(32, 128, 1 if tokens <= 64 else 4, 4)


class Launch(NamedTuple):
    """For `shrink`: rows (tokens) of a program, neighbouring k it takes at a time, warps, stages of its loop."""

    rows: int
    depth: int
    warps: int
    stages: int


def launch_for(tokens: int) -> Launch:
    """Few tokens need many programs: fastest on an H200, at most lengths by far."""
    return Launch(32, 32, 2, 3) if tokens <= 512 else Launch(64, 32, 4, 2)


def shrink(
    x: Tensor, downs: Sequence[Tensor], order: Order, out: Tensor | None = None, launch: Launch | None = None
) -> Tensor:
    """x [T, K], downs [16, K] FP32 -> [len(downs), T, 16] FP32, in `out` where it is given.

    Raises ValueError for parts of several runs that are not of eight.
    """
    tokens, inner = x.shape
    members = len(downs)
    turns = triton.cdiv(inner, order.parts * order.run)
    if turns > 1 and order.run != RUN:
        raise ValueError(f"{order} of {inner}: parts take runs of {RUN} in turn, or a single one")
    low = x.new_empty(members, tokens, RANK, dtype=torch.float32) if out is None else out
    partial = low[None] if order.parts == 1 else low.new_empty(order.parts, *low.shape)
    rows, depth, warps, stages = launch or launch_for(tokens)
    _shrink[(triton.cdiv(tokens, rows), order.parts)](
        x,
        *downs,
        *(downs[0] for _ in range(MEMBERS - members)),
        partial,
        tokens,
        inner,
        order.run // RUN,
        order.parts if turns > 1 else 1,
        turns * order.run // RUN,
        members,
        COUNT=triton.next_power_of_2(members),
        ROWS=rows,
        DEPTH=depth,
        num_warps=warps,
        num_stages=stages,
        enable_fp_fusion=False,
    )
    if order.parts > 1:
        block = 128
        _add_parts[(triton.cdiv(low.numel(), block),)](
            partial, low, low.numel(), order.parts, PAIRED=order.paired, BLOCK=block, num_warps=4
        )
    return low


def combine(members: Sequence[Member], tile: Tile | None = None) -> None:
    """Update every member's `out`. All share the tokens; at most four; tensors are contiguous."""
    tokens = members[0].out.shape[0]
    rows, columns, turns, warps = tile or tile_for(tokens)
    padded = (*members, *(members[0] for _ in range(MEMBERS - len(members))))
    arguments: list[Any] = []
    for out, low, up, scale, parts in padded:
        given = up is None
        arguments += [out, low, low if given else up, out.shape[1], scale, 0 if given else parts]
    tiles = [triton.cdiv(member.out.shape[1], columns) for member in members]
    ends = [sum(tiles[: i + 1]) for i in range(len(tiles))] + [0] * (MEMBERS - len(members))
    _combine[(sum(tiles), triton.cdiv(tokens, rows * turns))](
        *arguments,
        *ends[: MEMBERS - 1],
        tokens,
        COUNT=len(members),
        PARTED=any(member.up is not None and member.parts > 1 for member in members),
        GIVEN=any(member.up is None for member in members),
        ROWS=rows,
        COLUMNS=columns,
        TURNS=turns,
        num_warps=warps,
        num_stages=1,
        enable_fp_fusion=False,
    )


def expand(low: Tensor, up: Tensor, parts: int = 1) -> Tensor:
    """The product alone: low [T, 16], up [N, 16] -> [T, N] FP32. Adding it to -0.0 leaves every value as it is."""
    out = torch.full((low.shape[0], up.shape[0]), -0.0, device=low.device)
    combine([Member(out, low, up, 1.0, parts)])
    return out


@triton.jit(do_not_specialize=["tokens", "first", "stride", "length", "members"])
def _shrink(  # type: ignore[no-untyped-def]
    x, down0, down1, down2, down3, partial, tokens, inner, first, stride, length, members,
    COUNT: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Partial sums [parts, members, T, 16]. Programs along axis 0 are rows of x, along 1 parts of K.

    A part starts `first` runs after the one before; its next run is `stride` runs on. The rows of all
    matrices stand side by side, so that x is read once for all of them. The dot is a chain of multiply-adds
    in k order: "ieee" forbids tensor cores, and what lies outside K or the part adds 0 * 0.
    """
    part = tl.program_id(1)
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    n = tl.arange(0, 16 * COUNT)
    run = tl.arange(0, DEPTH)
    k = part * first * 8 + (run // 8) * (stride * 8) + run % 8
    end = inner
    if stride == 1:
        end = tl.minimum(inner, part * first * 8 + length * 8)
    down = down0 + (n % 16) * inner
    if COUNT > 1:
        down = tl.where(n // 16 == 1, down1 + (n % 16) * inner, down)
    if COUNT > 2:
        down = tl.where(n // 16 == 2, down2 + (n % 16) * inner, down)
        down = tl.where(n // 16 == 3, down3 + (n % 16) * inner, down)
    row = x + t.to(tl.int64)[:, None] * inner
    total = tl.full((ROWS, 16 * COUNT), 0.0, tl.float32)
    for _ in range(0, length, DEPTH // 8):
        known = k < end
        a = tl.load(row + k[None, :], mask=known[None, :] & (t < tokens)[:, None], other=0.0)
        b = tl.load(down[None, :] + k[:, None], mask=known[:, None], other=0.0)
        total = tl.dot(a.to(tl.float32), b, total, input_precision="ieee")
        k += stride * DEPTH
    member = (n // 16)[None, :]
    at = ((part * members + member).to(tl.int64) * tokens + t[:, None]) * 16 + (n % 16)[None, :]
    tl.store(partial + at, total, mask=(t < tokens)[:, None] & (member < members))


@triton.jit(do_not_specialize=["elements", "parts"])
def _add_parts(  # type: ignore[no-untyped-def]
    partial, low, elements, parts, PAIRED: tl.constexpr, BLOCK: tl.constexpr
):
    """low = the parts [parts, elements], added in their order. Loads are issued in batches, ahead of the sums.

    What is missing in the last batch is -0.0, which changes no sum.
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < elements
    if PAIRED:
        half = (parts + 1) // 2
        total = tl.load(partial + (parts - 1).to(tl.int64) * elements + i, mask=inside, other=0.0)
        for start in range(0, half, 8):
            for j in tl.static_range(8):
                p = start + j
                a = tl.load(partial + p.to(tl.int64) * elements + i, mask=inside & (p < half), other=-0.0)
                q = p + half
                b = tl.load(
                    partial + q.to(tl.int64) * elements + i, mask=inside & (q < parts - 1), other=-0.0
                )
                total += a + b
    else:
        total = tl.load(partial + i, mask=inside, other=0.0)
        for start in range(1, parts, 32):
            for j in tl.static_range(32):
                p = start + j
                total += tl.load(
                    partial + p.to(tl.int64) * elements + i, mask=inside & (p < parts), other=-0.0
                )
    tl.store(low + i, total, mask=inside)


@triton.jit
def _halves(x, ROWS: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """x [ROWS, WIDTH] -> its even and its odd columns."""
    return tl.split(tl.reshape(x, (ROWS, WIDTH // 2, 2)))


@triton.jit
def _columns(x, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    """x [ROWS, 16] -> its sixteen columns, in order. Names are a column's number in binary, last bit first."""
    x0, x1 = _halves(x, ROWS, 16)
    x00, x01 = _halves(x0, ROWS, 8)
    x10, x11 = _halves(x1, ROWS, 8)
    x000, x001 = _halves(x00, ROWS, 4)
    x010, x011 = _halves(x01, ROWS, 4)
    x100, x101 = _halves(x10, ROWS, 4)
    x110, x111 = _halves(x11, ROWS, 4)
    c0, c8 = tl.split(x000)
    c4, c12 = tl.split(x001)
    c2, c10 = tl.split(x010)
    c6, c14 = tl.split(x011)
    c1, c9 = tl.split(x100)
    c5, c13 = tl.split(x101)
    c3, c11 = tl.split(x110)
    c7, c15 = tl.split(x111)
    return (c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15)


@triton.jit(do_not_specialize=["end0", "end1", "end2", "tokens", "parts0", "parts1", "parts2", "parts3"])
def _combine(  # type: ignore[no-untyped-def]
    out0, low0, up0, width0, scale0, parts0,
    out1, low1, up1, width1, scale1, parts1,
    out2, low2, up2, width2, scale2, parts2,
    out3, low3, up3, width3, scale3, parts3,
    end0, end1, end2, tokens,
    COUNT: tl.constexpr, PARTED: tl.constexpr, GIVEN: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Programs along axis 0 are column tiles, member after member (end: first tile of the next), along 1 rows.

    Built without contraction: the multiply and the add are rounded on their own. parts 0: low is the product.
    """
    number = tl.program_id(0)
    out, low, up, width, scale, parts, start = out0, low0, up0, width0, scale0, parts0, 0
    if COUNT > 1:
        if number >= end0:
            out, low, up, width, scale, parts, start = out1, low1, up1, width1, scale1, parts1, end0
    if COUNT > 2:
        if number >= end1:
            out, low, up, width, scale, parts, start = out2, low2, up2, width2, scale2, parts2, end1
    if COUNT > 3:
        if number >= end2:
            out, low, up, width, scale, parts, start = out3, low3, up3, width3, scale3, parts3, end2
    n = (number - start) * COLUMNS + tl.arange(0, COLUMNS)
    rank = tl.arange(0, 16)
    chained = parts > 0
    ups = _columns(
        tl.load(up + n[:, None] * 16 + rank[None, :], mask=(chained & (n < width))[:, None], other=0.0),
        COLUMNS,
    )
    for turn in range(TURNS):
        t = (tl.program_id(1) * TURNS + turn) * ROWS + tl.arange(0, ROWS)
        inside = (t < tokens)[:, None] & (n < width)[None, :]
        at = t.to(tl.int64)[:, None] * width + n[None, :]
        base = tl.load(out + at, mask=inside, other=0.0)
        known = chained & (t < tokens)
        delta = tl.full((ROWS, COLUMNS), 0.0, tl.float32)
        before = tl.full((ROWS, COLUMNS), -0.0, tl.float32)  # the sum of the parts that are complete
        for k in tl.static_range(16):
            if PARTED and (k == 4 or k == 8 or k == 12):
                cut = (parts == 4) | ((parts == 2) & (k == 8))
                before = tl.where(cut, before + delta, before)
                delta = tl.where(cut, 0.0, delta)
            a = tl.load(low + t * 16 + k, mask=known, other=0.0)
            delta = tl.fma(a[:, None], ups[k][None, :], delta)
        if PARTED:
            delta = tl.where(parts > 1, before + delta, delta)
        if GIVEN:
            if parts == 0:
                delta = tl.load(low + at, mask=inside, other=0.0)
        result = base.to(tl.float32) + delta * scale
        tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)
