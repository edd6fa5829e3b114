"""`rms_norm` and `add_rms_norm` as one Triton kernel, a program a row, that sums as torch's CUDA reduction does.

Covers contiguous rows of the widths `kit.kernels.strict_kernel.lanes` accepts, at most 2**31 elements. A row is
read twice, the second time from cache: once a column at a time in the order of the sum, once in wide pieces.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, lanes, row_sum

PIECE = 2048  # columns a program normalises at a time


@triton.jit
def _read(x, delta, at, inside, ADD: tl.constexpr):
    """x, or x + delta rounded to the dtype of x, in FP32; 0 outside."""
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        value += tl.load(delta + at, mask=inside, other=0.0).to(tl.float32)
        value = value.to(x.dtype.element_ty).to(tl.float32)
    return value


@triton.jit
def _rms_norm(
    x, delta, weight, total, out, share, eps,
    WIDTH: tl.constexpr, LANES: tl.constexpr, PIECE: tl.constexpr, ADD: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * WIDTH
    lane = tl.arange(0, LANES * 4)[None, :]
    partial = tl.zeros([1, LANES * 4], tl.float32)
    for start in tl.static_range(0, WIDTH, LANES * 4):
        column = start + lane
        value = _read(x, delta, row + column, column < WIDTH, ADD)
        partial += value * value
    inverse = tl.rsqrt(row_sum(partial, 1, LANES) * share + eps)

    piece = tl.arange(0, PIECE)
    for start in tl.static_range(0, WIDTH, PIECE):
        column = start + piece
        inside = column < WIDTH
        value = _read(x, delta, row + column, inside, ADD)
        if ADD:
            tl.store(total + row + column, value.to(total.dtype.element_ty), mask=inside)
        scale = 1.0 + tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row + column, ((value * inverse) * scale).to(out.dtype.element_ty), mask=inside)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """As `kit.kernels.rms_norm.rms_norm`. Raises ValueError for rows it does not cover."""
    out = torch.empty_like(_contiguous(x))
    _launch(x, x, weight, out, out, eps, add=False)
    return out


def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """As `kit.kernels.rms_norm.add_rms_norm`. Raises ValueError for rows it does not cover."""
    total, out = torch.empty_like(_contiguous(residual)), torch.empty_like(_contiguous(delta))
    _launch(residual, delta, weight, total, out, eps, add=True)
    return total, out


def _launch(
    x: Tensor, delta: Tensor, weight: Tensor, total: Tensor, out: Tensor, eps: float, add: bool
) -> None:
    width = weight.shape[0]
    rows = x.numel() // width
    threads = lanes(rows, width)
    _rms_norm[(rows,)](
        x, delta, weight, total, out, 1.0 / width, eps,
        WIDTH=width, LANES=threads, PIECE=min(PIECE, triton.next_power_of_2(width)), ADD=add,
        num_warps=4 if threads <= 128 else 8, **STRICT,
    )  # fmt: skip


def _contiguous(x: Tensor) -> Tensor:
    if not x.is_contiguous():
        raise ValueError("rows must be contiguous")
    return x
