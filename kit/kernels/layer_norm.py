"""LayerNorm with weight and bias, alone and behind a residual add (the sum is rounded, then normalised)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """x [N, H], weight and bias [H] -> [N, H]; statistics in FP32, one rounding."""
    return F.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def add_layer_norm(
    residual: Tensor, delta: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """residual, delta [N, H] -> (residual + delta, its norm), both [N, H]; neither input is written to."""
    total = residual + delta
    return total, layer_norm(total, weight, bias, eps)
