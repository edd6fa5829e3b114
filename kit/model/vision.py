"""The vision tower: patches of one to four images in, one feature row per 2x2 patches out.

Covers: patch embedding, interpolated learned positions, the blocks, the merger, as a pure function of the
pixels once the tables of the grid list are made, so that it can be captured per grid list. All images run
through the linear layers together; attention runs image by image.
Does not cover: pixels from images (`kit.model.pixels`), video (every grid has one frame).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from kit.kernels import Ops
from kit.model.config import VisionConfig
from kit.model.rope import VisionRotary
from kit.model.weights import Weights

if TYPE_CHECKING:
    from kit.engine.base import Grid

PREFIX = "model.visual"
EPS = 1e-6  # of every LayerNorm of the tower; config.json does not carry it


@dataclass(frozen=True)
class VisionTables:
    """What depends on the grid list alone. N patches in all.

    corners int64 [N, 4] and weights FP32 [N, 4]: the four learned positions around each patch. cos, sin: FP32
    [N, head_dim]. lengths: patches of each image.
    """

    corners: Tensor
    weights: Tensor
    cos: Tensor
    sin: Tensor
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class Affine:
    """weight and bias of a linear layer or a LayerNorm."""

    weight: Tensor
    bias: Tensor

    def linear(self, ops: Ops, x: Tensor) -> Tensor:
        return ops.linear(x, self.weight, self.bias)


@dataclass(frozen=True)
class Block:
    """Weights of one vision block."""

    norm1: Affine
    qkv: Affine
    proj: Affine
    norm2: Affine
    fc1: Affine
    fc2: Affine


class Vision:
    """The whole tower. `forward` reads nothing but its arguments and the weights, and writes to neither."""

    def __init__(self, config: VisionConfig, weights: Weights, ops: Ops) -> None:
        self.config, self.ops = config, ops
        hidden, merged = config.hidden_size, config.hidden_size * config.spatial_merge_size**2
        kernel = (config.in_channels, config.temporal_patch_size, config.patch_size, config.patch_size)
        self.patch = Affine(
            weights.take(f"{PREFIX}.patch_embed.proj.weight", hidden, *kernel),
            weights.take(f"{PREFIX}.patch_embed.proj.bias", hidden),
        )
        self.positions = weights.take(f"{PREFIX}.pos_embed.weight", config.grid_side**2, hidden)
        self.blocks = tuple(_block(config, weights, index) for index in range(config.depth))
        self.merger_norm = _norm(weights, "merger.norm", hidden)
        self.merger_fc1 = _linear(weights, "merger.linear_fc1", merged, merged)
        self.merger_fc2 = _linear(weights, "merger.linear_fc2", config.out_hidden_size, merged)
        self._device = weights.device

    def tables(self, grids: tuple[Grid, ...]) -> VisionTables:
        """Everything `forward` needs to know about a grid list, on the model's device."""
        return vision_tables(self.config, grids, self._device)

    def forward(self, pixels: Tensor, tables: VisionTables) -> Tensor:
        """pixels [N, C * P * S * S] in the model's dtype -> features [N / 4, out_hidden_size]."""
        ops, config = self.ops, self.config
        scale = config.head_dim**-0.5
        residual = ops.patch_embed(pixels, self.patch.weight, self.patch.bias)
        residual = ops.add_positions(residual, self.positions, tables.corners, tables.weights)
        first = self.blocks[0].norm1
        x = ops.layer_norm(residual, first.weight, first.bias, EPS)
        following = (*(block.norm1 for block in self.blocks[1:]), self.merger_norm)
        for block, norm in zip(self.blocks, following, strict=True):
            q, k, v = ops.vision_rotary(block.qkv.linear(ops, x), tables.cos, tables.sin)
            mixed = block.proj.linear(ops, ops.packed_attention(q, k, v, scale, tables.lengths))
            residual, x = ops.add_layer_norm(residual, mixed, block.norm2.weight, block.norm2.bias, EPS)
            mixed = block.fc2.linear(ops, ops.gelu_tanh(block.fc1.linear(ops, x)))
            residual, x = ops.add_layer_norm(residual, mixed, norm.weight, norm.bias, EPS)
        merged = x.view(-1, config.hidden_size * config.spatial_merge_size**2)
        return self.merger_fc2.linear(ops, ops.gelu(self.merger_fc1.linear(ops, merged)))


def vision_tables(config: VisionConfig, grids: tuple[Grid, ...], device: torch.device) -> VisionTables:
    """The tables of a grid list: made on the device, as cos and sin of a GPU are not those of a CPU."""
    merge = config.spatial_merge_size
    places = torch.cat([_places(height, width, merge) for _, height, width in grids]).to(device)
    sizes = torch.cat([torch.tensor([[h, w]]).expand(h * w, 2) for _, h, w in grids]).to(device)
    corners, weights = _corners(places, sizes, config.grid_side)
    cos, sin = VisionRotary(config, device).tables(places)
    return VisionTables(corners, weights, cos, sin, tuple(height * width for _, height, width in grids))


def _places(height: int, width: int, merge: int) -> Tensor:
    """Row and column of each patch, int64 [height * width, 2], in the order of the pixels: merge x merge blocks."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    places = torch.stack((rows, columns), dim=-1)
    return places.view(height // merge, merge, width // merge, merge, 2).transpose(1, 2).reshape(-1, 2)


def _corners(places: Tensor, sizes: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Bilinear taps into the side x side table, corners aligned: (int64 [N, 4], FP32 [N, 4]).

    The coordinate is place * (side - 1) / (size - 1), each step in FP32; order of taps: row low and high, within
    it column low and high.
    """
    point = places.float() * (side - 1) / torch.clamp(sizes - 1, min=1)
    low = torch.floor(point)
    offsets = torch.arange(2, device=places.device)
    taps = (low.long().unsqueeze(-1) + offsets).clamp(0, side - 1)
    share = (1 - (point.unsqueeze(-1) - low.unsqueeze(-1) - offsets).abs()).clamp(min=0)
    corners = taps[:, 0, :, None] * side + taps[:, 1, None, :]
    return corners.flatten(1), (share[:, 0, :, None] * share[:, 1, None, :]).flatten(1)


def _block(config: VisionConfig, weights: Weights, index: int) -> Block:
    name, hidden, mlp = f"blocks.{index}", config.hidden_size, config.intermediate_size
    return Block(
        norm1=_norm(weights, f"{name}.norm1", hidden),
        qkv=_linear(weights, f"{name}.attn.qkv", 3 * hidden, hidden),
        proj=_linear(weights, f"{name}.attn.proj", hidden, hidden),
        norm2=_norm(weights, f"{name}.norm2", hidden),
        fc1=_linear(weights, f"{name}.mlp.linear_fc1", mlp, hidden),
        fc2=_linear(weights, f"{name}.mlp.linear_fc2", hidden, mlp),
    )


def _linear(weights: Weights, name: str, rows: int, columns: int) -> Affine:
    return Affine(
        weights.take(f"{PREFIX}.{name}.weight", rows, columns), weights.take(f"{PREFIX}.{name}.bias", rows)
    )


def _norm(weights: Weights, name: str, width: int) -> Affine:
    return Affine(
        weights.take(f"{PREFIX}.{name}.weight", width), weights.take(f"{PREFIX}.{name}.bias", width)
    )
