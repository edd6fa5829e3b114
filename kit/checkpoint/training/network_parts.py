"""What both halves of the trainable network are built from.

Covers: linear layers as they begin, and the turn of rotary positions. Does not cover: norms, which differ.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def linear(columns: int, rows: int, residuals: int = 1, *, bias: bool = False) -> nn.Linear:
    """A linear layer whose output is as large as its input, or smaller where `residuals` of them are added up."""
    layer = nn.Linear(columns, rows, bias=bias)
    nn.init.normal_(layer.weight, std=(columns * residuals) ** -0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x with its last axis turned by cos and sin, whose last axis is as wide."""
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin
