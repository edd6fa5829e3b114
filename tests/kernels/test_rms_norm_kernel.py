"""RMSNorm kernels, interpreted in FP32: every bit of the formula with the sum in the order of torch on CUDA."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from kit.kernels.rms_norm_kernel import add_rms_norm, rms_norm
from kit.kernels.strict_kernel import lanes
from tests.kernels.cuda_order import inverse_rms
from tests.kernels.inputs import DEVICE, poisoned, random, same_bits

EPS = 1e-6
interpreted = pytest.mark.skipif(DEVICE.type == "cuda", reason="numpy's square root is not the device's")


def formula(x: Tensor, weight: Tensor) -> Tensor:
    inverse = torch.from_numpy(inverse_rms(x, lanes(len(x), x.shape[1]), EPS))[:, None]
    return (x * inverse) * (1.0 + weight)


@interpreted
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 17])
@pytest.mark.parametrize("width", [128, 132, 640, 2052])
class TestBits:
    def test_norm(self, rows: int, width: int) -> None:
        x, weight = random(rows, width) * 3, random(width, seed=1)
        assert same_bits(poisoned(lambda: rms_norm(x, weight, EPS)), formula(x, weight))

    def test_residual_and_norm(self, rows: int, width: int) -> None:
        a, b, weight = random(rows, width), random(rows, width, seed=1), random(width, seed=2)
        before = a.clone(), b.clone()
        total, normed = poisoned(lambda: add_rms_norm(a, b, weight, EPS))
        assert same_bits(total, before[0] + before[1])
        assert same_bits(normed, formula(total, weight))
        assert same_bits((a, b), before)


def test_more_axes_are_rows() -> None:
    x, weight = random(3, 2, 256), random(256, seed=1)
    assert same_bits(rms_norm(x, weight, EPS), rms_norm(x.view(6, 256), weight, EPS).view(3, 2, 256))


def test_zeros_stay_zeros() -> None:
    zeros = torch.zeros_like(random(2, 128))
    assert not any(part.any() for part in add_rms_norm(zeros, zeros, random(128), EPS))


def test_strided_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="rows must be contiguous"):
        rms_norm(random(4, 256)[:, ::2], random(128), EPS)
    with pytest.raises(ValueError, match="rows must be contiguous"):
        add_rms_norm(random(4, 128), random(128, 4).t(), random(128), EPS)
