"""`silu_mul` as one Triton kernel; at most 2**31 elements."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, silu

BLOCK = 1024


@triton.jit
def _silu_mul(gate, up, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    dtype = out.dtype.element_ty
    opened = silu(tl.load(gate + at, mask=inside, other=0.0).to(tl.float32)).to(dtype).to(tl.float32)
    value = tl.load(up + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, (opened * value).to(dtype), mask=inside)


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """As `kit.kernels.silu_mul.silu_mul`. Raises ValueError for inputs that are not contiguous or differ in dtype."""
    if not (gate.is_contiguous() and up.is_contiguous()) or gate.dtype != up.dtype:
        raise ValueError("gate and up must be contiguous and of one dtype")
    out = torch.empty_like(gate)
    _silu_mul[(triton.cdiv(out.numel(), BLOCK),)](
        gate, up, out, out.numel(), BLOCK=BLOCK, num_warps=4, **STRICT
    )
    return out
