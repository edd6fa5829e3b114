"""The MLP's activation: SiLU(gate) * up, SiLU and product each rounded."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """gate, up [T, I], one dtype -> [T, I]."""
    return F.silu(gate) * up
