"""The finite scan sees one bad number anywhere, and only bad ones."""

from __future__ import annotations

import math

import pytest
import torch

pytest.importorskip("triton")

from kit.kernels import finite
from kit.kernels.finite_kernel import BLOCK, PROGRAMS, all_finite
from tests.kernels.inputs import random


@pytest.mark.parametrize("scan", [finite.all_finite, all_finite], ids=["plain", "kernel"])
@pytest.mark.parametrize("elements", [1, 3, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK + 7])
def test_one_bad_number_anywhere(scan, elements: int) -> None:  # type: ignore[no-untyped-def]
    x = random(elements)
    assert scan(x).item() is True
    for place in {0, elements // 2, elements - 1}:
        for bad in (math.nan, math.inf, -math.inf):
            spoilt = x.clone()
            spoilt[place] = bad
            assert scan(spoilt).item() is False


def test_the_largest_and_smallest_numbers_are_finite() -> None:
    limits = torch.finfo(torch.float32)
    extremes = torch.tensor([limits.max, limits.min, limits.tiny, 1e-45, 0.0, -0.0]).to(random(1))
    assert all_finite(extremes).item() is True


def test_nothing_outside_a_view_counts() -> None:
    x = random(6, 8)
    x[:, 5] = math.nan
    assert all_finite(x[:, :5]).item() is True
    assert all_finite(x[:, 3:6]).item() is False


def test_any_shape_gives_one_flag() -> None:
    assert all_finite(random(2, 3, 4)).shape == all_finite(random(0, 4)).shape == ()
    assert all_finite(random(0, 4)).item() is True
    assert PROGRAMS * BLOCK < 2**31
