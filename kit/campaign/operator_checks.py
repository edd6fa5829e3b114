"""One check an op: the reference's recorded inputs through the op, its recorded output beside it.

Covers: the first language layer of each kind, the first vision block, what surrounds them, the rotary tables and the label head.
Does not cover: which sizes are run (`kit.campaign.operators`) or how inputs are recorded (`kit.campaign.operator_trace`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.campaign.operator_trace import Call, PoisonedAllocations, difference, traced, unbatched
from kit.kernels import Projection, select
from kit.model.config import ModelConfig, parse_config
from kit.model.head import LabelHead
from kit.model.rope import TextRotary
from kit.model.vision import EPS as VISION_EPS
from kit.model.vision import vision_tables

if TYPE_CHECKING:
    from kit.engine.base import Grid
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

SEED = 20260722
HEAD_ROWS = 200


class OperatorChecks:
    """The reference model, the op table, and the checks gathered so far."""

    def __init__(self, engine: ReferenceEngine, profile: Profile) -> None:
        self.base = engine.model.get_base_model()
        self.device = torch.device(profile.runtime.device)
        self.dtype: torch.dtype = getattr(torch, profile.runtime.dtype)
        self.ops = select(profile.runtime.numerics, self.device)
        self.config: ModelConfig = parse_config(json.loads(self.base.config.to_json_string(use_diff=False)))
        self.label_ids = engine.preparer.tokenizer.label_ids
        self.random = torch.Generator().manual_seed(SEED)
        self.checks: list[dict[str, Any]] = []

    def check(self, op: str, against: str, ours: Callable[[], Any], theirs: Any) -> None:
        """Run `ours` on poisoned allocations and count the elements that differ from `theirs`."""
        with PoisonedAllocations():  # type: ignore[no-untyped-call]
            result = ours()
        pairs = list(zip(_tensors(result), _tensors(theirs), strict=True))
        self.checks.append(difference(op, against, pairs))

    # The language model: first layer of each kind.

    def language(self, count: int) -> None:
        """One text forward of `count` random tokens."""
        text = self.base.model.language_model
        kinds = self.config.text.layer_types
        delta = text.layers[kinds.index("linear_attention")] if "linear_attention" in kinds else None
        full = text.layers[kinds.index("full_attention")] if "full_attention" in kinds else None
        ids = torch.randint(0, self.config.text.vocab_size, (1, count), generator=self.random)
        watched = {"rotary": text.rotary_emb, "norm": text.norm}
        for prefix, layer in (("delta", delta), ("full", full)):
            if layer is not None:
                watched |= {f"{prefix}.{name}": module for name, module in layer.named_modules() if name}
        with traced(watched) as calls:
            self.base.model(input_ids=ids.to(self.device), use_cache=False)
        self._rotary(calls["rotary"], count)
        self._plain_norm(calls["norm"], text.norm)
        if delta is not None:
            self._layer("delta", delta, calls)
            self._delta(delta.linear_attn, calls)
        if full is not None:
            self._layer("full", full, calls)
            self._full(full.self_attn, calls)

    def _rotary(self, call: Call, count: int) -> None:
        tables = TextRotary(self.config.text, self.dtype, self.device)
        positions = torch.arange(count, device=self.device).expand(3, -1)
        self.check(
            "text_rotary", call.name, lambda: tables.tables(positions), [unbatched(x) for x in call.output]
        )

    def _plain_norm(self, call: Call, module: Any) -> None:
        self.check(
            "rms_norm",
            call.name,
            lambda: self.ops.rms_norm(call.input(), module.weight, module.eps),
            call.result(),
        )

    def _layer(self, prefix: str, layer: Any, calls: dict[str, Call]) -> None:
        """Norms, every projection, the residual adds and the MLP of one layer."""
        for name, module in layer.named_modules():
            if hasattr(module, "lora_A"):
                self._projection(calls[f"{prefix}.{name}"], module)
        self._plain_norm(calls[f"{prefix}.input_layernorm"], layer.input_layernorm)
        before, mixed = calls[f"{prefix}.input_layernorm"], calls[f"{prefix}.{_mixer(layer)}"]
        after, norm = calls[f"{prefix}.post_attention_layernorm"], layer.post_attention_layernorm
        self.check(
            "add_rms_norm",
            after.name,
            lambda: self.ops.add_rms_norm(before.input(), mixed.result(), norm.weight, norm.eps),
            [after.input(), after.result()],
        )
        gate, up = calls[f"{prefix}.mlp.gate_proj"].result(), calls[f"{prefix}.mlp.up_proj"].result()
        down = calls[f"{prefix}.mlp.down_proj"]
        self.check("silu_mul", calls[f"{prefix}.mlp"].name, lambda: self.ops.silu_mul(gate, up), down.input())

    def _projection(self, call: Call, module: Any) -> None:
        x, (name,) = call.input(), module.active_adapters
        down, up = module.lora_A[name].weight, module.lora_B[name].weight
        scale = float(module.scaling[name])
        weight = module.base_layer.weight
        self.check(
            "project",
            call.name,
            lambda: self.ops.project(x, (Projection(weight, down, up, scale),)),
            [call.result()],
        )
        self.check(
            "linear",
            "torch.nn.Linear",
            lambda: self.ops.linear(x, weight, None),
            unbatched(module.base_layer(call.args[0])),
        )

    def _delta(self, module: Any, calls: dict[str, Call]) -> None:
        """Convolution, gates, scan and gated norm of a delta rule mixer."""
        conv, scan = calls["causal_conv1d_fn"], calls["torch_chunk_gated_delta_rule"]
        mixed = calls["delta.linear_attn.in_proj_qkv"].result()
        self.check(
            "causal_conv",
            conv.name,
            lambda: self.ops.causal_conv(mixed, module.conv1d.weight),
            unbatched(conv.output).t(),
        )
        a, b = (calls[f"delta.linear_attn.in_proj_{name}"].result() for name in "ab")
        self.check(
            "delta_gates",
            calls["delta.linear_attn"].name,
            lambda: self.ops.delta_gates(a, b, module.A_log, module.dt_bias),
            [unbatched(scan.kwargs[name]) for name in ("g", "beta")],
        )
        # The reference repeats key heads before the call; every group-th of them is the original again.
        group = module.num_v_heads // module.num_k_heads
        q, k, v = scan.args[0][0, :, ::group], scan.args[1][0, :, ::group], scan.args[2][0]
        g, beta = scan.kwargs["g"][0], scan.kwargs["beta"][0]
        self.check("delta_rule", scan.name, lambda: self.ops.delta_rule(q, k, v, g, beta), scan.output[0][0])
        norm = calls["delta.linear_attn.norm"]
        self.check(
            "gated_rms_norm",
            norm.name,
            lambda: self.ops.gated_rms_norm(
                norm.args[0], norm.args[1], module.norm.weight, module.norm.variance_epsilon
            ),
            norm.output,
        )

    def _full(self, module: Any, calls: dict[str, Call]) -> None:
        """Norms, rotary embedding, attention and output gate of a full attention mixer."""
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        q_gate, k, v = (calls[f"full.self_attn.{name}_proj"].result() for name in "qkv")
        rotary, out = calls["apply_rotary_pos_emb"], calls["full.self_attn.o_proj"]
        cos, sin = unbatched(rotary.args[2]), unbatched(rotary.args[3])
        count, width = q_gate.shape[0], module.head_dim
        gate = q_gate.view(count, -1, 2 * width).chunk(2, dim=-1)[1].reshape(count, -1)
        turned = [x[0].transpose(0, 1) for x in rotary.output]
        self.check(
            "query_key",
            rotary.name,
            lambda: self.ops.query_key(
                q_gate, k, module.q_norm.weight, module.k_norm.weight, cos, sin, module.q_norm.eps
            ),
            [*turned, gate],
        )
        values = v.view(count, -1, width)
        official = sdpa_attention_forward(
            module, *rotary.output, values.transpose(0, 1)[None], None, scaling=module.scaling
        )[0].reshape(count, -1)
        self.check(
            "causal_attention",
            f"{sdpa_attention_forward.__module__}.sdpa_attention_forward",
            lambda: self.ops.causal_attention(turned[0], turned[1], values, module.scaling),
            official,
        )
        self.check(
            "sigmoid_gate",
            calls["full.self_attn"].name,
            lambda: self.ops.sigmoid_gate(official, gate),
            out.input(),
        )

    # The vision tower: patch embedding, first block, merger.

    def vision(self, grids: tuple[Grid, ...]) -> None:
        """One vision forward of random pixels, one image a grid."""
        tower = self.base.model.visual
        count = sum(frames * rows * columns for frames, rows, columns in grids)
        pixels = torch.rand(count, tower.patch_embed.proj.weight[0].numel(), generator=self.random) * 2 - 1
        pixels = pixels.to(self.device, self.dtype)
        watched = {name: module for name, module in tower.named_modules() if name}
        with traced(watched) as calls:
            tower(pixels, grid_thw=torch.tensor(grids, device=self.device))
        tables = vision_tables(self.config.vision, grids, self.device)
        rotary, embed = calls["rotary_pos_emb"], calls["patch_embed"]
        self.check("vision_rotary_tables", rotary.name, lambda: (tables.cos, tables.sin), rotary.output)
        proj = tower.patch_embed.proj
        self.check(
            "patch_embed",
            embed.name,
            lambda: self.ops.patch_embed(pixels, proj.weight, proj.bias),
            embed.output,
        )
        first = calls["blocks.0.norm1"]
        self.check(
            "add_positions",
            f"{type(tower).__module__}.{type(tower).__qualname__}",
            lambda: self.ops.add_positions(
                embed.output, tower.pos_embed.weight, tables.corners, tables.weights
            ),
            first.args[0],
        )
        self._block(tower.blocks[0], calls, tables.lengths)
        self._activation("gelu", calls["merger.act_fn"], self.ops.gelu)

    def _block(self, block: Any, calls: dict[str, Call], lengths: tuple[int, ...]) -> None:
        first, second = calls["blocks.0.norm1"], calls["blocks.0.norm2"]
        qkv, rotary, proj = (
            calls["blocks.0.attn.qkv"],
            calls["apply_rotary_pos_emb_vision"],
            calls["blocks.0.attn.proj"],
        )
        norm = block.norm1
        self.check(
            "layer_norm",
            first.name,
            lambda: self.ops.layer_norm(first.args[0], norm.weight, norm.bias, VISION_EPS),
            first.output,
        )
        self.check(
            "add_layer_norm",
            second.name,
            lambda: self.ops.add_layer_norm(
                first.args[0], proj.output, block.norm2.weight, block.norm2.bias, VISION_EPS
            ),
            [second.args[0], second.output],
        )
        self.check(
            "linear",
            qkv.name,
            lambda: self.ops.linear(qkv.args[0], block.attn.qkv.weight, block.attn.qkv.bias),
            qkv.output,
        )
        q, k = rotary.output
        v = qkv.output.view(q.shape[0], 3, *q.shape[1:])[:, 2]
        heads = [x.transpose(0, 1) for x in (q, k, v)]
        cos, sin = rotary.args[2:4]
        self.check("vision_rotary", rotary.name, lambda: self.ops.vision_rotary(qkv.output, cos, sin), heads)
        self.check(
            "packed_attention",
            calls["blocks.0.attn"].name,
            lambda: self.ops.packed_attention(heads[0], heads[1], heads[2], block.attn.scaling, lengths),
            proj.args[0],
        )
        self._activation("gelu_tanh", calls["blocks.0.mlp.act_fn"], self.ops.gelu_tanh)

    def _activation(self, op: str, call: Call, ours: Callable[[Tensor], Tensor]) -> None:
        self.check(op, call.name, lambda: ours(call.args[0]), call.output)

    def label_head(self) -> None:
        """Label logits through the rows the ladder chooses, on other rows than it was chosen with."""
        norm, weight = self.base.model.language_model.norm, self.base.lm_head.weight
        noise = torch.randn(2 * HEAD_ROWS, 1, weight.shape[1], generator=self.random)
        rows = norm(noise.to(self.device, self.dtype))
        head = LabelHead(weight, self.label_ids)
        head.choose(rows[:HEAD_ROWS, 0])
        ids = torch.tensor(self.label_ids, device=self.device)
        fresh = rows[HEAD_ROWS:]
        self.check(
            "label_head",
            f"torch.nn.Linear over {weight.shape[0]} rows (kit: {head.describe()['rows']})",
            lambda: torch.stack([head.logits(row) for row in fresh]),
            torch.stack([self.base.lm_head(row[None])[0, -1, ids] for row in fresh]),
        )


def _mixer(layer: Any) -> str:
    return "linear_attn" if hasattr(layer, "linear_attn") else "self_attn"


def _tensors(value: Any) -> tuple[Tensor, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)
