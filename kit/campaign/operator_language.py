"""Checks of the language model's ops: the first layer of each kind, the final norm, the rotary table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.campaign.operator_trace import Call, traced, unbatched
from kit.campaign.operator_trial import with_gaps
from kit.kernels import Ops, Projection
from kit.model.rope import TextRotary

if TYPE_CHECKING:
    from kit.campaign.operator_checks import OperatorChecks

Calls = Mapping[str, Call]
# Projections of one input go through the table together, as in kit.model.language.
DELTA_GROUPS = (("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"), ("out_proj",))
FULL_GROUPS = (("q_proj", "k_proj", "v_proj"), ("o_proj",))
MLP_GROUPS = (("gate_proj", "up_proj"), ("down_proj",))


def check_language(bench: OperatorChecks, ids: Tensor) -> None:
    """ids [1, T]: one forward of the reference, then every op on what it recorded."""
    text = bench.base.model.language_model
    kinds = bench.config.text.layer_types
    watched = {"rotary": text.rotary_emb, "norm": text.norm}
    layers = {}
    for prefix, kind in (("delta", "linear_attention"), ("full", "full_attention")):
        if kind in kinds:
            layers[prefix] = text.layers[kinds.index(kind)]
            watched |= {f"{prefix}.{name}": part for name, part in layers[prefix].named_modules() if name}
    with traced(watched) as calls:
        bench.base.model(input_ids=ids, use_cache=False)
    _rotary(bench, calls["rotary"], ids.shape[1])
    _norm(bench, calls["norm"], text.norm)
    for prefix, layer in layers.items():
        _layer(bench, prefix, layer, calls)
    if "delta" in layers:
        _delta(bench, layers["delta"].linear_attn, calls)
    if "full" in layers:
        _attention(bench, layers["full"].self_attn, calls)


def _rotary(bench: OperatorChecks, call: Call, count: int) -> None:
    tables = TextRotary(bench.config.text, bench.dtype, bench.device)
    positions = torch.arange(count, device=bench.device).expand(3, -1).contiguous()

    def form(ops: Ops, positions: Tensor) -> tuple[Tensor, Tensor]:
        return tables.tables(positions)

    bench.check("text_rotary", call.name, form, (positions,), [unbatched(x) for x in call.output], capture=False)


def _norm(bench: OperatorChecks, call: Call, module: Any) -> None:
    def form(ops: Ops, x: Tensor) -> Tensor:
        return ops.rms_norm(x, module.weight, module.eps)

    bench.check("rms_norm", call.name, form, (call.input(),), call.result())


def _layer(bench: OperatorChecks, prefix: str, layer: Any, calls: Calls) -> None:
    """Norms, every projection, the residual adds and the MLP of one layer."""
    mixer, groups = ("linear_attn", DELTA_GROUPS) if prefix == "delta" else ("self_attn", FULL_GROUPS)
    for part, names in (*((mixer, names) for names in groups), *(("mlp", names) for names in MLP_GROUPS)):
        modules = [getattr(getattr(layer, part), name) for name in names]
        _projections(bench, modules, [calls[f"{prefix}.{part}.{name}"] for name in names])
    _norm(bench, calls[f"{prefix}.input_layernorm"], layer.input_layernorm)
    before, mixed = calls[f"{prefix}.input_layernorm"], calls[f"{prefix}.{mixer}"]
    after, norm = calls[f"{prefix}.post_attention_layernorm"], layer.post_attention_layernorm

    def add_norm(ops: Ops, residual: Tensor, delta: Tensor) -> Any:
        return ops.add_rms_norm(residual, delta, norm.weight, norm.eps)

    bench.check(
        "add_rms_norm", after.name, add_norm, (before.input(), mixed.result()), [after.input(), after.result()]
    )
    gate, up = calls[f"{prefix}.mlp.gate_proj"].result(), calls[f"{prefix}.mlp.up_proj"].result()
    down = calls[f"{prefix}.mlp.down_proj"].input()
    bench.check("silu_mul", calls[f"{prefix}.mlp"].name, lambda ops, *x: ops.silu_mul(*x), (gate, up), down)


def _projections(bench: OperatorChecks, modules: list[Any], calls: list[Call]) -> None:
    """Projections of one input, adapted ones with their pair."""
    projections = tuple(_projection(module) for module in modules)

    def form(ops: Ops, x: Tensor) -> tuple[Tensor, ...]:
        return ops.project(x, projections)

    bench.check("project", calls[0].name, form, (calls[0].input(),), [call.result() for call in calls])


def _projection(module: Any) -> Projection:
    if not hasattr(module, "lora_A"):
        return Projection(module.weight)
    (name,) = module.active_adapters
    down, up = module.lora_A[name].weight, module.lora_B[name].weight
    return Projection(module.base_layer.weight, down, up, float(module.scaling[name]))


def _delta(bench: OperatorChecks, module: Any, calls: Calls) -> None:
    """Convolution, gates, scan and gated norm of a delta rule mixer."""
    conv, scan = calls["causal_conv1d_fn"], calls["torch_chunk_gated_delta_rule"]
    qkv, a, b = (calls[f"delta.linear_attn.in_proj_{name}"].result() for name in ("qkv", "a", "b"))
    q, k, v = (x[0] for x in scan.args[:3])  # after the convolution, split and repeated for the value heads

    def convolve(ops: Ops, qkv: Tensor) -> Any:
        heads = module.num_k_heads, module.head_k_dim, module.num_v_heads
        return ops.causal_conv(qkv, module.conv1d.weight, *heads)

    bench.check("causal_conv", conv.name, convolve, (qkv,), [q, k, v])

    def gates(ops: Ops, a: Tensor, b: Tensor) -> Any:
        return ops.delta_gates(a, b, module.A_log, module.dt_bias)

    g, beta = scan.kwargs["g"][0], scan.kwargs["beta"][0]
    bench.check("delta_gates", calls["delta.linear_attn"].name, gates, (a, b), [g, beta])
    for variant, values in (("recorded", v), ("strided v", with_gaps(v))):
        inputs, expected = (q, k, values, g, beta), scan.output[0][0]
        bench.check("delta_rule", scan.name, lambda ops, *x: ops.delta_rule(*x), inputs, expected, variant)
    norm = calls["delta.linear_attn.norm"]

    def gated(ops: Ops, x: Tensor, gate: Tensor) -> Tensor:
        return ops.gated_rms_norm(x, gate, module.norm.weight, module.norm.variance_epsilon)

    bench.check("gated_rms_norm", norm.name, gated, norm.args[:2], norm.output)


def _attention(bench: OperatorChecks, module: Any, calls: Calls) -> None:
    """Norms, rotary embedding, attention and output gate of a full attention mixer."""
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    q_gate, k, v = (calls[f"full.self_attn.{name}_proj"].result() for name in "qkv")
    rotary, out = calls["apply_rotary_pos_emb"], calls["full.self_attn.o_proj"]
    cos, sin = unbatched(rotary.args[2]), unbatched(rotary.args[3])
    count, width = q_gate.shape[0], module.head_dim
    gate = q_gate.view(count, -1, 2 * width).chunk(2, dim=-1)[1].reshape(count, -1)
    turned = [x[0].transpose(0, 1) for x in rotary.output]

    def query_key(ops: Ops, q_gate: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        q_norm, k_norm = module.q_norm, module.k_norm
        return ops.query_key(q_gate, k, q_norm.weight, k_norm.weight, cos, sin, q_norm.eps)

    bench.check("query_key", rotary.name, query_key, (q_gate, k, cos, sin), [*turned, gate])
    values = v.view(count, -1, width)
    official = sdpa_attention_forward(
        module, *rotary.output, values.transpose(0, 1)[None], None, scaling=module.scaling
    )[0].reshape(count, -1)
    q, k = (x.contiguous() for x in turned)

    def attend(ops: Ops, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ops.causal_attention(q, k, v, module.scaling)

    name = f"{sdpa_attention_forward.__module__}.sdpa_attention_forward"
    for variant, strided in (("recorded", values), ("strided v", with_gaps(values))):
        bench.check("causal_attention", name, attend, (q, k, strided), official, variant)
    bench.check(
        "sigmoid_gate", calls["full.self_attn"].name, lambda ops, *x: ops.sigmoid_gate(*x), (official, gate), out.input()
    )
