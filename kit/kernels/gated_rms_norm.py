"""RMSNorm of each delta-rule head, times w (not 1 + w), times SiLU(gate).

Three roundings: the normalised value to the model's dtype, its product with w, and the product with the FP32
SiLU of the gate.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x, gate [rows, D] (one row a token and head), weight [D] -> [rows, D] in the dtype of x."""
    wide = x.float()
    inverse = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    normed = weight * (wide * inverse).to(x.dtype)
    return (normed * F.silu(gate.float())).to(x.dtype)
