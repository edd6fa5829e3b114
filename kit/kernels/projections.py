"""Projections that share an input, each with an unmerged FP32 LoRA pair or without, rounded as PEFT rounds them.

The base product is rounded to the model's dtype first; the adapter works in FP32 on an FP32 copy of the
input; `base + delta * scale` is an FP32 multiply and an FP32 add, and the sum is rounded once. Projections of
one input come as a group: they share that copy, and none depends on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor


class Projection(NamedTuple):
    """weight [N, K] in the model's dtype, and, where adapted, down [R, K], up [N, R] (FP32) and their scale."""

    weight: Tensor
    down: Tensor | None = None
    up: Tensor | None = None
    scale: float = 1.0


def project(x: Tensor, projections: Sequence[Projection]) -> tuple[Tensor, ...]:
    """x [T, K] in the model's dtype -> one [T, N] a projection, in the dtype of x, contiguous."""
    wide: Tensor | None = None
    results = []
    for weight, down, up, scale in projections:
        base = F.linear(x, weight)
        if down is not None and up is not None:
            wide = x.to(down.dtype) if wide is None else wide
            base = add_delta(base, F.linear(wide, down), up, scale)
        results.append(base)
    return tuple(results)


def add_delta(base: Tensor, low: Tensor, up: Tensor, scale: float) -> Tensor:
    """base [T, N] in the model's dtype, low [T, R] and up [N, R] in FP32 -> base + (low up^T) * scale, like base."""
    delta = F.linear(low, up)
    delta *= scale
    return (base + delta).to(base.dtype)
