"""The convolution's kernel, interpreted in FP32: taps in order, the three parts, repeated key heads."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("triton")

from kit.kernels import causal_conv as plain
from kit.kernels.causal_conv_kernel import causal_conv
from tests.kernels.inputs import poisoned, random

# key heads, key width, value heads, value width
HEADS = {
    "published": (1, 128, 3, 128),
    "narrow": (1, 16, 3, 24),
    "own keys": (2, 32, 2, 64),
    "odd": (1, 6, 2, 5),
}


@pytest.mark.parametrize("tokens", [1, 2, 3, 5, 17, 63])
@pytest.mark.parametrize("heads", list(HEADS.values()), ids=list(HEADS))
def test_parts_of_the_twin(tokens: int, heads: tuple[int, int, int, int]) -> None:
    keys, key_width, values, value_width = heads
    channels = 2 * keys * key_width + values * value_width
    x, weight = random(tokens, channels), random(channels, 1, 4, seed=1)
    ours = poisoned(lambda: causal_conv(x, weight, keys, key_width, values))
    theirs = plain.causal_conv(x, weight, keys, key_width, values)
    assert [part.shape for part in ours] == [part.shape for part in theirs]
    assert all(part.is_contiguous() for part in ours)
    assert max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True)) < 4e-6


@pytest.mark.filterwarnings("ignore:overflow")  # of exp, for sums of -1e8
def test_taps_are_added_in_their_order() -> None:
    """1e8 + 1 - 1e8 - 1: each order of the four sums has another result."""
    x = random(4, 12).fill_(1)
    weight = torch.tensor([1e8, 1.0, -1e8, 3.0]).expand(12, 1, 4).contiguous().to(x.device)
    *_, v = causal_conv(x, weight, 1, 4, 1)
    sums = torch.tensor([3.0, -1e8, -1e8, 3.0])  # 3; -1e8 + 3; 1 - 1e8 + 3; 1e8 + 1 - 1e8 + 3
    assert torch.equal(v[:, 0, 0].cpu(), F.silu(sums))


def test_what_it_does_not_cover_is_refused() -> None:
    weight = random(12, 1, 4)
    with pytest.raises(ValueError, match="contiguous"):
        causal_conv(random(12, 5).t(), weight, 1, 4, 1)
    with pytest.raises(ValueError, match="one dtype"):
        causal_conv(random(5, 12), weight.double(), 1, 4, 1)
