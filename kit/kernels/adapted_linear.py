"""A projection with an unmerged FP32 LoRA adapter, rounded as PEFT rounds it.

The base product is rounded to the model's dtype first; the adapter works in FP32 on an FP32 copy of the
input; `base + delta * scale` is an FP32 multiply and an FP32 add, and the sum is rounded once.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def adapted_linear(
    x: Tensor, x_wide: Tensor, weight: Tensor, down: Tensor, up: Tensor, scale: float
) -> Tensor:
    """x [T, K] and weight [N, K] in the model's dtype; down [R, K], up [N, R] in FP32 -> [T, N] like x.

    x_wide is x in the dtype of `down`, made once by the caller for all projections that share x.
    """
    base = F.linear(x, weight)
    delta = F.linear(F.linear(x_wide, down), up)
    delta *= scale
    return (base + delta).to(base.dtype)
