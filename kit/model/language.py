"""The language model: embeddings of one prompt in, the last position's normalised hidden row out.

Covers: the decoder layers (gated delta rule and full attention, 3:1 in the published sizes) written against
the op table, as a pure function of tensors whose shapes depend on the token count alone, so that it can be
captured. Residual adds are fused with the norm that follows them.
Does not cover: token embedding and image rows (the engine puts them together), rotary tables
(`kit.model.rope`), the label head (`kit.model.head`), caches, batches.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from kit.kernels import Ops, Projection
from kit.model.config import TextConfig
from kit.model.lora import Adapter
from kit.model.weights import Weights

PREFIX = "model.language_model"


@dataclass(frozen=True)
class DeltaMixer:
    """Weights of one gated delta rule mixer; heads are value heads."""

    qkv: Projection
    z: Projection
    b: Projection
    a: Projection
    conv: Tensor
    dt_bias: Tensor
    a_log: Tensor
    norm: Tensor
    out: Projection

    def forward(self, ops: Ops, config: TextConfig, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x [T, H] -> [T, H]; position reaches it through the order of the tokens only."""
        keys, key_width, values = (
            config.linear_num_key_heads,
            config.linear_key_head_dim,
            config.linear_num_value_heads,
        )
        qkv, z, b, a = ops.project(x, (self.qkv, self.z, self.b, self.a))
        q, k, v = ops.causal_conv(qkv, self.conv, keys, key_width, values)
        g, beta = ops.delta_gates(a, b, self.a_log, self.dt_bias)
        core = ops.delta_rule(q, k, v, g, beta).flatten(0, 1)
        core = ops.gated_rms_norm(core, z.view(core.shape), self.norm, config.rms_norm_eps)
        (out,) = ops.project(core.view(x.shape[0], -1), (self.out,))
        return out


@dataclass(frozen=True)
class AttentionMixer:
    """Weights of one full attention mixer; q carries queries and output gates."""

    q: Projection
    k: Projection
    v: Projection
    q_norm: Tensor
    k_norm: Tensor
    o: Projection

    def forward(self, ops: Ops, config: TextConfig, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """x [T, H], cos and sin [T, R] -> [T, H]."""
        q_gate, k, v = ops.project(x, (self.q, self.k, self.v))
        q, k, gate = ops.query_key(q_gate, k, self.q_norm, self.k_norm, cos, sin, config.rms_norm_eps)
        v = v.view(x.shape[0], -1, config.head_dim)
        core = ops.sigmoid_gate(ops.causal_attention(q, k, v, config.head_dim**-0.5), gate)
        (out,) = ops.project(core, (self.o,))
        return out


@dataclass(frozen=True)
class Mlp:
    """Weights of one gated MLP."""

    gate: Projection
    up: Projection
    down: Projection

    def forward(self, ops: Ops, x: Tensor) -> Tensor:
        """x [T, H] -> [T, H]."""
        (down,) = ops.project(ops.silu_mul(*ops.project(x, (self.gate, self.up))), (self.down,))
        return down


@dataclass(frozen=True)
class Layer:
    """One decoder layer: norm, mixer, norm, MLP, with a residual around each."""

    mixer_norm: Tensor
    mixer: DeltaMixer | AttentionMixer
    mlp_norm: Tensor
    mlp: Mlp


class Language:
    """The whole stack. `forward` reads nothing but its arguments and the weights, and writes to neither."""

    def __init__(self, config: TextConfig, weights: Weights, adapter: Adapter, ops: Ops) -> None:
        self.config, self.ops = config, ops
        self.embedding = weights.take(f"{PREFIX}.embed_tokens.weight", config.vocab_size, config.hidden_size)
        self.layers = tuple(
            _layer(config, weights, adapter, index) for index in range(len(config.layer_types))
        )
        self.norm = weights.take(f"{PREFIX}.norm.weight", config.hidden_size)

    def forward(self, embeddings: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """embeddings [T, H] in the model's dtype, cos and sin [T, R] -> the last row after the final norm, [1, H].

        The final norm runs over all rows before the last is taken: on a GPU its block geometry, and with it
        the order of its sums, depends on the number of rows.
        """
        ops, config, eps = self.ops, self.config, self.config.rms_norm_eps
        residual, x = embeddings, ops.rms_norm(embeddings, self.layers[0].mixer_norm, eps)
        following = (*(layer.mixer_norm for layer in self.layers[1:]), self.norm)
        for layer, next_norm in zip(self.layers, following, strict=True):
            residual, x = ops.add_rms_norm(
                residual, layer.mixer.forward(ops, config, x, cos, sin), layer.mlp_norm, eps
            )
            residual, x = ops.add_rms_norm(residual, layer.mlp.forward(ops, x), next_norm, eps)
        return x[-1:]


def _layer(config: TextConfig, weights: Weights, adapter: Adapter, index: int) -> Layer:
    name, hidden, mlp = f"{PREFIX}.layers.{index}", config.hidden_size, config.intermediate_size
    kind = config.layer_types[index]
    return Layer(
        mixer_norm=weights.take(f"{name}.input_layernorm.weight", hidden),
        mixer=(_delta if kind == "linear_attention" else _attention)(config, weights, adapter, name),
        mlp_norm=weights.take(f"{name}.post_attention_layernorm.weight", hidden),
        mlp=Mlp(
            gate=adapter.project(weights, f"{name}.mlp.gate_proj", mlp, hidden),
            up=adapter.project(weights, f"{name}.mlp.up_proj", mlp, hidden),
            down=adapter.project(weights, f"{name}.mlp.down_proj", hidden, mlp),
        ),
    )


def _delta(config: TextConfig, weights: Weights, adapter: Adapter, layer: str) -> DeltaMixer:
    name, hidden, heads = f"{layer}.linear_attn", config.hidden_size, config.linear_num_value_heads
    values = heads * config.linear_value_head_dim
    mixed = 2 * config.linear_num_key_heads * config.linear_key_head_dim + values
    return DeltaMixer(
        qkv=adapter.project(weights, f"{name}.in_proj_qkv", mixed, hidden),
        z=adapter.project(weights, f"{name}.in_proj_z", values, hidden),
        b=adapter.project(weights, f"{name}.in_proj_b", heads, hidden),
        a=adapter.project(weights, f"{name}.in_proj_a", heads, hidden),
        conv=weights.take(f"{name}.conv1d.weight", mixed, 1, config.linear_conv_kernel_dim),
        dt_bias=weights.take(f"{name}.dt_bias", heads),
        a_log=weights.take(f"{name}.A_log", heads),
        norm=weights.take(f"{name}.norm.weight", config.linear_value_head_dim),
        out=adapter.project(weights, f"{name}.out_proj", hidden, values),
    )


def _attention(config: TextConfig, weights: Weights, adapter: Adapter, layer: str) -> AttentionMixer:
    name, hidden, width = f"{layer}.self_attn", config.hidden_size, config.head_dim
    queries, keys = config.num_attention_heads * width, config.num_key_value_heads * width
    return AttentionMixer(
        q=adapter.project(weights, f"{name}.q_proj", 2 * queries, hidden),
        k=adapter.project(weights, f"{name}.k_proj", keys, hidden),
        v=adapter.project(weights, f"{name}.v_proj", keys, hidden),
        q_norm=weights.take(f"{name}.q_norm.weight", width),
        k_norm=weights.take(f"{name}.k_norm.weight", width),
        o=adapter.project(weights, f"{name}.o_proj", hidden, queries),
    )
