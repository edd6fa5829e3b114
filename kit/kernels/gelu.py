"""The vision tower's activations: GELU by tanh in the blocks, GELU by erf in the merger."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def gelu_tanh(x: Tensor) -> Tensor:
    """0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), one rounding; x [N, I]."""
    return F.gelu(x, approximate="tanh")


def gelu(x: Tensor) -> Tensor:
    """0.5 x (1 + erf(x / sqrt(2))), one rounding; x [N, I]."""
    return F.gelu(x)
