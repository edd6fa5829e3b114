"""`sigmoid_gate` as one Triton kernel; at most 2**31 elements."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, sigmoid

BLOCK = 1024


@triton.jit
def _sigmoid_gate(x, gate, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    dtype = out.dtype.element_ty
    opened = sigmoid(tl.load(gate + at, mask=inside, other=0.0).to(tl.float32)).to(dtype).to(tl.float32)
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + at, (value * opened).to(dtype), mask=inside)


def sigmoid_gate(x: Tensor, gate: Tensor) -> Tensor:
    """As `kit.kernels.sigmoid_gate.sigmoid_gate`. Raises ValueError for inputs that are not contiguous or differ
    in dtype."""
    if not (x.is_contiguous() and gate.is_contiguous()) or x.dtype != gate.dtype:
        raise ValueError("x and gate must be contiguous and of one dtype")
    out = torch.empty_like(x)
    _sigmoid_gate[(triton.cdiv(out.numel(), BLOCK),)](
        x, gate, out, out.numel(), BLOCK=BLOCK, num_warps=4, **STRICT
    )
    return out
