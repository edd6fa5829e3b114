"""The MLP's activation, interpreted in FP32."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from kit.kernels.silu_mul_kernel import silu_mul
from tests.kernels.inputs import poisoned, random


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 512), (1, 1025), (63, 98)])
def test_formula(shape: tuple[int, int]) -> None:
    a, b = random(*shape) * 3, random(*shape, seed=1) * 3
    ours = poisoned(lambda: silu_mul(a, b))
    expected = a.double() * a.double().sigmoid() * b.double()
    assert (ours.double() - expected).abs().max() < 4e-6


@pytest.mark.filterwarnings("ignore:overflow")  # of exp, which is what is tried
def test_the_ends_of_the_range() -> None:
    a = random(1, 4)
    a[0] = a.new_tensor([-200.0, -0.0, 200.0, 88.0])
    one = a * 0 + 1
    assert silu_mul(a, one).tolist() == [[-0.0, -0.0, 200.0, 88.0]]


def test_what_it_does_not_cover_is_refused() -> None:
    with pytest.raises(ValueError, match="gate and up must be contiguous and of one dtype"):
        silu_mul(random(4, 3).t(), random(3, 4))
    with pytest.raises(ValueError, match="gate and up must be contiguous and of one dtype"):
        silu_mul(random(3, 4), random(3, 4).double())
