"""Whether a tensor holds only finite numbers, as a flag that stays on the device.

For refusing pixels, weights and rows before they spoil an answer. Nothing is rounded, so there is nothing to
prove shape by shape: the kernel and the plain form can only agree or be wrong.
"""

from __future__ import annotations

import torch
from torch import Tensor


def all_finite(x: Tensor) -> Tensor:
    """x of any shape and floating dtype -> bool scalar on its device; nothing waits for it."""
    return torch.isfinite(x).all()
