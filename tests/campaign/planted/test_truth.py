"""Ops in FP64 against the plain ops in FP32: one function, so they agree as far as FP32 goes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.campaign.planted.truth import PARAMETERS, TRUTH, parameters, with_parameters
from kit.kernels import Ops, Projection
from kit.kernels.table import PLAIN

EPS = 1e-6


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "linear": lambda: (draw(5, 8), draw(6, 8), draw(6)),
    "project": lambda: (draw(5, 8), (Projection(draw(6, 8), draw(2, 8), draw(6, 2), 2.0), Projection(draw(3, 8)))),
    "rms_norm": lambda: (draw(5, 8), draw(8), EPS),
    "add_rms_norm": lambda: (draw(5, 8), draw(5, 8) * 2, draw(8), EPS),
    "gated_rms_norm": lambda: (draw(5, 8), draw(5, 8) + 1, draw(8), EPS),
    "causal_conv": lambda: (draw(7, 2 * 2 * 3 + 4 * 5), draw(2 * 2 * 3 + 4 * 5, 1, 4), 2, 3, 4),
    "delta_gates": lambda: (draw(7, 4), draw(7, 4) * 2, draw(4), draw(4) - 1),
    "delta_rule": lambda: (draw(70, 4, 3), draw(70, 4, 3) + 1, draw(70, 4, 5), -draw(70, 4).abs(), draw(70, 4).sigmoid()),
    "query_key": lambda: (draw(6, 4 * 2 * 8), draw(6, 2 * 8), draw(8), draw(8) + 1, draw(6, 4).cos(), draw(6, 4).sin(), EPS),
    "causal_attention": lambda: (draw(6, 4, 8), draw(6, 2, 8), draw(6, 2, 8) + 1, 0.3),
    "sigmoid_gate": lambda: (draw(6, 8), draw(6, 8) * 2),
    "silu_mul": lambda: (draw(6, 8), draw(6, 8) * 2),
    "patch_embed": lambda: (draw(5, 3 * 2 * 4 * 4), draw(6, 3, 2, 4, 4), draw(6)),
    "add_positions": lambda: (draw(5, 8), draw(9, 8), torch.arange(20).view(5, 4) % 9, draw(5, 4)),
    "layer_norm": lambda: (draw(5, 8), draw(8), draw(8) + 1, EPS),
    "add_layer_norm": lambda: (draw(5, 8), draw(5, 8) * 2, draw(8), draw(8) + 1, EPS),
    "vision_rotary": lambda: (draw(5, 3 * 2 * 8), draw(5, 8).cos(), draw(5, 8).sin()),
    "packed_attention": lambda: (draw(2, 9, 8), draw(2, 9, 8) + 1, draw(2, 9, 8) * 2, 0.3, (4, 5)),
    "gelu_tanh": lambda: (draw(5, 8) * 3,),
    "gelu": lambda: (draw(5, 8) * 3,),
}  # fmt: skip


@pytest.mark.parametrize("op", CALLS)
def test_the_plain_op_in_fp32_is_near_the_op_in_fp64(op: str) -> None:
    args = CALLS[op]()
    found = getattr(PLAIN, op)(*args)
    for plain, true in zip((found,) if isinstance(found, Tensor) else found, TRUTH[op](*args), strict=True):
        assert true.dtype == torch.float64
        torch.testing.assert_close(plain.double(), true, rtol=1e-4, atol=1e-5)


def test_every_op_that_computes_has_a_truth_and_a_call_here() -> None:
    assert TRUTH.keys() == PARAMETERS.keys() == CALLS.keys() == set(Ops.names()) - {"all_finite"}


def test_parameters_are_exchanged_and_activations_are_not() -> None:
    residual, delta, weight, eps = CALLS["add_rms_norm"]()
    assert parameters("add_rms_norm", (residual, delta, weight, eps)) == (weight, eps)
    assert with_parameters("add_rms_norm", (residual, delta, weight, eps), ("w", "e")) == (residual, delta, "w", "e")


def test_table_of_twins_is_complete() -> None:
    assert {field.name for field in dataclasses.fields(Ops)} >= TRUTH.keys()
