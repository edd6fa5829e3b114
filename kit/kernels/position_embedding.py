"""Learned vision positions, interpolated bilinearly to an image's grid and added to the patches.

Four corners a patch, weighted and summed in FP32, rounded to the model's dtype, then added and rounded.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def add_positions(x: Tensor, table: Tensor, corners: Tensor, weights: Tensor) -> Tensor:
    """x [N, H], table [positions, H], corners int64 [N, 4], weights FP32 [N, 4] -> [N, H] in the dtype of x."""
    position = (F.embedding(corners, table) * weights.unsqueeze(-1)).sum(1)
    return x + position.to(x.dtype)
