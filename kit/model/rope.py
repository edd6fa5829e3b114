"""Rotary angles of the language model (three interleaved axes) and of the vision tower (rows and columns).

Covers: cos and sin tables for given positions. They depend on positions and not on data, so they are made
outside the forwards, which take them as inputs: one captured graph of T tokens serves any positions.
Does not cover: applying them (`kit.kernels.query_key`, `kit.kernels.vision_rotary`).
The order of operations and the memory layout are the reference's: cos and sin are evaluated in vectors along
the innermost axis, and the ends of a vector may round differently.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kit.model.config import TextConfig, VisionConfig


class TextRotary:
    """cos and sin for the rotated part of a head, R values, half of them distinct."""

    def __init__(self, config: TextConfig, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        steps = torch.arange(0, config.rotary_dim, 2, dtype=torch.float) / config.rotary_dim
        frequencies = (1.0 / (config.rope_theta**steps)).to(device)
        self._frequencies = frequencies[None, :, None].expand(3, -1, 1)
        self._sections = config.mrope_section
        self.dtype = dtype

    def tables(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """positions int64 [3, T] (time, height, width) -> (cos, sin), each [T, R] in the model's dtype.

        Frequency i turns with the height if i % 3 == 1 and i < 3 * section[1], with the width if i % 3 == 2 and
        i < 3 * section[2], and with the time otherwise. Angles, cos and sin are FP32, rounded once.
        """
        angles = (self._frequencies @ positions.unsqueeze(1).float()).transpose(1, 2)
        return self._table(angles.cos()), self._table(angles.sin())

    def _table(self, axes: Tensor) -> Tensor:
        mixed = axes[0]
        for axis in (1, 2):
            own = slice(axis, 3 * self._sections[axis], 3)
            mixed[:, own] = axes[axis][:, own]
        return torch.cat((mixed, mixed), dim=-1).to(self.dtype)


class VisionRotary:
    """cos and sin over a whole vision head: a quarter of its values turn with the row, a quarter with the column."""

    def __init__(self, config: VisionConfig, device: torch.device | str = "cpu") -> None:
        half = config.head_dim // 2
        steps = torch.arange(0, half, 2, dtype=torch.float) / half
        self._frequencies = (1.0 / (config.rope_theta**steps)).to(device)

    def tables(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """places int64 [N, 2] (row, column of each patch) -> (cos, sin), each FP32 [N, head_dim]."""
        angles = places.unsqueeze(-1).float() * self._frequencies
        cos, sin = angles.cos().flatten(1), angles.sin().flatten(1)
        return torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)
