"""The fused residual add and LayerNorm: the sum has its twin's bits, the norm is the formula's.

On a CPU torch sums in another order than the kernel, which follows torch on CUDA: the norm is held to a
float64 formula here and to bits in tests/gpu.
"""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")

from kit.kernels import layer_norm as plain
from kit.kernels.layer_norm_kernel import add_layer_norm
from tests.kernels.inputs import poisoned, random, same_bits

EPS = 1e-6


@pytest.mark.parametrize(
    ("rows", "width"), [(1, 4), (3, 40), (2, 508), (2, 512), (3, 516), (2, 1024), (3, 1152)]
)
def test_sum_and_norm(rows: int, width: int) -> None:
    residual, delta = random(rows, width) + 3, random(rows, width, seed=1)
    weight, bias = random(width, seed=2), random(width, seed=3)
    total, normed = poisoned(lambda: add_layer_norm(residual, delta, weight, bias, EPS))
    assert same_bits(total, plain.add_layer_norm(residual, delta, weight, bias, EPS)[0])
    wide = total.double()
    variance = wide.var(-1, keepdim=True, unbiased=False)
    expected = (wide - wide.mean(-1, keepdim=True)) / (
        variance + EPS
    ).sqrt() * weight.double() + bias.double()
    assert (normed.double() - expected).abs().max() < 4e-6


def test_a_constant_row_is_its_bias() -> None:
    rows = torch.full_like(random(2, 64), 2.5)
    bias = random(64)
    assert same_bits(add_layer_norm(rows, rows, random(64), bias, EPS)[1], bias.expand(2, -1).contiguous())


def test_strided_inputs_and_no_input_is_written_to() -> None:
    residual, delta = random(64, 5).t(), random(5, 128, seed=1)[:, ::2]
    before = residual.clone(), delta.clone()
    total, _ = add_layer_norm(residual, delta, random(64), random(64), EPS)
    assert same_bits(total, before[0] + before[1])
    assert torch.equal(residual, before[0])
    assert torch.equal(delta, before[1])


def test_other_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="42 wide, expected a multiple of 4"):
        add_layer_norm(random(2, 42), random(2, 42), random(42), random(42), EPS)
