"""Every op of the table in FP64, from its definition: what an op should give on the inputs it was given.

Covers: the same signatures as `kit.kernels.Ops`, any dtype in, FP64 out, nothing rounded on the way. Plain torch,
and no code shared with the ops themselves; the delta rule is the oracle's.
Does not cover: whole forwards (`kit.engine.oracle`), `all_finite`, which computes no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from kit.engine.oracle_delta import in_chunks
from kit.kernels import Projection

Outcome = tuple[Tensor, ...]


def _wide(*tensors: Tensor) -> list[Tensor]:
    return [tensor.double() for tensor in tensors]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Outcome:
    product = x.double() @ weight.double().mT
    return (product if bias is None else product + bias.double(),)


def project(x: Tensor, projections: Sequence[Projection]) -> Outcome:
    results = []
    for weight, down, up, scale in projections:
        (product,) = linear(x, weight, None)
        if down is not None and up is not None:
            product = product + x.double() @ down.double().mT @ up.double().mT * scale
        results.append(product)
    return tuple(results)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Outcome:
    wide, w = _wide(x, weight)
    return (wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * (1 + w),)


def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float) -> Outcome:
    total = residual.double() + delta.double()
    return (total, *rms_norm(total, weight, eps))


def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Outcome:
    wide, g, w = _wide(x, gate, weight)
    return (wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * w * _silu(g),)


def causal_conv(x: Tensor, weight: Tensor, key_heads: int, key_width: int, value_heads: int) -> Outcome:
    wide, taps = _wide(x, weight[:, 0])
    tokens, size, keys = x.shape[0], taps.shape[-1], key_heads * key_width
    padded = torch.cat((wide.new_zeros(size - 1, wide.shape[1]), wide))
    mixed = _silu(sum((padded[i : i + tokens] * taps[:, i] for i in range(size)), torch.zeros_like(wide)))
    q, k = (mixed[:, start : start + keys].reshape(tokens, key_heads, key_width) for start in (0, keys))
    own = torch.arange(value_heads, device=x.device) // (value_heads // key_heads)
    return q[:, own], k[:, own], mixed[:, 2 * keys :].reshape(tokens, value_heads, -1)


def delta_gates(a: Tensor, b: Tensor, a_log: Tensor, dt_bias: Tensor) -> Outcome:
    a, b, a_log, dt_bias = _wide(a, b, a_log, dt_bias)
    return -a_log.exp() * torch.logaddexp(a + dt_bias, torch.zeros_like(a)), 1 / (1 + (-b).exp())


def delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Outcome:
    out, _ = in_chunks(*(x.unsqueeze(0) for x in (q, k, v, g, beta)))
    return (out[0],)


def query_key(
    q_gate: Tensor, k: Tensor, q_weight: Tensor, k_weight: Tensor, cos: Tensor, sin: Tensor, eps: float
) -> Outcome:
    tokens, width = q_gate.shape[0], q_weight.shape[0]
    both = q_gate.double().view(tokens, -1, 2, width)
    (q,) = rms_norm(both[:, :, 0], q_weight, eps)
    (key,) = rms_norm(k.double().view(tokens, -1, width), k_weight, eps)
    c, s = (x.unsqueeze(1) for x in _wide(cos, sin))
    return _turned(q, c, s), _turned(key, c, s), both[:, :, 1].reshape(tokens, -1)


def causal_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Outcome:
    q, k, v = _wide(q, k, v)
    tokens, heads, _ = q.shape
    own = torch.arange(heads, device=q.device) // (heads // k.shape[1])
    scores = torch.einsum("thd,shd->hts", q, k[:, own]) * scale
    later = torch.ones(tokens, tokens, dtype=torch.bool, device=q.device).triu(1)
    return (_attended(scores.masked_fill(later, -math.inf), v[:, own]),)


def sigmoid_gate(x: Tensor, gate: Tensor) -> Outcome:
    return (x.double() / (1 + (-gate.double()).exp()),)


def silu_mul(gate: Tensor, up: Tensor) -> Outcome:
    return (_silu(gate.double()) * up.double(),)


def patch_embed(pixels: Tensor, weight: Tensor, bias: Tensor) -> Outcome:
    return linear(pixels, weight.flatten(1), bias)


def add_positions(x: Tensor, table: Tensor, corners: Tensor, weights: Tensor) -> Outcome:
    return (x.double() + (table.double()[corners] * weights.double().unsqueeze(-1)).sum(1),)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Outcome:
    wide, w, b = _wide(x, weight, bias)
    centred = wide - wide.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * w + b,)


def add_layer_norm(residual: Tensor, delta: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Outcome:
    total = residual.double() + delta.double()
    return (total, *layer_norm(total, weight, bias, eps))


def vision_rotary(qkv: Tensor, cos: Tensor, sin: Tensor) -> Outcome:
    patches, width = cos.shape
    parts = qkv.double().view(patches, 3, -1, width)
    c, s = (x.unsqueeze(1) for x in _wide(cos, sin))
    q, k = (_turned(parts[:, i], c, s) for i in (0, 1))
    return q.transpose(0, 1), k.transpose(0, 1), parts[:, 2].transpose(0, 1)


def packed_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, lengths: tuple[int, ...]) -> Outcome:
    parts = zip(*(torch.split(x.double().transpose(0, 1), list(lengths)) for x in (q, k, v)), strict=True)  # type: ignore[no-untyped-call]
    return (torch.cat([_attended(torch.einsum("thd,shd->hts", a, b) * scale, c) for a, b, c in parts]),)


def gelu_tanh(x: Tensor) -> Outcome:
    wide = x.double()
    return (0.5 * wide * (1 + torch.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))),)


def gelu(x: Tensor) -> Outcome:
    wide = x.double()
    return (0.5 * wide * (1 + torch.erf(wide / math.sqrt(2))),)


def _silu(x: Tensor) -> Tensor:
    return x / (1 + (-x).exp())


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The first R values of the last axis rotated in pairs (i, i + R / 2), the others as they are."""
    width = cos.shape[-1]
    low, high = x[..., : width // 2], x[..., width // 2 : width]
    turned = torch.cat((-high, low), dim=-1)
    return torch.cat((x[..., :width] * cos + turned * sin, x[..., width:]), dim=-1)


def _attended(scores: Tensor, v: Tensor) -> Tensor:
    """scores [heads, T, S], v [S, heads, D] -> [T, heads * D]."""
    return torch.einsum("hts,shd->thd", scores.softmax(-1), v).flatten(1)


TRUTH: dict[str, Callable[..., Outcome]] = {
    function.__name__: function
    for function in (
        linear, project, rms_norm, add_rms_norm, gated_rms_norm, causal_conv, delta_gates, delta_rule, query_key,
        causal_attention, sigmoid_gate, silu_mul, patch_embed, add_positions, layer_norm, add_layer_norm,
        vision_rotary, packed_attention, gelu_tanh, gelu,
    )
}  # fmt: skip
PARAMETERS: dict[str, tuple[int, ...]] = {  # arguments that come from the checkpoint, the config or the positions
    "linear": (1, 2),
    "project": (1,),
    "rms_norm": (1, 2),
    "add_rms_norm": (2, 3),
    "gated_rms_norm": (2, 3),
    "causal_conv": (1, 2, 3, 4),
    "delta_gates": (2, 3),
    "delta_rule": (),
    "query_key": (2, 3, 4, 5, 6),
    "causal_attention": (3,),
    "sigmoid_gate": (),
    "silu_mul": (),
    "patch_embed": (1, 2),
    "add_positions": (1, 2, 3),
    "layer_norm": (1, 2, 3),
    "add_layer_norm": (2, 3, 4),
    "vision_rotary": (1, 2),
    "packed_attention": (3, 4),
    "gelu_tanh": (),
    "gelu": (),
}


def parameters(op: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those of a call's arguments that are parameters."""
    return tuple(args[index] for index in PARAMETERS[op])


def with_parameters(op: str, args: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """A call's arguments with its parameters replaced."""
    own = dict(zip(PARAMETERS[op], values, strict=True))
    return tuple(own.get(index, value) for index, value in enumerate(args))
