"""The decoder layers of the model in FP64, written from their definitions in plain torch.

Covers: zero-centred RMSNorm, rotary embedding on three interleaved axes, both mixers, the MLP, one layer, for a
batch [S, T, H] of sequences of one length. It shares no code with the kit's forward (`kit.model`, `kit.kernels`),
so that a mistake in one is not repeated in the other, and rounds nowhere but in FP64.
Does not cover: the walk over layers and prompts (`kit.engine.oracle`), the vision tower.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine.oracle_delta import in_chunks
from kit.engine.oracle_weights import Tensors
from kit.model.config import TextConfig

SCORES = 1 << 25  # attention scores held at once: 256 MiB


@dataclass(frozen=True)
class Layout:
    """What a batch of sequences is besides its rows.

    cos, sin: FP64 [S, T, R / 2]. padding: how many rows at the front of every sequence are no part of its prompt:
    a mixer sees zeros there and no query attends to them.
    """

    cos: Tensor
    sin: Tensor
    padding: int = 0


@dataclass(frozen=True)
class LayerOutcome:
    """mixer, mlp, residual: [S, T, H]. state: [S, heads, Dk, Dv] behind the last token; None for full attention."""

    mixer: Tensor
    mlp: Tensor
    residual: Tensor
    state: Tensor | None


def layer(w: Tensors, config: TextConfig, kind: str, x: Tensor, layout: Layout) -> LayerOutcome:
    """One decoder layer over the residual x [S, T, H]; w by the names inside the layer."""
    seen = rms_norm(x, w["input_layernorm"], config.rms_norm_eps)
    if layout.padding:
        seen = F.pad(seen[:, layout.padding :], (0, 0, layout.padding, 0))
    if kind == "linear_attention":
        mixer, state = delta_mixer(w, config, seen)
    else:
        mixer, state = attention_mixer(w, config, seen, layout), None
    x = x + mixer
    mlp = gated_mlp(w, rms_norm(x, w["post_attention_layernorm"], config.rms_norm_eps))
    return LayerOutcome(mixer, mlp, x + mlp, state)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * (1 + weight) over the last axis."""
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * (1 + weight)


def gated_mlp(w: Tensors, x: Tensor) -> Tensor:
    return F.linear(F.silu(F.linear(x, w["mlp.gate_proj"])) * F.linear(x, w["mlp.up_proj"]), w["mlp.down_proj"])


def rotary(config: TextConfig, positions: Tensor) -> tuple[Tensor, Tensor]:
    """positions int64 [3, S, T] (time, height, width) -> (cos, sin), FP64 [S, T, R / 2].

    Frequency i is theta^(-2i/R). It turns with the height if i % 3 == 1 and i < 3 * section[1], with the width if
    i % 3 == 2 and i < 3 * section[2], with the time otherwise.
    """
    index = torch.arange(config.rotary_dim // 2, device=positions.device)
    frequency = config.rope_theta ** (-2 * index.double() / config.rotary_dim)
    _, height, width = config.mrope_section
    axis = torch.zeros_like(index)
    axis[(index % 3 == 1) & (index < 3 * height)] = 1
    axis[(index % 3 == 2) & (index < 3 * width)] = 2
    angles = positions.double().permute(1, 2, 0)[..., axis] * frequency
    return angles.cos(), angles.sin()


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [..., heads, D]: value i and value i + R/2 of a head are a point that is turned; the rest stays."""
    half = cos.shape[-1]
    a, b, rest = torch.split(x, [half, half, x.shape[-1] - 2 * half], dim=-1)
    cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2)
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), dim=-1)


def attention_mixer(w: Tensors, config: TextConfig, x: Tensor, layout: Layout) -> Tensor:
    """x [S, T, H] -> [S, T, H]. The query projection holds, head by head, queries and then output gates."""
    width, eps = config.head_dim, config.rms_norm_eps
    q, gate = torch.unflatten(F.linear(x, w["self_attn.q_proj"]), -1, (-1, 2, width)).unbind(-2)
    k, v = (torch.unflatten(F.linear(x, w[f"self_attn.{name}_proj"]), -1, (-1, width)) for name in "kv")
    q = turned(rms_norm(q, w["self_attn.q_norm"], eps), layout.cos, layout.sin)
    k = turned(rms_norm(k, w["self_attn.k_norm"], eps), layout.cos, layout.sin)
    group = q.shape[2] // k.shape[2]
    k, v = (y.repeat_interleave(group, dim=2) for y in (k, v))
    mixed = attend(q, k, v, visible=_visible(x.shape[1], layout.padding, x.device))
    return F.linear((mixed * torch.sigmoid(gate)).flatten(2), w["self_attn.o_proj"])


def _visible(tokens: int, padding: int, device: torch.device) -> Tensor:
    """[T, T]: which key (column) a query (row) sees. A padding row sees itself, as it has to see something."""
    at = torch.arange(tokens, device=device)
    query, key = at.unsqueeze(1), at.unsqueeze(0)
    return (key <= query) & ((key >= padding) | (key == query))


def attend(q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None = None) -> Tensor:
    """softmax(q k^T / sqrt(D)) v, all [S, T, heads, D] -> the same shape; some queries at a time."""
    scale = q.shape[-1] ** -0.5
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    sequences, heads, tokens, _ = q.shape
    step = max(1, SCORES // (sequences * heads * tokens))
    parts = []
    for start in range(0, tokens, step):
        scores = (q[:, :, start : start + step] * scale) @ k.mT
        if visible is not None:
            scores = scores.masked_fill(~visible[start : start + step], -torch.inf)
        parts.append(torch.softmax(scores, dim=-1) @ v)
    return torch.cat(parts, dim=2).transpose(1, 2)


def delta_mixer(w: Tensors, config: TextConfig, x: Tensor) -> tuple[Tensor, Tensor]:
    """x [S, T, H] -> ([S, T, H], final state [S, heads, Dk, Dv])."""
    q, k, v = delta_inputs(config, causal_conv(F.linear(x, w["linear_attn.in_proj_qkv"]), w["linear_attn.conv1d"]))
    a, b, z = (F.linear(x, w[f"linear_attn.in_proj_{name}"]) for name in "abz")
    g = -torch.exp(w["linear_attn.A_log"]) * torch.logaddexp(a + w["linear_attn.dt_bias"], a.new_zeros(()))
    core, state = in_chunks(q, k, v, g, torch.sigmoid(b))
    core = core / torch.sqrt(core.square().mean(-1, keepdim=True) + config.rms_norm_eps) * w["linear_attn.norm"]
    core = core.flatten(2) * F.silu(z)
    return F.linear(core, w["linear_attn.out_proj"]), state


def causal_conv(x: Tensor, weight: Tensor) -> Tensor:
    """x [S, T, C], weight [C, 1, K] -> SiLU of the depthwise sum over the last K tokens, [S, T, C]."""
    tokens, taps = x.shape[1], weight.shape[-1]
    before = F.pad(x, (0, 0, taps - 1, 0))
    total = torch.zeros_like(x)
    for tap in range(taps):
        total.addcmul_(before[:, tap : tap + tokens], weight[:, 0, tap])
    return F.silu(total)


def delta_inputs(config: TextConfig, mixed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[S, T, C] -> q, k [S, T, key heads, Dk], v [S, T, heads, Dv]."""
    keys = config.linear_num_key_heads * config.linear_key_head_dim
    values = config.linear_num_value_heads * config.linear_value_head_dim
    q, k, v = torch.split(mixed, [keys, keys, values], dim=-1)
    q, k = (torch.unflatten(y, -1, (-1, config.linear_key_head_dim)) for y in (q, k))
    return q, k, torch.unflatten(v, -1, (-1, config.linear_value_head_dim))
