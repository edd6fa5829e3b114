"""Checks of the vision tower's ops: patch embedding, positions, the first block, the merger, the rotary table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.campaign.operator_trace import Call, traced
from kit.kernels import Ops
from kit.model.vision import EPS, VisionTables, vision_tables

if TYPE_CHECKING:
    from kit.campaign.operator_checks import OperatorChecks
    from kit.engine.base import Grid

Calls = Mapping[str, Call]
LINEARS = (
    "blocks.0.attn.qkv",
    "blocks.0.attn.proj",
    "blocks.0.mlp.linear_fc1",
    "blocks.0.mlp.linear_fc2",
    "merger.linear_fc1",
    "merger.linear_fc2",
)


def check_vision(bench: OperatorChecks, pixels: Tensor, grids: tuple[Grid, ...]) -> None:
    """pixels [N, values]: one forward of the reference, then every op on what it recorded."""
    tower = bench.base.model.visual
    watched = {name: module for name, module in tower.named_modules() if name}
    with traced(watched) as calls:
        tower(pixels, grid_thw=torch.tensor(grids, device=bench.device))
    tables = vision_tables(bench.config.vision, grids, bench.device)
    _tables(bench, grids, calls["rotary_pos_emb"])
    _patches(bench, tower, pixels, tables, calls)
    block = tower.blocks[0]
    _norms(bench, block, calls)
    _attention(bench, block.attn, tables.lengths, calls)
    for name in LINEARS:
        _linear(bench, watched[name], calls[name])
    for op, name in (("gelu_tanh", "blocks.0.mlp.act_fn"), ("gelu", "merger.act_fn")):
        _activation(bench, op, calls[name])


def _tables(bench: OperatorChecks, grids: tuple[Grid, ...], call: Call) -> None:
    """cos and sin of the grid list; made once a list, outside any graph."""

    def form(ops: Ops) -> tuple[Tensor, Tensor]:
        made = vision_tables(bench.config.vision, grids, bench.device)
        return made.cos, made.sin

    bench.check("vision_rotary_tables", call.name, form, (), call.output, capture=False)


def _patches(bench: OperatorChecks, tower: Any, pixels: Tensor, tables: VisionTables, calls: Calls) -> None:
    proj, embed = tower.patch_embed.proj, calls["patch_embed"]

    def patch_embed(ops: Ops, pixels: Tensor) -> Tensor:
        return ops.patch_embed(pixels, proj.weight, proj.bias)

    bench.check("patch_embed", embed.name, patch_embed, (pixels,), embed.output)

    def add_positions(ops: Ops, x: Tensor, weights: Tensor) -> Tensor:
        return ops.add_positions(x, tower.pos_embed.weight, tables.corners, weights)

    name = f"{type(tower).__module__}.{type(tower).__qualname__}"
    bench.check(
        "add_positions", name, add_positions, (embed.output, tables.weights), calls["blocks.0.norm1"].args[0]
    )


def _norms(bench: OperatorChecks, block: Any, calls: Calls) -> None:
    first, second, mixed = calls["blocks.0.norm1"], calls["blocks.0.norm2"], calls["blocks.0.attn.proj"]

    def layer_norm(ops: Ops, x: Tensor) -> Tensor:
        return ops.layer_norm(x, block.norm1.weight, block.norm1.bias, EPS)

    def add_layer_norm(ops: Ops, residual: Tensor, delta: Tensor) -> Any:
        return ops.add_layer_norm(residual, delta, block.norm2.weight, block.norm2.bias, EPS)

    bench.check("layer_norm", first.name, layer_norm, (first.args[0],), first.output)
    inputs, expected = (first.args[0], mixed.output), [second.args[0], second.output]
    bench.check("add_layer_norm", second.name, add_layer_norm, inputs, expected)


def _attention(bench: OperatorChecks, module: Any, lengths: tuple[int, ...], calls: Calls) -> None:
    qkv, rotary = calls["blocks.0.attn.qkv"].output, calls["apply_rotary_pos_emb_vision"]
    q, k = (x.transpose(0, 1) for x in rotary.output)
    patches, heads, width = rotary.output[0].shape
    strided = qkv.view(patches, 3, heads, width)[:, 2].transpose(0, 1)
    cos, sin = rotary.args[2:4]
    inputs, expected = (qkv, cos, sin), [q, k, strided]
    bench.check("vision_rotary", rotary.name, lambda ops, *x: ops.vision_rotary(*x), inputs, expected)

    def attend(ops: Ops, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ops.packed_attention(q, k, v, module.scaling, lengths)

    name, official = calls["blocks.0.attn"].name, calls["blocks.0.attn.proj"].args[0]
    for variant, v in (("strided v", strided), ("contiguous v", strided.contiguous())):
        bench.check("packed_attention", name, attend, (q, k, v), official, variant)


def _linear(bench: OperatorChecks, module: Any, call: Call) -> None:
    def form(ops: Ops, x: Tensor) -> Tensor:
        return ops.linear(x, module.weight, module.bias)

    bench.check("linear", call.name, form, (call.args[0],), call.output)


def _activation(bench: OperatorChecks, op: str, call: Call) -> None:
    def form(ops: Ops, x: Tensor) -> Any:
        return getattr(ops, op)(x)

    bench.check(op, call.name, form, (call.args[0],), call.output)
