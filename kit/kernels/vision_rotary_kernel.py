"""`vision_rotary` as one Triton kernel: q and k of every head turned in one pass over the projection.

A program takes pairs (i, i + D/2) of any patch and head, so that a head of 72 wastes no lanes. Compiled
without fused multiply-add: the twin rounds both products to FP32 before it adds them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 512


@triton.jit
def _turn(source, target, low, at, inside, cos_low, cos_high, sin_low, sin_high, HALF: tl.constexpr):
    """One pair: (a, b) -> (a cos - b sin, b cos' + a sin'), rounded to the target's dtype."""
    a = tl.load(source + low, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(source + low + HALF, mask=inside, other=0.0).to(tl.float32)
    tl.store(target + at, (a * cos_low - b * sin_low).to(target.dtype.element_ty), mask=inside)
    tl.store(target + at + HALF, (b * cos_high + a * sin_high).to(target.dtype.element_ty), mask=inside)


@triton.jit
def _vision_rotary(qkv, cos, sin, q, k, pairs, HEADS: tl.constexpr, HALF: tl.constexpr, BLOCK: tl.constexpr):
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = pair < pairs
    patch = pair // (HEADS * HALF)
    head = pair // HALF % HEADS
    i = pair % HALF
    angle = patch * (2 * HALF) + i
    cos_low = tl.load(cos + angle, mask=inside, other=0.0)
    cos_high = tl.load(cos + angle + HALF, mask=inside, other=0.0)
    sin_low = tl.load(sin + angle, mask=inside, other=0.0)
    sin_high = tl.load(sin + angle + HALF, mask=inside, other=0.0)
    within = head * (2 * HALF) + i
    low = patch * (6 * HEADS * HALF) + within
    at = patch * (2 * HEADS * HALF) + within
    _turn(qkv, q, low, at, inside, cos_low, cos_high, sin_low, sin_high, HALF)
    _turn(qkv + 2 * HEADS * HALF, k, low, at, inside, cos_low, cos_high, sin_low, sin_high, HALF)


def vision_rotary(qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As `kit.kernels.vision_rotary.vision_rotary`, with the same strides; at most 2**31 elements."""
    patches, width = cos.shape
    qkv, cos, sin = qkv.contiguous(), cos.contiguous(), sin.contiguous()
    parts = qkv.view(patches, 3, -1, width)
    heads, half = parts.shape[2], width // 2
    q, k = torch.empty((2, patches, heads, width), dtype=qkv.dtype, device=qkv.device)
    pairs = patches * heads * half
    grid = (triton.cdiv(pairs, BLOCK),)
    _vision_rotary[grid](
        qkv, cos, sin, q, k, pairs, HEADS=heads, HALF=half, BLOCK=BLOCK, enable_fp_fusion=False
    )
    return q.transpose(0, 1), k.transpose(0, 1), parts[:, 2].transpose(0, 1)
