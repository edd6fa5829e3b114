"""Scaled dot product attention: causal over a prompt, and full over each image of a packed patch sequence.

Both are torch's own operator, called with the arguments of Transformers' "sdpa" interface (grouped heads
through `enable_gqa` up to 256 wide, `is_causal` and no mask, one call an image), because the choice of
kernel depends on them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

GROUPED_WIDTH = 256  # widest head for which Transformers leaves the grouping to the operator


def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """q [T, heads, D], k and v [T, key heads, D] -> [T, heads * D], contiguous."""
    tokens, heads, width = q.shape
    group = heads // k.shape[1]
    grouped = group > 1 and width <= GROUPED_WIDTH
    if group > 1 and not grouped:
        k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q, k, v))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1, scale=scale, enable_gqa=grouped)
    return out.transpose(1, 2).reshape(tokens, heads * width)


def packed_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, lengths: tuple[int, ...]) -> Tensor:
    """q, k, v [heads, N, D], lengths of the images (sum N) -> [N, heads * D]; no image sees another."""
    outs, start = [], 0
    for length in lengths:
        part = (x[:, start : start + length].unsqueeze(0) for x in (q, k, v))
        out = F.scaled_dot_product_attention(*part, scale=scale)  # type: ignore[misc, arg-type]
        outs.append(out.transpose(1, 2).reshape(length, -1))
        start += length
    return outs[0] if len(outs) == 1 else torch.cat(outs)
