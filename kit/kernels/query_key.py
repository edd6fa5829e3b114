"""What full attention does between its projections and the product: norms, rotary embedding, gate split.

The query projection carries, per head, D query values and then D gate values. Query and key heads get a
zero-centred RMSNorm (rounded), then the first R of D values are rotated: both products of the rotation and
their sum are each rounded to the model's dtype.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kit.kernels.rms_norm import rms_norm


def query_key(
    q_gate: Tensor, k: Tensor, q_weight: Tensor, k_weight: Tensor, cos: Tensor, sin: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """q_gate [T, heads * 2D], k [T, key heads * D], weights [D], cos and sin [T, R] ->
    (q [T, heads, D], k [T, key heads, D], gate [T, heads * D]), all contiguous in the dtype of q_gate."""
    tokens, width = q_gate.shape[0], q_weight.shape[0]
    q, gate = q_gate.view(tokens, -1, 2 * width).chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    q = rotate_front(rms_norm(q, q_weight, eps), cos, sin)
    k = rotate_front(rms_norm(k.view(tokens, -1, width), k_weight, eps), cos, sin)
    return q, k, gate.reshape(tokens, -1)


def rotate_front(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the first R values of the last axis in place: pairs (i, i + R/2). x is fresh memory of the caller."""
    front = x[..., : cos.shape[-1]]
    low, high = front.chunk(2, dim=-1)
    turned = torch.cat((-high, low), dim=-1)
    front.copy_(front * cos + turned * sin)
    return x
