"""The vision tower as a trainable module: uint8 patches in, one feature row a block of 2x2 patches out.

Covers: patch embedding, interpolated learned positions, rotary attention inside each image, and the merger, for a
batch of a fixed shape without any look at its values, so that it can be captured and compiled.
Does not cover: where the features go (`kit.checkpoint.training.network`).
"""

from __future__ import annotations

import math
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.network_parts import linear, turned
from kit.model.config import VisionConfig

EPS = 1e-6
GREY = 127.5  # (p - 127.5) / 127.5: what `kit.model.pixels` makes of a byte


class PatchEmbed(nn.Module):
    """One linear map of a patch. Both frames of a still picture are equal, so their weights are added first."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        kernel = (config.temporal_patch_size, config.patch_size, config.patch_size)
        self.proj = nn.Conv3d(config.in_channels, config.hidden_size, kernel_size=kernel, stride=kernel)
        self.proj.weight.data.normal_(std=math.prod(self.proj.weight.shape[1:]) ** -0.5)
        nn.init.zeros_(cast(nn.Parameter, self.proj.bias))

    def forward(self, pixels: Tensor) -> Tensor:
        """uint8 [B, P, 768] -> [B, P, hidden]."""
        return F.linear((pixels.float() - GREY) / GREY, self.proj.weight.sum(2).flatten(1), self.proj.bias)


class Attention(nn.Module):
    """Full attention of every patch to the patches of its own image."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.heads, self.width = config.num_heads, config.head_dim
        self.qkv = linear(config.hidden_size, 3 * config.hidden_size, bias=True)
        self.proj = linear(config.hidden_size, config.hidden_size, 2 * config.depth, bias=True)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """x [B, P, hidden], cos and sin FP32 [B, P, 1, width], mask bool [B, 1, P, P] -> [B, P, hidden]."""
        rows, patches, _ = x.shape
        q, k, v = self.qkv(x).view(rows, patches, 3, self.heads, self.width).unbind(2)
        q, k = (turned(t.float(), cos, sin).to(v.dtype) for t in (q, k))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed: Tensor = self.proj(out.transpose(1, 2).reshape(rows, patches, -1))
        return mixed


class Mlp(nn.Module):
    """Two linear maps around GELU's tanh form."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.linear_fc1 = linear(config.hidden_size, config.intermediate_size, bias=True)
        self.linear_fc2 = linear(config.intermediate_size, config.hidden_size, 2 * config.depth, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear_fc2(F.gelu(self.linear_fc1(x), approximate="tanh"))
        return out


class Block(nn.Module):
    """Norm, attention, norm, MLP, with a residual around each."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.hidden_size, eps=EPS)
        self.norm2 = nn.LayerNorm(config.hidden_size, eps=EPS)
        self.attn = Attention(config)
        self.mlp = Mlp(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x).to(x.dtype), cos, sin, mask)
        out: Tensor = x + self.mlp(self.norm2(x).to(x.dtype))
        return out


class Merger(nn.Module):
    """Four neighbouring patches into one feature row of the language model's width."""

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.merged = config.hidden_size * config.spatial_merge_size**2
        self.norm = nn.LayerNorm(config.hidden_size, eps=EPS)
        self.linear_fc1 = linear(self.merged, self.merged, bias=True)
        self.linear_fc2 = linear(self.merged, config.out_hidden_size, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        """[B, P, hidden] -> [B, P / 4, out]."""
        blocks = self.norm(x).to(x.dtype).view(x.shape[0], -1, self.merged)
        out: Tensor = self.linear_fc2(F.gelu(self.linear_fc1(blocks)))
        return out


class VisionNetwork(nn.Module):
    """The whole tower; its parameters have the names of `model.visual.` in a checkpoint."""

    frequencies: Tensor
    marks: Tensor

    def __init__(self, config: VisionConfig) -> None:
        super().__init__()
        self.side = config.grid_side
        self.patch_embed = PatchEmbed(config)
        self.pos_embed = nn.Embedding(config.grid_side**2, config.hidden_size)
        nn.init.normal_(self.pos_embed.weight, std=0.2)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.merger = Merger(config)
        half = config.head_dim // 2
        frequencies = config.rope_theta ** -(torch.arange(0, half, 2).float() / half)
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.register_buffer("marks", torch.arange(config.grid_side).float(), persistent=False)

    def forward(self, batch: Batch, dtype: torch.dtype) -> Tensor:
        """Features [B, P / 4, out_hidden_size] in `dtype`; those of padding mean nothing."""
        if batch.pixels is None or batch.places is None or batch.sizes is None or batch.images is None:
            raise ValueError("a batch of text has no patches")
        x = self.patch_embed(batch.pixels) + self.positions(batch.places, batch.sizes)
        x = x.to(dtype)
        cos, sin = self.rotary(batch.places)
        mask = (batch.images[:, :, None] == batch.images[:, None, :]).unsqueeze(1)
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        features: Tensor = self.merger(x)
        return features

    def positions(self, places: Tensor, sizes: Tensor) -> Tensor:
        """FP32 [B, P, hidden]: the learned square table read bilinearly, its corners on the image's.

        A tap's share falls linearly to zero at its neighbours, so the shares of all marks of an axis are a tent.
        """
        point = places.float() * (self.side - 1) / (sizes - 1).clamp(min=1)
        share = (1 - (point.unsqueeze(-1) - self.marks).abs()).clamp(min=0)
        grid = share[..., 0, :, None] * share[..., 1, None, :]
        with torch.autocast(places.device.type, enabled=False):
            return grid.flatten(-2) @ self.pos_embed.weight.float()

    def rotary(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """cos and sin, FP32 [B, P, 1, head width]: a quarter turns with the row, a quarter with the column."""
        angles = (places.float().unsqueeze(-1) * self.frequencies).flatten(-2)
        angles = torch.cat((angles, angles), -1).unsqueeze(2)
        return angles.cos(), angles.sin()
