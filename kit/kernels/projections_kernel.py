"""Triton: what follows the matrix products of a group of adapted projections, in one launch.

Covers: `combine`, out += (low up^T) * scale for up to four projections at once, each element rounded where
PEFT rounds it: an FMA chain over the rank in k order (cuBLAS's order for most shapes, but see
`kit.kernels.fused_projections`, which checks), an FP32 multiply, an FP32 add, one rounding to the output's
dtype. A member may bring its FP32 delta ready made instead. Kernels are built without contraction, or the
multiply and the add would become one.
Does not cover: other ranks than 16, the products into the rank, or the choice between the two forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

RANK = 16
MEMBERS = 4  # projections a launch can take: the largest group is qkv, z, b and a


class Member(NamedTuple):
    """One projection's share of a launch: out [T, N] is updated in place.

    low: [T, 16] FP32, to be multiplied by up [N, 16] FP32; without up, low is the delta itself, [T, N] FP32.
    """

    out: Tensor
    low: Tensor
    up: Tensor | None
    scale: float


class Tile(NamedTuple):
    """Rows (tokens) and columns a program holds at once, how many times it goes on to the next rows, warps.

    The order of sums does not depend on it.
    """

    rows: int
    columns: int
    turns: int
    warps: int


def tile_for(tokens: int) -> Tile:
    """Few tokens need many programs; many tokens should not reload `up` for every 32 of them."""
    if tokens <= 16:
        return Tile(8, 128, 1, 4)
    return Tile(16, 128, 1, 4) if tokens <= 256 else Tile(32, 128, 1 if tokens <= 1024 else 4, 4)


def combine(members: Sequence[Member], tile: Tile | None = None) -> None:
    """Update every member's `out`. All share the tokens; at most four; tensors are contiguous."""
    tokens = members[0].out.shape[0]
    rows, columns, turns, warps = tile or tile_for(tokens)
    first = members[0]
    padded = (*members, *(first for _ in range(MEMBERS - len(members))))
    tiles = [triton.cdiv(member.out.shape[1], columns) for member in members]
    arguments: list[Any] = []
    for member in padded:
        up = member.low if member.up is None else member.up
        arguments += [member.out, member.low, up, member.out.shape[1], member.scale, int(member.up is None)]
    ends = [sum(tiles[: i + 1]) for i in range(len(tiles))] + [0] * (MEMBERS - len(members))
    _combine[(sum(tiles), triton.cdiv(tokens, rows * turns))](
        *arguments,
        *ends[: MEMBERS - 1],
        tokens,
        COUNT=len(members),
        CHAINS=any(member.up is not None for member in members),
        GIVEN=any(member.up is None for member in members),
        ROWS=rows,
        COLUMNS=columns,
        TURNS=turns,
        num_warps=warps,
        enable_fp_fusion=False,
    )


def chained(low: Tensor, up: Tensor) -> Tensor:
    """The chain alone: low [T, 16], up [N, 16] -> [T, N] FP32, unrounded. Adding to -0.0 leaves every value as it is."""
    out = torch.full((low.shape[0], up.shape[0]), -0.0, device=low.device)
    combine([Member(out, low, up, 1.0)])
    return out


@triton.jit
def _halves(x, ROWS: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    return tl.split(tl.reshape(x, (ROWS, WIDTH // 2, 2)))


@triton.jit
def _columns(x, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    """x [ROWS, 16] -> its sixteen columns, in order. Names are the column's number in binary, last bit first."""
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


@triton.jit(do_not_specialize=["end0", "end1", "end2", "tokens"])
def _combine(  # type: ignore[no-untyped-def]
    out0, low0, up0, width0, scale0, given0,
    out1, low1, up1, width1, scale1, given1,
    out2, low2, up2, width2, scale2, given2,
    out3, low3, up3, width3, scale3, given3,
    end0, end1, end2, tokens,
    COUNT: tl.constexpr, CHAINS: tl.constexpr, GIVEN: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Programs along axis 0 are column tiles, member after member (end: first tile of the next), along 1 rows."""
    number = tl.program_id(0)
    out, low, up, width, scale, given, start = out0, low0, up0, width0, scale0, given0, 0
    if COUNT > 1:
        if number >= end0:
            out, low, up, width, scale, given, start = out1, low1, up1, width1, scale1, given1, end0
    if COUNT > 2:
        if number >= end1:
            out, low, up, width, scale, given, start = out2, low2, up2, width2, scale2, given2, end1
    if COUNT > 3:
        if number >= end2:
            out, low, up, width, scale, given, start = out3, low3, up3, width3, scale3, given3, end2
    n = (number - start) * COLUMNS + tl.arange(0, COLUMNS)
    if CHAINS:
        rank = tl.arange(0, 16)
        known = (n < width) & (given == 0)
        ups = _columns(tl.load(up + n[:, None] * 16 + rank[None, :], mask=known[:, None], other=0.0), COLUMNS)
    for turn in range(TURNS):
        t = (tl.program_id(1) * TURNS + turn) * ROWS + tl.arange(0, ROWS)
        inside = (t < tokens)[:, None] & (n < width)[None, :]
        at = t.to(tl.int64)[:, None] * width + n[None, :]
        base = tl.load(out + at, mask=inside, other=0.0)
        delta = tl.zeros((ROWS, COLUMNS), tl.float32)
        if CHAINS:
            if given == 0:
                for k in tl.static_range(16):
                    column = tl.load(low + t * 16 + k, mask=t < tokens, other=0.0)
                    delta = tl.fma(column[:, None], ups[k][None, :], delta)
        if GIVEN:
            if given != 0:
                delta = tl.load(low + at, mask=inside, other=0.0)
        result = base.to(tl.float32) + delta * scale
        tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)
