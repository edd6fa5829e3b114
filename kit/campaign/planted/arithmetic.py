"""Faults in the arithmetic of an op: a wrong formula, a narrower type, a term left out.

Each stands around the op of the table and leaves everything else as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.campaign.planted.fault import IMAGE, IMAGES, TEXT, Fault, in_ops
from kit.kernels import Projection

if TYPE_CHECKING:
    from kit.kernels import Ops
    from kit.kernels.table import Pair, Triple

Changed = dict[str, Callable[..., Any]]


def mantissa(x: Tensor, bits: int) -> Tensor:
    """x in FP32, rounded to so many fraction bits, halves to even: 10 is TF32, 7 is BF16."""
    fraction, exponent = torch.frexp(x.float())
    return torch.ldexp(torch.round(fraction * 2.0 ** (bits + 1)), exponent - bits - 1)


def _narrow_adapter(ops: Ops, bits: int) -> Changed:
    def project(x: Tensor, projections: Sequence[Projection]) -> tuple[Tensor, ...]:
        bases = ops.project(x, [Projection(item.weight) for item in projections])
        narrow = mantissa(x, bits)
        results = []
        for base, (_, down, up, scale) in zip(bases, projections, strict=True):
            if down is not None and up is not None:
                low = mantissa(F.linear(narrow, mantissa(down, bits)), bits)
                base = (base + F.linear(low, mantissa(up, bits)) * scale).to(base.dtype)
            results.append(base)
        return tuple(results)

    return {"project": project}


def _weight_for_one_plus_weight(ops: Ops, dose: None) -> Changed:
    def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
        return ops.rms_norm(x, weight - 1, eps)

    def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float) -> Pair:
        return ops.add_rms_norm(residual, delta, weight - 1, eps)

    return {"rms_norm": rms_norm, "add_rms_norm": add_rms_norm}


def _one_plus_weight_for_weight(ops: Ops, dose: None) -> Changed:
    def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
        return ops.gated_rms_norm(x, gate, weight + 1, eps)

    return {"gated_rms_norm": gated_rms_norm}


def _no_sigmoid_gate(ops: Ops, dose: None) -> Changed:
    return {"sigmoid_gate": lambda x, gate: x}


def _gate_and_up_exchanged(ops: Ops, dose: None) -> Changed:
    return {"silu_mul": lambda gate, up: ops.silu_mul(up, gate)}


def _taps_reversed(ops: Ops, dose: None) -> Changed:
    def causal_conv(x: Tensor, weight: Tensor, key_heads: int, key_width: int, value_heads: int) -> Triple:
        return ops.causal_conv(x, weight.flip(-1), key_heads, key_width, value_heads)

    return {"causal_conv": causal_conv}


def _decay_sign(ops: Ops, heads: int | None) -> Changed:
    """heads: how many grow instead of forgetting, None for all."""

    def delta_gates(a: Tensor, b: Tensor, a_log: Tensor, dt_bias: Tensor) -> Pair:
        g, beta = ops.delta_gates(a, b, a_log, dt_bias)
        return torch.cat((-g[:, :heads], g[:, g.shape[1] if heads is None else heads :]), dim=1), beta

    return {"delta_gates": delta_gates}


def _no_time_bias(ops: Ops, dose: None) -> Changed:
    def delta_gates(a: Tensor, b: Tensor, a_log: Tensor, dt_bias: Tensor) -> Pair:
        return ops.delta_gates(a, b, a_log, torch.zeros_like(dt_bias))

    return {"delta_gates": delta_gates}


def _beta_doubled(ops: Ops, dose: None) -> Changed:
    def delta_gates(a: Tensor, b: Tensor, a_log: Tensor, dt_bias: Tensor) -> Pair:
        g, beta = ops.delta_gates(a, b, a_log, dt_bias)
        return g, beta * 2

    return {"delta_gates": delta_gates}


def _lengths_kept(ops: Ops, dose: None) -> Changed:
    """The rule with q and k as long as they come, written with the op that makes them one long.

    With k = |k| k^, writing k beta (v - S^T k)^T is writing k^ (beta |k|^2) (v / |k| - S^T k^)^T, and reading with q
    is reading with q^, times |q|.
    """

    def delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
        q_length, k_length = (x.float().norm(dim=-1, keepdim=True).clamp(min=1e-6) for x in (q, k))
        out = ops.delta_rule(q, k, v.float() / k_length, g, beta.float() * k_length.squeeze(-1).square())
        scaled: Tensor = out * q_length
        return scaled.to(q.dtype)

    return {"delta_rule": delta_rule}


def _attention_in_bf16(ops: Ops, dose: None) -> Changed:
    """Scores, exponentials and their sum rounded to the model's dtype one by one."""

    def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        tokens, heads, _ = q.shape
        own = torch.arange(heads, device=q.device) // (heads // k.shape[1])
        scores = torch.einsum("thd,shd->hts", q, k[:, own]) * scale
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=q.device).triu(1)
        weights = (scores - scores.amax(-1, keepdim=True)).exp().masked_fill(later, 0)
        shares = weights / weights.sum(-1, keepdim=True)
        mixed: Tensor = torch.einsum("hts,shd->thd", shares, v[:, own])
        return mixed.flatten(1)

    return {"causal_attention": causal_attention}


def _key_heads_in_turn(ops: Ops, dose: None) -> Changed:
    """Query head i reads key head i mod n instead of i // group."""

    def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        group = q.shape[1] // k.shape[1]
        return ops.causal_attention(q, k.repeat(1, group, 1), v.repeat(1, group, 1), scale)

    return {"causal_attention": causal_attention}


def _scores_not_scaled(ops: Ops, dose: None) -> Changed:
    def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        return ops.causal_attention(q, k, v, scale * math.sqrt(q.shape[-1]))

    return {"causal_attention": causal_attention}


def _images_see_each_other(ops: Ops, dose: None) -> Changed:
    def packed_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, lengths: tuple[int, ...]) -> Tensor:
        return ops.packed_attention(q, k, v, scale, (sum(lengths),))

    return {"packed_attention": packed_attention}


FAULTS = (
    Fault(
        "adapter-narrow", "ops", "the adapter multiplies in a narrower type than FP32",
        in_ops(_narrow_adapter), (("TF32", 10), ("BF16", 7), ("4 bits", 4)),
    ),
    Fault("norm-w", "ops", "RMSNorm multiplies by w instead of 1 + w", in_ops(_weight_for_one_plus_weight)),
    Fault("head-norm-1+w", "ops", "the norm of delta rule heads multiplies by 1 + w instead of w", in_ops(_one_plus_weight_for_weight)),
    Fault("no-output-gate", "ops", "attention without its sigmoid gate", in_ops(_no_sigmoid_gate)),
    Fault("gate-up-exchanged", "ops", "SiLU on the wrong half of the MLP", in_ops(_gate_and_up_exchanged)),
    Fault("conv-reversed", "ops", "the taps of the causal convolution in reverse", in_ops(_taps_reversed)),
    Fault("decay-sign", "ops", "the state grows where it should decay", in_ops(_decay_sign), (("one head", 1), ("all heads", None))),
    Fault("no-time-bias", "ops", "the decay without dt_bias", in_ops(_no_time_bias)),
    Fault("beta-doubled", "ops", "beta in 0..2 instead of 0..1", in_ops(_beta_doubled)),
    Fault("no-l2-norm", "ops", "queries and keys of the delta rule as long as they come", in_ops(_lengths_kept)),
    Fault("attention-bf16", "ops", "the softmax of attention in BF16", in_ops(_attention_in_bf16)),
    Fault("key-heads-in-turn", "ops", "grouped heads dealt out in turn instead of in blocks", in_ops(_key_heads_in_turn)),
    Fault("scores-unscaled", "ops", "attention scores not divided by sqrt(D)", in_ops(_scores_not_scaled)),
    Fault("gelu-erf-for-tanh", "ops", "GELU by erf in the vision blocks", in_ops(lambda ops, dose: {"gelu_tanh": ops.gelu}), shows=(IMAGE,)),
    Fault("gelu-tanh-for-erf", "ops", "GELU by tanh in the merger", in_ops(lambda ops, dose: {"gelu": ops.gelu_tanh}), shows=(IMAGE,)),
    Fault("images-attend", "ops", "patches of one image attend to those of another", in_ops(_images_see_each_other), shows=(TEXT, IMAGES)),
)  # fmt: skip
