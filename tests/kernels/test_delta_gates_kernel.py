"""The gates' kernel, interpreted in FP32, over the range where softplus bends and where it is linear."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")

from kit.kernels.delta_gates_kernel import delta_gates
from tests.kernels.inputs import poisoned, random


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 63, 98])
@pytest.mark.parametrize("heads", [3, 48])
def test_formula(tokens: int, heads: int) -> None:
    a, b = random(tokens, heads) * 15, random(tokens, heads, seed=1) * 4
    a_log, dt_bias = random(heads, seed=2), random(heads, seed=3)
    g, beta = poisoned(lambda: delta_gates(a, b, a_log, dt_bias))
    softplus = torch.nn.functional.softplus(a.double() + dt_bias.double())
    assert torch.allclose(g.double(), -a_log.double().exp() * softplus, rtol=1e-6, atol=3e-6)
    assert (beta.double() - b.double().sigmoid()).abs().max() < 2e-7


def test_softplus_is_the_identity_above_twenty_only() -> None:
    a = torch.tensor([[20.0, 20.000002, 60.0]], device=random(1).device)
    zero = torch.zeros_like(a[0])
    g, _ = delta_gates(a, a, zero, zero)
    assert g[0, 1:].tolist() == [-20.000001907348633, -60.0]


def test_the_decay_is_fp32_and_the_rate_has_the_dtype_of_b() -> None:
    a, b = random(3, 4).half(), random(3, 4).half()
    g, beta = delta_gates(a, b, random(4), random(4))
    assert (g.dtype, beta.dtype) == (torch.float32, torch.float16)


def test_strided_gates_are_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        delta_gates(random(4, 3).t(), random(3, 4), random(4), random(4))
