"""Rotary embedding of the vision tower over the whole head: FP32 products and sum, one rounding."""

from __future__ import annotations

import torch
from torch import Tensor


def vision_rotary(qkv: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """qkv [N, 3 * heads * D], cos and sin FP32 [N, D] -> (q, k, v), each [heads, N, D], in the dtype of qkv.

    v is a view of qkv; q and k are new.
    """
    patches, width = cos.shape
    q, k, v = qkv.view(patches, 3, -1, width).unbind(1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    q, k = (_rotated(x.float(), cos, sin).to(qkv.dtype) for x in (q, k))
    return q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin
