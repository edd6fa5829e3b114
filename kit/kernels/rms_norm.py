"""Zero-centred RMSNorm, alone and behind a residual add.

y = x * rsqrt(mean(x^2) + eps) * (1 + w), in FP32 throughout and rounded once at the end. The residual sum is
rounded to its dtype before it is normalised: the reference writes it back and reads it again.
"""

from __future__ import annotations

import torch
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x [..., H], weight [H] -> [..., H] in the dtype of x."""
    wide = x.float()
    inverse = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return ((wide * inverse) * (1.0 + weight.float())).to(x.dtype)


def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """residual, delta [T, H] -> (residual + delta, its norm), both [T, H]; neither input is written to."""
    total = residual + delta
    return total, rms_norm(total, weight, eps)
