"""Rows as bytes and back, bit for bit."""

import pytest
import torch

from kit.engine.hidden_rows import row_bytes, row_tensor


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_row_comes_back_with_its_bits(dtype: torch.dtype) -> None:
    row = torch.tensor([1.5, -0.0, float("nan"), float("inf")], dtype=dtype)
    found = row_tensor(row_bytes(row), dtype)
    assert found.dtype == dtype
    assert torch.equal(found.view(torch.uint8), row.view(torch.uint8))


def test_bytes_are_the_values_in_order_whatever_the_layout() -> None:
    rows = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    assert row_bytes(rows.T) == row_bytes(torch.tensor([[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]))
