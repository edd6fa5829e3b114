"""`delta_gates` as one Triton kernel; at most 2**31 elements."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, exp, log1p, sigmoid

BLOCK = 256
LINEAR = tl.constexpr(20.0)  # torch's softplus is the identity above


@triton.jit
def _delta_gates(a, b, a_log, dt_bias, g, beta, count, HEADS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    head = at % HEADS
    bias = tl.load(dt_bias + head, mask=inside, other=0.0).to(tl.float32)
    x = tl.load(a + at, mask=inside, other=0.0).to(tl.float32) + bias
    softplus = tl.where(x > LINEAR, x, log1p(exp(x)))
    rate = exp(tl.load(a_log + head, mask=inside, other=0.0).to(tl.float32))
    # Triton computes -x as 0 - x, which has another sign for a rate that underflowed to 0.
    tl.store(g + at, (rate * -1.0) * softplus, mask=inside)
    written = sigmoid(tl.load(b + at, mask=inside, other=0.0).to(tl.float32))
    tl.store(beta + at, written.to(beta.dtype.element_ty), mask=inside)


def delta_gates(a: Tensor, b: Tensor, a_log: Tensor, dt_bias: Tensor) -> tuple[Tensor, Tensor]:
    """As `kit.kernels.delta_gates.delta_gates`. Raises ValueError for gates that are not contiguous."""
    if not (a.is_contiguous() and b.is_contiguous()):
        raise ValueError("a and b must be contiguous")
    g, beta = torch.empty_like(a, dtype=torch.float32), torch.empty_like(b)
    _delta_gates[(triton.cdiv(a.numel(), BLOCK),)](
        a, b, a_log, dt_bias, g, beta, a.numel(), HEADS=a.shape[1], BLOCK=BLOCK, num_warps=4, **STRICT
    )
    return g, beta
