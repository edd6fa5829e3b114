"""The vision tower of the model in FP64, written from its definition in plain torch.

Covers: patch embedding, learned positions interpolated as one matrix product an axis, axial rotary embedding,
blocks and merger, for the patches of one request. All requests go through a block before the next is read.
Does not cover: pixels (`kit.model.pixels`: the float32 values of the processor are the model's input), video.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine.base import Grid
from kit.engine.oracle_language import attend, turned
from kit.engine.oracle_weights import Float64Weights, Tensors
from kit.model.config import VisionConfig

PREFIX = "model.visual"
EPS = 1e-6  # of every LayerNorm of the tower; config.json does not carry it

Record = Callable[[int, str, Tensor], None]  # (which request, stage, its value)


@dataclass
class _Pictures:
    """The images of one request on their way through the tower: x [N, width], N patches of all images."""

    request: int
    grids: tuple[Grid, ...]
    x: Tensor
    cos: Tensor
    sin: Tensor


def features(
    weights: Float64Weights,
    config: VisionConfig,
    requests: Iterable[tuple[int, tuple[Grid, ...], Tensor]],
    record: Record | None = None,
) -> dict[int, Tensor]:
    """(number, grids, pixels [N, 1536]) of each request -> FP64 [N / 4, out_hidden_size] by number."""
    whole = {name: weights.group(f"{PREFIX}.{name}") for name in ("patch_embed", "merger")}
    table = weights.one(f"{PREFIX}.pos_embed.weight")
    batch = [_enter(whole["patch_embed"], table, config, entry, record) for entry in requests]
    for index in range(config.depth if batch else 0):
        w = weights.group(f"{PREFIX}.blocks.{index}")
        for pictures in batch:
            _block(w, config, index, pictures, record)
    return {pictures.request: _merge(whole["merger"], config, pictures, record) for pictures in batch}


def _enter(
    w: Tensors, table: Tensor, config: VisionConfig, entry: tuple[int, tuple[Grid, ...], Tensor], record: Record | None
) -> _Pictures:
    number, grids, pixels = entry
    patches = F.linear(pixels.to(table), w["proj"].flatten(1), w["proj.bias"])
    placed = patches + torch.cat([learned_positions(config, table, grid) for grid in grids])
    if record:
        record(number, "vision.patches", patches)
        record(number, "vision.positions", placed)
    angles = torch.cat([rotary_angles(config, grid, table.device) for grid in grids])
    return _Pictures(number, grids, placed, angles.cos(), angles.sin())


def _in_blocks(x: Tensor, merge: int) -> Tensor:
    """[rows, columns, ...] -> [rows * columns, ...] in the order of the pixels: merge x merge blocks."""
    rows, columns = x.shape[:2]
    blocks = x.reshape(rows // merge, merge, columns // merge, merge, *x.shape[2:])
    return blocks.transpose(1, 2).reshape(rows * columns, *x.shape[2:])


def learned_positions(config: VisionConfig, table: Tensor, grid: Grid) -> Tensor:
    """The learned side x side table [side^2, width] stretched over the grid, corners on corners: [N, width]."""
    _, rows, columns = grid
    square = torch.unflatten(table, 0, (config.grid_side, config.grid_side))
    down, across = (_hats(size, config.grid_side).to(table) for size in (rows, columns))
    return _in_blocks(torch.einsum("ri,ijw,cj->rcw", down, square, across), config.spatial_merge_size)


def _hats(size: int, side: int) -> Tensor:
    """[size, side]: share of each of `side` knots at `size` evenly spaced places from the first to the last knot."""
    places = torch.arange(size, dtype=torch.float64) * (side - 1) / max(size - 1, 1)
    return (1 - (places.unsqueeze(1) - torch.arange(side)).abs()).clamp(min=0)


def rotary_angles(config: VisionConfig, grid: Grid, device: torch.device) -> Tensor:
    """FP64 [N, head_dim / 2]: half of them turn with the row, half with the column of a patch."""
    _, rows, columns = grid
    pairs = config.head_dim // 4
    frequency = config.rope_theta ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
    down, across = (torch.arange(size, dtype=torch.float64).unsqueeze(1) * frequency for size in (rows, columns))
    both = (down[:, None].expand(-1, columns, -1), across[None].expand(rows, -1, -1))
    return _in_blocks(torch.cat(both, dim=-1), config.spatial_merge_size).to(device)


def _block(w: Tensors, config: VisionConfig, index: int, pictures: _Pictures, record: Record | None) -> None:
    """One block, written back to `pictures.x`."""
    qkv = F.linear(_layer_norm(w, "norm1", pictures.x), w["attn.qkv"], w["attn.qkv.bias"])
    q, k, v = torch.unflatten(qkv, -1, (3, config.num_heads, -1)).unbind(1)
    q, k = (turned(y, pictures.cos, pictures.sin) for y in (q, k))
    counts = [rows * columns for _, rows, columns in pictures.grids]
    split = zip(*(torch.split(y, counts) for y in (q, k, v)), strict=True)
    mixed = torch.cat([attend(*(y.unsqueeze(0) for y in one))[0] for one in split])
    attention = F.linear(mixed.flatten(1), w["attn.proj"], w["attn.proj.bias"])
    x = pictures.x + attention
    inner = F.linear(_layer_norm(w, "norm2", x), w["mlp.linear_fc1"], w["mlp.linear_fc1.bias"])
    mlp = F.linear(F.gelu(inner, approximate="tanh"), w["mlp.linear_fc2"], w["mlp.linear_fc2.bias"])
    pictures.x = x + mlp
    if record:
        for name, value in ((".attention", attention), (".mlp", mlp), ("", pictures.x)):
            record(pictures.request, f"vision.block.{index:02}{name}", value)


def _merge(w: Tensors, config: VisionConfig, pictures: _Pictures, record: Record | None) -> Tensor:
    x = _layer_norm(w, "norm", pictures.x).reshape(-1, config.hidden_size * config.spatial_merge_size**2)
    inner = F.gelu(F.linear(x, w["linear_fc1"], w["linear_fc1.bias"]))
    merged = F.linear(inner, w["linear_fc2"], w["linear_fc2.bias"])
    if record:
        record(pictures.request, "vision.merger", merged)
    return merged


def _layer_norm(w: Tensors, name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + EPS) * w[name] + w[f"{name}.bias"]
