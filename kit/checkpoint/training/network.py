"""The decider as a trainable torch module whose parameters have the names they have in a checkpoint.

Covers: `Decider`, from a batch of token ids and patches to hidden rows: embeddings, image features in their places,
the decoder layers (three gated delta rule layers to one of full attention) and the final norm. Weights are FP32, the
arithmetic BF16 under autocast, or FP32 for a comparison. A forward never looks at a value, so a whole step can be
captured, and most of it does not know where a prompt ends, so few programs are compiled.
Does not cover: losses (`kit.checkpoint.training.steps`), or bits: an engine rounds elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.network_delta import CHUNK, Terms, chunk_terms, scan
from kit.checkpoint.training.network_parts import linear, turned
from kit.checkpoint.training.network_vision import VisionNetwork
from kit.model.config import TextConfig, parse_config


class Along(NamedTuple):
    """What N tokens know of their prompts. cos, sin [N, 1, rotary]; age int64 [N, 1]: tokens before them."""

    cos: Tensor
    sin: Tensor
    age: Tensor


class Norm(nn.Module):
    """RMS norm with zero-centred weights: x / rms(x) * (1 + weight), in FP32, rounded once."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = F.rms_norm(x.float(), (x.shape[-1],), eps=self.eps)
        return (wide * (1 + self.weight.float())).to(x.dtype)


class GatedNorm(nn.Module):
    """RMS norm with plain weights, times the SiLU of a gate, in FP32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        """x FP32 and gate [.., width] -> the same shape in the gate's dtype."""
        wide = F.rms_norm(x, (x.shape[-1],), eps=self.eps) * self.weight.float()
        return (wide * F.silu(gate.float())).to(gate.dtype)


class Mlp(nn.Module):
    """down(silu(gate x) * up x)."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        hidden, inner = config.hidden_size, config.intermediate_size
        self.gate_proj, self.up_proj = linear(hidden, inner), linear(hidden, inner)
        self.down_proj = linear(inner, hidden, 2 * len(config.layer_types))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class DeltaMixer(nn.Module):
    """Gated delta rule: a causal convolution over four tokens, then a state that decays and is written to."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        hidden, heads = config.hidden_size, config.linear_num_value_heads
        self.group = heads // config.linear_num_key_heads
        self.key, self.value = config.linear_key_head_dim, config.linear_value_head_dim
        keys, values = config.linear_num_key_heads * self.key, heads * self.value
        self.parts, kernel = [keys, keys, values], config.linear_conv_kernel_dim
        mixed = sum(self.parts)
        self.in_proj_qkv, self.in_proj_z = linear(hidden, mixed), linear(hidden, values)
        self.in_proj_b, self.in_proj_a = linear(hidden, heads), linear(hidden, heads)
        self.conv1d = nn.Conv1d(mixed, mixed, kernel, groups=mixed, bias=False)
        nn.init.normal_(self.conv1d.weight, std=0.5)
        self.dt_bias = nn.Parameter(torch.linspace(-5, -1, heads))  # decays of 0.7% to 27% a token
        self.A_log = nn.Parameter(torch.zeros(heads))
        self.norm = GatedNorm(self.value, config.rms_norm_eps)
        self.out_proj = linear(values, hidden, 2 * len(config.layer_types))

    def enter(self, x: Tensor, along: Along) -> tuple[Tensor, ...]:
        """x [N, hidden] -> the gate [N, values] and the terms of every chunk."""
        mixed = F.silu(self._convolved(self.in_proj_qkv(x), along.age))
        q, k, v = torch.split(mixed, self.parts, -1)
        q, k, v = _heads(q, self.key), _heads(k, self.key), _heads(v, self.value)
        if self.group > 1:
            q, k = (t.repeat_interleave(self.group, 1) for t in (q, k))
        a, b, z = self.in_proj_a(x).float(), self.in_proj_b(x).float(), self.in_proj_z(x)
        g = -self.A_log.float().exp() * F.softplus(a + self.dt_bias.float())
        with torch.autocast(x.device.type, enabled=False):
            return z, *chunk_terms(q, k, v, g, b.sigmoid())

    def mix(self, entered: tuple[Tensor, ...], rows: int) -> tuple[Tensor, Tensor]:
        """Along each prompt: (core FP32 [N, heads, value width], gate)."""
        gate, *terms = entered
        with torch.autocast(gate.device.type, enabled=False):
            return scan(cast(Terms, tuple(terms)), rows), gate

    def leave(self, core: Tensor, gate: Tensor) -> Tensor:
        """-> [N, hidden]."""
        out: Tensor = self.out_proj(self.norm(core, gate.view(core.shape)).flatten(1))
        return out

    def _convolved(self, x: Tensor, age: Tensor) -> Tensor:
        """Each channel over the last tokens of its prompt: a sum of shifted copies, which compiles to one pass."""
        taps = self.conv1d.weight[:, 0].to(x.dtype)
        last = taps.shape[1] - 1
        out = x * taps[:, last]
        for back in range(1, last + 1):
            earlier = F.pad(x, (0, 0, back, 0))[: x.shape[0]]
            out = out + torch.where(age >= back, earlier, 0) * taps[:, last - back]
        return out


class AttentionMixer(nn.Module):
    """Causal attention with normed, partly rotated queries and keys and an output gate."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        hidden, self.width = config.hidden_size, config.head_dim
        queries, keys = config.num_attention_heads * self.width, config.num_key_value_heads * self.width
        self.q_proj = linear(hidden, 2 * queries)  # query and output gate, head by head
        self.k_proj, self.v_proj = linear(hidden, keys), linear(hidden, keys)
        self.o_proj = linear(queries, hidden, 2 * len(config.layer_types))
        self.q_norm, self.k_norm = (Norm(self.width, config.rms_norm_eps) for _ in range(2))

    def enter(self, x: Tensor, along: Along) -> tuple[Tensor, ...]:
        """x [N, hidden] -> queries, keys, values and output gates, each [N, heads, width]."""
        q, gate = _heads(self.q_proj(x), 2 * self.width).chunk(2, -1)
        k, v = (_heads(project(x), self.width) for project in (self.k_proj, self.v_proj))
        q, k = _rotated(self.q_norm(q), along.cos, along.sin), _rotated(self.k_norm(k), along.cos, along.sin)
        return q, k, v, gate

    def mix(self, entered: tuple[Tensor, ...], rows: int) -> tuple[Tensor, Tensor]:
        """Along each prompt: (attended values, gate), each [N, heads, width]."""
        *parts, gate = entered
        q, k, v = (t.view(rows, -1, *t.shape[1:]).transpose(1, 2) for t in parts)
        core = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])
        return core.transpose(1, 2).flatten(0, 1), gate

    def leave(self, core: Tensor, gate: Tensor) -> Tensor:
        """-> [N, hidden]."""
        out: Tensor = self.o_proj((core * gate.sigmoid()).flatten(1))
        return out


class Layer(nn.Module):
    """One decoder layer: norm, mixer, norm, MLP, with a residual around each.

    `enter` and `leave` see N tokens in a row and know nothing of prompts: nearly all the work, in two programs that
    serve every bucket of N tokens once they are compiled. Only `mix` in between follows the prompts.
    """

    def __init__(self, config: TextConfig, index: int) -> None:
        super().__init__()
        self.linear = config.layer_types[index] == "linear_attention"
        if self.linear:
            self.linear_attn = DeltaMixer(config)
        else:
            self.self_attn = AttentionMixer(config)
        self.mlp = Mlp(config)
        self.input_layernorm = Norm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = Norm(config.hidden_size, config.rms_norm_eps)

    def mixer(self) -> DeltaMixer | AttentionMixer:
        return self.linear_attn if self.linear else self.self_attn

    def forward(self, x: Tensor, along: Along, rows: int) -> Tensor:
        """x [N, hidden], the tokens of `rows` prompts of equal length -> the same."""
        core, gate = self.mixer().mix(self.enter(x, along), rows)
        return self.leave(x, core, gate)

    def enter(self, x: Tensor, along: Along) -> tuple[Tensor, ...]:
        return self.mixer().enter(self.input_layernorm(x), along)

    def leave(self, x: Tensor, core: Tensor, gate: Tensor) -> Tensor:
        x = x + self.mixer().leave(core, gate)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Rotary(nn.Module):
    """cos and sin of three interleaved axes, for the part of a head that turns."""

    frequencies: Tensor
    axes: Tensor

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        steps = torch.arange(0, config.rotary_dim, 2).float() / config.rotary_dim
        sections = config.mrope_section
        axes = [i % 3 if i < 3 * sections[i % 3] else 0 for i in range(len(steps))]
        self.register_buffer("frequencies", 1.0 / config.rope_theta**steps, persistent=False)
        self.register_buffer("axes", torch.tensor(axes), persistent=False)

    def forward(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """positions [3, N] -> (cos, sin), each [N, 1, rotary], rounded to dtype."""
        angles = positions.float().index_select(0, self.axes).t() * self.frequencies
        angles = torch.cat((angles, angles), -1).unsqueeze(1)
        return angles.cos().to(dtype), angles.sin().to(dtype)


class LanguageNetwork(nn.Module):
    """Embedding, layers and final norm; its parameters have the names of `model.language_model.`."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        nn.init.normal_(self.embed_tokens.weight, std=0.5)
        self.layers = nn.ModuleList(Layer(config, index) for index in range(len(config.layer_types)))
        self.norm = Norm(config.hidden_size, config.rms_norm_eps)
        self.rotary = Rotary(config)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Embeddings [B, T, hidden] and positions [3, B, T] -> rows after the final norm.

        Raises ValueError where T is no multiple of 64.
        """
        rows, tokens, _ = x.shape
        if tokens % CHUNK:
            raise ValueError(f"prompts of {tokens} tokens: expected a multiple of {CHUNK}")
        age = torch.arange(tokens, device=x.device).repeat(rows).unsqueeze(1)
        cos, sin = self.rotary(positions.flatten(1), x.dtype)
        along = Along(cos, sin, age)
        flat = x.flatten(0, 1)
        if torch.is_grad_enabled() and not flat.requires_grad:
            flat.requires_grad_()  # under an adapter alone: or the first layers would need programs of their own
        for layer in self.layers:
            flat = layer(flat, along, rows)
        normed: Tensor = self.norm(flat)
        return normed.view(x.shape)


class Both(nn.Module):
    """The two halves under the names they have in a checkpoint."""

    def __init__(self, language: LanguageNetwork, visual: VisionNetwork) -> None:
        super().__init__()
        self.language_model, self.visual = language, visual


class Decider(nn.Module):
    """The whole model. `state_dict()` is the base checkpoint, name by name.

    config: the checkpoint's config.json. dtype: of the arithmetic; torch.float32 switches autocast off. Weights are
    drawn from torch's global generator.
    """

    def __init__(self, config: Mapping[str, Any], dtype: torch.dtype = torch.bfloat16) -> None:
        super().__init__()
        sizes = parse_config(config)
        self.dtype = dtype
        self.model = Both(LanguageNetwork(sizes.text), VisionNetwork(sizes.vision))
        self.lm_head = linear(sizes.text.hidden_size, sizes.text.vocab_size)

    def forward(self, batch: Batch) -> Tensor:
        """Hidden rows after the final norm, [B, T, hidden] in `dtype`; those of padding mean nothing."""
        with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            language = self.model.language_model
            x = language.embed_tokens(batch.ids).to(self.dtype)
            if batch.pixels is not None and batch.slots is not None:
                x = _placed(x, self.model.visual(batch, self.dtype), batch.slots)
            rows: Tensor = language(x, batch.positions)
            return rows

    def compile_layers(self) -> None:
        """Compile `enter` and `leave` of every layer on their first call.

        Layers of one kind share a program, and so do all buckets of as many tokens: four programs, and as many more
        without gradients or with an adapter.
        """
        for layer in self.model.language_model.layers:
            for name in ("enter", "leave"):
                setattr(layer, name, torch.compile(getattr(layer, name), dynamic=False))


def _placed(x: Tensor, features: Tensor, slots: Tensor) -> Tensor:
    """x [B, T, hidden] with features [B, M, hidden] in rows `slots` [B, M]; row T takes what pads and is cut off."""
    wide = F.pad(x, (0, 0, 0, 1))
    index = slots.unsqueeze(-1).expand(-1, -1, x.shape[-1])
    return wide.scatter(1, index, features.to(x.dtype))[:, :-1]


def _heads(x: Tensor, width: int) -> Tensor:
    """[N, heads * width] -> [N, heads, width]."""
    return x.view(x.shape[0], -1, width)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [N, heads, width] with its leading part turned by cos and sin [N, 1, rotary]."""
    width = cos.shape[-1]
    return torch.cat((turned(x[..., :width], cos, sin), x[..., width:]), -1)
