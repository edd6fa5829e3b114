"""Final-norm rows between a tensor and the bytes that engines hand out and records keep.

Covers: both directions, in the model's own dtype, row by row. Does not cover: hashing or storing rows
(`kit.evidence.records`).
"""

from __future__ import annotations

import torch
from torch import Tensor


def row_bytes(rows: Tensor) -> bytes:
    """The memory of one row [H] or of rows [N, H], in the dtype they have, from any device."""
    return rows.contiguous().view(torch.uint8).cpu().numpy().tobytes()


def row_tensor(row: bytes, dtype: torch.dtype) -> Tensor:
    """One row [H] of `dtype` on the CPU, behind its bytes."""
    return torch.frombuffer(bytearray(row), dtype=dtype)
