"""The gated norm's kernel, interpreted in FP32, where its three roundings do nothing."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("triton")

from kit.kernels.gated_rms_norm_kernel import gated_rms_norm
from tests.kernels.inputs import poisoned, random

EPS = 1e-6


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 16, 63, 98, 129])
@pytest.mark.parametrize("width", [128, 256, 192])
def test_formula(rows: int, width: int) -> None:
    x, gate, weight = random(rows, width), random(rows, width, seed=1) * 3, random(width, seed=2)
    ours = poisoned(lambda: gated_rms_norm(x, gate, weight, EPS))
    wide = x.double()
    normed = wide / (wide.pow(2).mean(-1, keepdim=True) + EPS).sqrt()
    assert (ours.double() - normed * weight.double() * F.silu(gate.double())).abs().max() < 1e-5


def test_a_row_is_worth_the_same_alone_and_among_others() -> None:
    x, gate, weight = random(40, 128), random(40, 128, seed=1), random(128, seed=2)
    alone = [gated_rms_norm(x[i : i + 1], gate[i : i + 1], weight, EPS) for i in (0, 17, 39)]
    assert torch.equal(torch.cat(alone), gated_rms_norm(x, gate, weight, EPS)[[0, 17, 39]])


def test_what_it_does_not_cover_is_refused() -> None:
    x, weight = random(4, 128), random(128)
    with pytest.raises(ValueError, match="contiguous"):
        gated_rms_norm(x, random(128, 4).t(), weight, EPS)
    with pytest.raises(ValueError, match="at most 512 wide"):
        gated_rms_norm(random(4, 640), random(4, 640), random(640), EPS)
    with pytest.raises(ValueError, match="expected one dtype"):
        gated_rms_norm(x, x, weight.double(), EPS)
