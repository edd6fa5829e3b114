"""Which callable computes each op, for a kind of numerics and a device.

Covers: the table's fields with shapes, and the choice between implementations. `exact` on a CPU is plain
torch; on CUDA the gated delta rule and the causal convolution are another package's kernel where the
reference itself runs one, and where Triton is installed our kernels stand in for these forms shape by shape
(`kit.kernels.proof`). Two are behind no guard: `project` decides more finely for itself
(`kit.kernels.fused_projections`), and a scan for finite numbers rounds nothing.
Does not cover: the proofs themselves, or capture.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kit.kernels import (
    attention,
    causal_conv,
    delta_gates,
    delta_rule,
    finite,
    gated_rms_norm,
    gelu,
    layer_norm,
    linear,
    patch_embed,
    position_embedding,
    projections,
    query_key,
    rms_norm,
    sigmoid_gate,
    silu_mul,
    vision_rotary,
)
from kit.kernels.projections import Projection
from kit.kernels.proof import Proofs, qualified_name

Pair = tuple[Tensor, Tensor]
Triple = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Ops:
    """One callable an op. T tokens, N patches, H width; every tensor lives on one device.

    Shapes and rounding points stand in the op's own module. Fields are replaced with `dataclasses.replace`
    where an engine needs another form of an op (a registered custom op, a fused kernel).
    """

    linear: Callable[[Tensor, Tensor, Tensor | None], Tensor]
    project: Callable[[Tensor, Sequence[Projection]], tuple[Tensor, ...]]
    rms_norm: Callable[[Tensor, Tensor, float], Tensor]
    add_rms_norm: Callable[[Tensor, Tensor, Tensor, float], Pair]
    gated_rms_norm: Callable[[Tensor, Tensor, Tensor, float], Tensor]
    causal_conv: Callable[[Tensor, Tensor, int, int, int], Triple]
    delta_gates: Callable[[Tensor, Tensor, Tensor, Tensor], Pair]
    delta_rule: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
    query_key: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, float], Triple]
    causal_attention: Callable[[Tensor, Tensor, Tensor, float], Tensor]
    sigmoid_gate: Callable[[Tensor, Tensor], Tensor]
    silu_mul: Callable[[Tensor, Tensor], Tensor]
    patch_embed: Callable[[Tensor, Tensor, Tensor], Tensor]
    add_positions: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    layer_norm: Callable[[Tensor, Tensor, Tensor, float], Tensor]
    add_layer_norm: Callable[[Tensor, Tensor, Tensor, Tensor, float], Pair]
    vision_rotary: Callable[[Tensor, Tensor, Tensor], Triple]
    packed_attention: Callable[[Tensor, Tensor, Tensor, float, tuple[int, ...]], Tensor]
    gelu_tanh: Callable[[Tensor], Tensor]
    gelu: Callable[[Tensor], Tensor]
    all_finite: Callable[[Tensor], Tensor]
    proofs: Proofs | None = None  # not an op: where kernels stand in for twins, and what that rests on
    without: str = ""  # not an op: why a table for CUDA has no kernels

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Every op of the table, in order."""
        return tuple(
            field.name for field in dataclasses.fields(cls) if field.name not in ("proofs", "without")
        )

    def describe(self) -> dict[str, str]:
        """Op -> the function that runs, as `module.qualname`; with its twin where that runs at unproven shapes."""
        return {name: self._described(name) for name in self.names()}

    def _described(self, name: str) -> str:
        function = getattr(self, name)
        if hasattr(function, "twin"):
            return f"{qualified_name(function)}, or {qualified_name(function.twin)} where bits differ"
        remark = f" ({self.without})" if self.without and name in WITH_KERNELS else ""
        return qualified_name(function) + remark


WITH_KERNELS = (  # ops for which the kit has a kernel, where Triton is installed
    "project",
    "rms_norm",
    "add_rms_norm",
    "gated_rms_norm",
    "causal_conv",
    "delta_gates",
    "query_key",
    "sigmoid_gate",
    "silu_mul",
    "patch_embed",
    "add_positions",
    "add_layer_norm",
    "vision_rotary",
    "all_finite",
)

PLAIN = Ops(
    linear=linear.linear,
    project=projections.project,
    rms_norm=rms_norm.rms_norm,
    add_rms_norm=rms_norm.add_rms_norm,
    gated_rms_norm=gated_rms_norm.gated_rms_norm,
    causal_conv=causal_conv.causal_conv,
    delta_gates=delta_gates.delta_gates,
    delta_rule=delta_rule.delta_rule,
    query_key=query_key.query_key,
    causal_attention=attention.causal_attention,
    sigmoid_gate=sigmoid_gate.sigmoid_gate,
    silu_mul=silu_mul.silu_mul,
    patch_embed=patch_embed.patch_embed,
    add_positions=position_embedding.add_positions,
    layer_norm=layer_norm.layer_norm,
    add_layer_norm=layer_norm.add_layer_norm,
    vision_rotary=vision_rotary.vision_rotary,
    packed_attention=attention.packed_attention,
    gelu_tanh=gelu.gelu_tanh,
    gelu=gelu.gelu,
    all_finite=finite.all_finite,
)


def select(numerics: str, device: torch.device | str) -> Ops:
    """The table for a kind of numerics ("exact") on a device.

    Raises ValueError for numerics the kit does not implement.
    """
    if numerics != "exact":
        raise ValueError(f"numerics {numerics!r} is not implemented: expected 'exact'")
    plain = without_kernels(device)
    if torch.device(device).type != "cuda":
        return plain
    if importlib.util.find_spec("triton") is None:
        return dataclasses.replace(plain, without="no kernel: triton is not installed")
    proofs = Proofs()
    return dataclasses.replace(
        plain,
        proofs=proofs,
        project=_fused_projections(proofs),
        **_language_kernels(plain, proofs),
        **_vision_kernels(proofs),
    )


def _fused_projections(proofs: Proofs) -> Callable[[Tensor, Sequence[Projection]], tuple[Tensor, ...]]:
    """Decides for itself, more finely than a guard would."""
    from kit.kernels.fused_projections import FusedProjections

    return FusedProjections(proofs)


def without_kernels(device: torch.device | str) -> Ops:
    """The table without kernels of the kit: plain torch, and on CUDA the packages that the reference runs too."""
    if torch.device(device).type != "cuda":
        return PLAIN
    return dataclasses.replace(
        PLAIN,
        delta_rule=delta_rule.from_package() or PLAIN.delta_rule,
        causal_conv=causal_conv.from_package() or PLAIN.causal_conv,
    )


def _language_kernels(plain: Ops, proofs: Proofs) -> dict[str, Any]:
    """The language model's kernels, each behind a guard, with what runs without kernels as its twin."""
    from kit.kernels import (
        causal_conv_kernel,
        delta_gates_kernel,
        gated_rms_norm_kernel,
        query_key_kernel,
        rms_norm_kernel,
        sigmoid_gate_kernel,
        silu_mul_kernel,
    )

    kernels: dict[str, Callable[..., Any]] = {
        "rms_norm": rms_norm_kernel.rms_norm,
        "add_rms_norm": rms_norm_kernel.add_rms_norm,
        "gated_rms_norm": gated_rms_norm_kernel.gated_rms_norm,
        "causal_conv": causal_conv_kernel.causal_conv,
        "delta_gates": delta_gates_kernel.delta_gates,
        "query_key": query_key_kernel.query_key,
        "sigmoid_gate": sigmoid_gate_kernel.sigmoid_gate,
        "silu_mul": silu_mul_kernel.silu_mul,
    }
    return {name: proofs.guard(name, getattr(plain, name), kernel) for name, kernel in kernels.items()}


def _vision_kernels(proofs: Proofs) -> dict[str, Any]:
    """The vision tower's kernels, each behind a guard; a scan for finite numbers rounds nothing and needs none."""
    from kit.kernels import finite_kernel, layer_norm_kernel, position_embedding_kernel, vision_rotary_kernel

    kernels: dict[str, Callable[..., Any]] = {
        "patch_embed": patch_embed.patch_embed_as_product,
        "add_positions": position_embedding_kernel.add_positions,
        "add_layer_norm": layer_norm_kernel.add_layer_norm,
        "vision_rotary": vision_rotary_kernel.vision_rotary,
    }
    guarded = {name: proofs.guard(name, getattr(PLAIN, name), kernel) for name, kernel in kernels.items()}
    return guarded | {"all_finite": finite_kernel.all_finite}
