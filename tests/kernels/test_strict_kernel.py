"""How many threads torch gives a row, and which rows it sums in another way."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from kit.kernels.strict_kernel import lanes


@pytest.mark.parametrize(
    ("rows", "width", "threads"),
    [
        (1, 5120, 512),
        (2, 5120, 256),
        (3, 5120, 256),
        (4, 5120, 128),
        (7, 5120, 128),
        (8, 5120, 64),
        (15, 5120, 64),
        (16, 5120, 32),
        (2282, 5120, 32),
        (1, 2560, 512),
        (98, 2560, 32),
        (4, 256, 64),
        (12, 256, 64),
        (16, 256, 32),
        (1, 256, 64),
        (1, 128, 32),
        (48, 128, 32),
    ],
)
def test_threads_of_a_row(rows: int, width: int, threads: int) -> None:
    assert lanes(rows, width) == threads


@pytest.mark.parametrize("width", [1, 64, 124, 130])
def test_rows_read_one_value_at_a_time_are_refused(width: int) -> None:
    with pytest.raises(ValueError, match=f"rows are {width} wide, expected a multiple of 4 from 128"):
        lanes(16, width)


@pytest.mark.parametrize(("rows", "width"), [(1, 8192), (16, 8192), (8, 17408)])
def test_rows_shared_between_warps_are_refused(rows: int, width: int) -> None:
    with pytest.raises(ValueError, match="share a row between warps"):
        lanes(rows, width)
