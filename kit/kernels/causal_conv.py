"""Depthwise causal convolution over time, then SiLU, then the split into the heads of the delta rule.

The product is rounded to the model's dtype before SiLU, and SiLU's result again. The tensor keeps time as
its innermost axis through both steps, as in the reference: vectorised loops treat the end of a row apart,
and another layout could round its last elements differently. Each query and key head serves several
neighbouring value heads and is repeated for them here, as in the reference, so that one kernel can do it all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor

CausalConv = Callable[[Tensor, Tensor, int, int, int], tuple[Tensor, Tensor, Tensor]]


def causal_conv(
    x: Tensor, weight: Tensor, key_heads: int, key_width: int, value_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """x [T, C], weight [C, 1, K] -> (q [T, value heads, Dk], k like q, v [T, value heads, Dv]).

    The channels are those of the query heads, of the key heads and of the value heads: C = 2 key_heads *
    key_width + value_heads * Dv. v and, where every value head has its own key head, q and k are views.
    """
    tokens, channels = x.shape
    padded = F.conv1d(x.t().unsqueeze(0), weight, None, padding=weight.shape[-1] - 1, groups=channels)
    return _heads(F.silu(padded[:, :, :tokens]).squeeze(0).t(), key_heads, key_width, value_heads)


def _heads(mixed: Tensor, key_heads: int, key_width: int, value_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    tokens, keys, group = mixed.shape[0], key_heads * key_width, value_heads // key_heads
    q, k = (mixed[:, start : start + keys].view(tokens, -1, key_width) for start in (0, keys))
    if group > 1:
        q, k = q.repeat_interleave(group, dim=1), k.repeat_interleave(group, dim=1)
    return q, k, mixed[:, 2 * keys :].view(tokens, value_heads, -1)


def from_package() -> CausalConv | None:
    """The op through `causal_conv1d`, which the reference prefers on CUDA where it is installed; else None."""
    try:
        function: Any = importlib.import_module("causal_conv1d").causal_conv1d_fn
    except (ImportError, AttributeError):
        return None

    def packaged_conv(
        x: Tensor, weight: Tensor, key_heads: int, key_width: int, value_heads: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        mixed: Tensor = function(x.t().unsqueeze(0), weight.squeeze(1), None, activation="silu")
        return _heads(mixed.squeeze(0).t(), key_heads, key_width, value_heads)

    packaged_conv.runs = function  # type: ignore[attr-defined]
    return packaged_conv
