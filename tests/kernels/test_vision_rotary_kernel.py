"""The vision rotary kernel gives its twin's bits and strides, for heads that fill no power of two."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")

from kit.kernels import vision_rotary as plain
from kit.kernels.vision_rotary_kernel import vision_rotary
from tests.kernels.inputs import DEVICE, poisoned, random, same_bits


@pytest.mark.parametrize(
    ("patches", "heads", "width"), [(1, 1, 2), (5, 16, 72), (4, 16, 64), (9, 3, 18), (15, 2, 40)]
)
def test_bits_and_layout_of_the_twin(patches: int, heads: int, width: int) -> None:
    qkv, angle = random(patches, 3 * heads * width), 48 * random(patches, width // 2, seed=1)
    angle = torch.cat((angle, angle), -1)
    ours = poisoned(lambda: vision_rotary(qkv, angle.cos(), angle.sin()))
    theirs = plain.vision_rotary(qkv, angle.cos(), angle.sin())
    assert same_bits(ours, theirs)
    assert [x.stride() for x in ours] == [x.stride() for x in theirs]


def test_both_halves_take_their_own_angles() -> None:
    """The published tables repeat themselves, but the formula does not rely on it."""
    qkv = random(3, 3 * 2 * 6)
    cos, sin = random(3, 6, seed=1), random(3, 6, seed=2)
    assert same_bits(vision_rotary(qkv, cos, sin), plain.vision_rotary(qkv, cos, sin))


def test_the_value_is_a_view_of_the_projection() -> None:
    qkv = random(3, 3 * 2 * 6)
    *_, v = vision_rotary(qkv, random(3, 6), random(3, 6))
    qkv.zero_()
    assert not v.any()
    assert v.device.type == DEVICE.type
