"""Patch embedding: a 3D convolution whose kernel covers one patch, so one output vector a patch.

The convolution rounds the product and then the sum with the bias. As a matrix product the same values may be
summed in another order, so that form is used where it was seen to give the same bits.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def patch_embed(pixels: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """pixels [N, C * P * S * S], weight [H, C, P, S, S], bias [H] -> [N, H] in the common dtype.

    C channels, P frames (the same picture twice), S x S pixels; a row of `pixels` is in that order.
    """
    kernel = weight.shape[2:]
    volume = pixels.view(-1, *weight.shape[1:])
    return F.conv3d(volume, weight, bias, stride=kernel).view(-1, weight.shape[0])


def patch_embed_as_product(pixels: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """As `patch_embed`: one matrix product, rounded, then the bias."""
    return F.linear(pixels, weight.flatten(1)) + bias
