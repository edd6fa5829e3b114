"""Query and key heads in one launch, interpreted in FP32: norm in CUDA's order, rotation, gate split."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")

from kit.kernels.query_key_kernel import query_key
from kit.kernels.strict_kernel import lanes
from tests.kernels.cuda_order import inverse_rms
from tests.kernels.inputs import DEVICE, poisoned, random, same_bits

EPS = 1e-6
interpreted = pytest.mark.skipif(DEVICE.type == "cuda", reason="numpy's square root is not the device's")


def formula(x: Tensor, weight: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [T, heads, D]; every product and sum rounded to FP32."""
    rows = x.flatten(0, 1).contiguous()
    inverse = torch.from_numpy(inverse_rms(rows, lanes(*rows.shape), EPS)).view(*x.shape[:2], 1)
    normed = (x * inverse) * (1.0 + weight)
    turned = cos.shape[1]
    front = normed[..., :turned]
    swapped = torch.cat((-front[..., turned // 2 :], front[..., : turned // 2]), -1)
    rotated = front * cos[:, None] + swapped * sin[:, None]
    return torch.cat((rotated, normed[..., turned:]), -1)


@interpreted
@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 17])
@pytest.mark.parametrize(
    ("heads", "keys", "width", "turned"), [(6, 1, 256, 64), (2, 2, 128, 128), (3, 1, 192, 48)]
)
def test_bits(tokens: int, heads: int, keys: int, width: int, turned: int) -> None:
    q_gate, k = random(tokens, heads * 2 * width), random(tokens, keys * width, seed=1)
    q_weight, k_weight = random(width, seed=2), random(width, seed=3)
    cos, sin = random(tokens, turned, seed=4), random(tokens, turned, seed=5)
    ours = poisoned(lambda: query_key(q_gate, k, q_weight, k_weight, cos, sin, EPS))
    parts = q_gate.view(tokens, heads, 2, width)
    assert same_bits(ours[0], formula(parts[:, :, 0], q_weight, cos, sin))
    assert same_bits(ours[1], formula(k.view(tokens, keys, width), k_weight, cos, sin))
    assert same_bits(ours[2], parts[:, :, 1].reshape(tokens, -1))
    assert all(part.is_contiguous() for part in ours)


def test_what_it_does_not_cover_is_refused() -> None:
    q_gate, k, weight, table = random(2, 512), random(2, 128), random(128), random(2, 64)
    with pytest.raises(ValueError, match="contiguous and of one dtype"):
        query_key(q_gate, random(128, 2).t(), weight, weight, table, table, EPS)
    with pytest.raises(ValueError, match="contiguous and of one dtype"):
        query_key(q_gate, k, weight, weight, table.double(), table, EPS)
    with pytest.raises(ValueError, match="640 wide with 64 turned"):
        query_key(random(2, 1280), random(2, 640), random(640), random(640), table, table, EPS)
