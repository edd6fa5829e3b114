"""`add_positions` as one Triton kernel: gather, weigh, sum, round, add, round.

The order of the four corners' sum is that of torch's reduction over a middle axis of four: one after the
other, from zero. Compiled without fused multiply-add, since the twin rounds each product to FP32.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 512


@triton.jit
def _add_positions(x, table, corners, weights, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    position = tl.zeros([BLOCK], tl.float32)
    for corner in tl.static_range(4):
        place = tl.load(corners + row * 4 + corner)
        share = tl.load(weights + row * 4 + corner)
        value = tl.load(table + place * width + column, mask=inside, other=0.0).to(tl.float32)
        position += value * share
    at = row * width + column
    rounded = position.to(out.dtype.element_ty).to(tl.float32)
    patch = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, (patch + rounded).to(out.dtype.element_ty), mask=inside)


def add_positions(x: Tensor, table: Tensor, corners: Tensor, weights: Tensor) -> Tensor:
    """As `kit.kernels.position_embedding.add_positions`, at most 2**31 elements; x and table in one dtype."""
    rows, width = x.shape
    x, table, corners, weights = (t.contiguous() for t in (x, table, corners, weights))
    out = torch.empty_like(x)
    grid = (rows, triton.cdiv(width, BLOCK))
    _add_positions[grid](x, table, corners, weights, out, width, BLOCK=BLOCK, enable_fp_fusion=False)
    return out
