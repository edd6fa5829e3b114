"""Output gate of full attention: x * sigmoid(gate), sigmoid and product each rounded."""

from __future__ import annotations

import torch
from torch import Tensor


def sigmoid_gate(x: Tensor, gate: Tensor) -> Tensor:
    """x, gate [T, H] contiguous, one dtype -> [T, H]."""
    return x * torch.sigmoid(gate)
