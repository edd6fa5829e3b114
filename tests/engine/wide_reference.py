"""Transformers' own model with every FP32 step widened to FP64, so that nothing in it rounds narrower.

In float64 as published, the model still makes FP32 of its norms, gates, delta rule and rotary tables. Here the
name `torch.float32` in its files, and `Tensor.float`, mean FP64; its code is untouched otherwise.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

FILES = ("transformers.models.qwen3_5.modeling_qwen3_5", "transformers.vision_utils")


class _Torch:
    """torch, with one name for both."""

    def __getattr__(self, name: str) -> Any:
        return torch.float64 if name in ("float32", "float") else getattr(torch, name)


def widen(patch: pytest.MonkeyPatch) -> None:
    """Until the patch is undone. The model has to be built under it: frequencies are made there."""
    for module in FILES:
        patch.setattr(f"{module}.torch", _Torch())
    patch.setattr(torch.Tensor, "float", torch.Tensor.double)
