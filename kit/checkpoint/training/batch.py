"""A batch of prompts as tensors of a fixed shape, so that a captured step can be replayed on it.

Covers: what every field means, tensors made from packed arrays, and new arrays copied into old tensors.
Does not cover: making the arrays (`kit.checkpoint.training.packing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """B prompts of T tokens with P patches. Integers are int64, where not said otherwise.

    ids [B, T], padded to the right. positions [3, B, T]: time, height, width. answer [B]: index of the token whose
    row gives the label. length [B]: tokens of the row, the reason behind its answer included. behind [B]: index of the
    first token behind its images, 0 without any. right [B]: the label to learn. lines [B, 32], line_mask float [B, 32]:
    the last token of every candidate's line, and which of them there are.
    pixels uint8 [B, P, 768]: [channel 3][16][16] a patch, blocks of 2x2 in order; None in a batch of text.
    places, sizes [B, P, 2]: row and column of a patch, rows and columns of its image. images [B, P]: the number of
    its image, -1 for padding. slots [B, P / 4]: the token a block becomes; T, behind the last one, for padding.
    """

    ids: Tensor
    positions: Tensor
    answer: Tensor
    length: Tensor
    behind: Tensor
    right: Tensor
    lines: Tensor
    line_mask: Tensor
    pixels: Tensor | None = None
    places: Tensor | None = None
    sizes: Tensor | None = None
    images: Tensor | None = None
    slots: Tensor | None = None

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], device: torch.device | str = "cpu") -> Batch:
        """Tensors of `packing.pack`'s arrays on a device."""
        return cls(**{name: _tensor(array).to(device) for name, array in arrays.items()})

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Copy arrays of the same shapes into these tensors, where a captured step reads them.

        Raises ValueError where the arrays are of another bucket.
        """
        held = {field.name for field in fields(self) if getattr(self, field.name) is not None}
        if held != set(arrays):
            raise ValueError(f"arrays {sorted(arrays)} for a batch of {sorted(held)}")
        for name, array in arrays.items():
            target: Tensor = getattr(self, name)
            if target.shape != array.shape:
                raise ValueError(f"{name} has shape {array.shape}, the batch {tuple(target.shape)}")
            target.copy_(torch.from_numpy(array), non_blocking=True)


def _tensor(array: NDArray[Any]) -> Tensor:
    """The array, integers but bytes widened to int64; a copy."""
    integer = array.dtype.kind == "i"
    return torch.from_numpy(array.astype(np.int64) if integer else array.copy())
