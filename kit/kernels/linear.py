"""A projection without an adapter: x W^T (+ bias), one rounding to the dtype of x."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x [T, K], weight [N, K], bias [N] or None -> [T, N], all in one dtype."""
    return F.linear(x, weight, bias)
