"""Depthwise causal convolution over time, then SiLU.

The product is rounded to the model's dtype before SiLU, and SiLU's result again. The tensor keeps time as
its innermost axis through both steps, as in the reference: vectorised loops treat the end of a row apart,
and another layout could round its last elements differently.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor


def causal_conv(x: Tensor, weight: Tensor) -> Tensor:
    """x [T, C], weight [C, 1, K] -> [T, C], a view whose time axis is the innermost in memory."""
    tokens, channels = x.shape
    padded = F.conv1d(x.t().unsqueeze(0), weight, None, padding=weight.shape[-1] - 1, groups=channels)
    return F.silu(padded[:, :, :tokens]).squeeze(0).t()


def from_package() -> Callable[[Tensor, Tensor], Tensor] | None:
    """The op through `causal_conv1d`, which the reference prefers on CUDA where it is installed; else None."""
    try:
        function: Any = importlib.import_module("causal_conv1d").causal_conv1d_fn
    except (ImportError, AttributeError):
        return None

    def packaged_conv(x: Tensor, weight: Tensor) -> Tensor:
        result: Tensor = function(x.t().unsqueeze(0), weight.squeeze(1), None, activation="silu")
        return result.squeeze(0).t()

    packaged_conv.runs = function  # type: ignore[attr-defined]
    return packaged_conv
