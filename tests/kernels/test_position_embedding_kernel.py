"""The positions kernel gives its twin's bits, at widths that fill no block."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")

from kit.kernels import position_embedding
from kit.kernels.position_embedding_kernel import add_positions
from tests.kernels.inputs import DEVICE, poisoned, random, same_bits


@pytest.mark.parametrize(("patches", "width"), [(1, 4), (7, 40), (5, 512), (3, 513), (2, 1152)])
def test_bits_of_the_twin(patches: int, width: int) -> None:
    x, table = random(patches, width), random(25, width, seed=1)
    corners = torch.randint(0, 25, (patches, 4), generator=torch.Generator().manual_seed(2)).to(DEVICE)
    weights = random(patches, 4, seed=3)
    ours = poisoned(lambda: add_positions(x, table, corners, weights))
    assert same_bits(ours, position_embedding.add_positions(x, table, corners, weights))


def test_a_corner_without_weight_adds_nothing_not_even_a_sign() -> None:
    """Zero times a negative value is -0, and four of them are 0 in the twin, which starts from 0."""
    x, table = torch.full((1, 8), -0.0, device=DEVICE), -random(4, 8).abs()
    corners, weights = torch.arange(4, device=DEVICE)[None], torch.zeros(1, 4, device=DEVICE)
    ours = add_positions(x, table, corners, weights)
    assert same_bits(ours, torch.zeros_like(x))


def test_strided_inputs_are_read_as_they_are_meant() -> None:
    x, table = random(8, 5).t(), random(8, 25, seed=1).t()
    corners = torch.randint(0, 25, (4, 5), generator=torch.Generator().manual_seed(2)).to(DEVICE).t()
    weights = random(4, 5, seed=3).t()
    ours = add_positions(x, table, corners, weights)
    assert same_bits(ours, position_embedding.add_positions(x, table, corners, weights))
