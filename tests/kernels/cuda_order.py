"""torch's CUDA reduction of an FP32 row, thread by thread, written from its description and in numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Row = NDArray[np.float32]


def sum_of_squares(row: Row, threads: int) -> np.float32:
    """The sum a block of so many threads finds for one row: each reads four neighbours, then the block's next."""
    own = np.zeros((threads, 4), np.float32)
    for start in range(0, len(row), 4):
        vector = row[start : start + 4]
        own[start // 4 % threads, : len(vector)] += vector * vector
    found = ((own[:, 0] + own[:, 1]) + own[:, 2]) + own[:, 3]
    offset = threads // 2
    while offset:  # through shared memory down to a warp, then by shuffles: the same pairs
        for thread in range(offset):
            found[thread] = found[thread] + found[thread + offset]
        offset //= 2
    return np.float32(found[0])


def inverse_rms(x: Tensor, threads: int, eps: float) -> Row:
    """x [rows, width] on the CPU -> 1 / rms of each row, every step rounded to FP32."""
    rows = x.numpy()
    share = np.float32(1) / np.float32(rows.shape[1])
    squares = np.array([sum_of_squares(row, threads) for row in rows], np.float32)
    return np.float32(1) / np.sqrt(squares * share + np.float32(eps))
