"""`gated_rms_norm` as one Triton kernel that sums as torch's CUDA reduction does.

Covers contiguous rows of 128 to 512 values in one dtype, at most 2**31 elements.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, lanes, row_sum, silu

ELEMENTS = 1024  # of a program
WIDEST = 512


@triton.jit(do_not_specialize=["rows"])
def _gated_rms_norm(
    x, gate, weight, out, rows, share, eps,
    WIDTH: tl.constexpr, LANES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    lane = tl.arange(0, LANES * 4)[None, :]
    partial = tl.zeros([ROWS, LANES * 4], tl.float32)
    for start in tl.static_range(0, WIDTH, LANES * 4):
        column = start + lane
        value = tl.load(x + row * WIDTH + column, mask=(row < rows) & (column < WIDTH), other=0.0).to(
            tl.float32
        )
        partial += value * value
    inverse = tl.rsqrt(row_sum(partial, ROWS, LANES) * share + eps)[:, None]

    dtype = out.dtype.element_ty
    for start in tl.static_range(0, WIDTH, LANES * 4):
        column = start + lane
        inside = (row < rows) & (column < WIDTH)
        value = tl.load(x + row * WIDTH + column, mask=inside, other=0.0).to(tl.float32)
        opened = silu(tl.load(gate + row * WIDTH + column, mask=inside, other=0.0).to(tl.float32))
        scale = tl.load(weight + column, mask=column < WIDTH, other=0.0).to(tl.float32)
        normed = (value * inverse).to(dtype).to(tl.float32)
        scaled = (scale * normed).to(dtype).to(tl.float32)
        tl.store(out + row * WIDTH + column, (scaled * opened).to(dtype), mask=inside)


def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
    """As `kit.kernels.gated_rms_norm.gated_rms_norm`. Raises ValueError for rows it does not cover."""
    rows, width = x.shape
    if not (x.is_contiguous() and gate.is_contiguous()) or width > WIDEST:
        raise ValueError(f"rows must be contiguous and at most {WIDEST} wide")
    if not x.dtype == gate.dtype == weight.dtype:
        raise ValueError(
            f"x, gate and weight are {x.dtype}, {gate.dtype} and {weight.dtype}, expected one dtype"
        )
    threads = lanes(rows, width)
    out = torch.empty_like(x)
    block = max(1, ELEMENTS // (threads * 4))
    _gated_rms_norm[(triton.cdiv(rows, block),)](
        x, gate, weight, out, rows, 1.0 / width, eps,
        WIDTH=width, LANES=threads, ROWS=block, num_warps=4, **STRICT,
    )  # fmt: skip
    return out
