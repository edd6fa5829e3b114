"""The two gates of the delta rule: how much is written (beta) and how much is forgotten (g)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def delta_gates(a: Tensor, b: Tensor, a_log: Tensor, dt_bias: Tensor) -> tuple[Tensor, Tensor]:
    """a, b [T, heads], a_log, dt_bias [heads] -> (g, beta), both [T, heads].

    g = -exp(a_log) * softplus(a + dt_bias) in FP32 (log of a decay, <= 0); beta = sigmoid(b) in the dtype of b.
    """
    g = -a_log.float().exp() * F.softplus(a.float() + dt_bias)
    return g, b.sigmoid()
