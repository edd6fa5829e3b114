"""What travels around a forward, on a CPU: values, shapes and order; that nothing waits is a GPU's test."""

from __future__ import annotations

import time

import pytest
import torch

from kit.engine.cuda_device import memory
from kit.engine.transfer import Stopwatch, host_rows, upload

CPU = torch.device("cpu")


class TestUpload:
    def test_lists_come_back_as_int64_in_order(self) -> None:
        found = upload([(5, 1, 248_319), [], [7]], CPU)
        assert [tensor.tolist() for tensor in found] == [[5, 1, 248_319], [], [7]]
        assert {tensor.dtype for tensor in found} == {torch.int64}

    def test_all_of_them_are_one_block(self) -> None:
        first, second = upload([range(4), range(3)], CPU)
        assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
        assert first.is_contiguous()
        assert second.is_contiguous()

    @pytest.mark.parametrize("lists", [[], [[]], [[], []]])
    def test_nothing_is_nothing(self, lists: list[list[int]]) -> None:
        assert [tensor.tolist() for tensor in upload(lists, CPU)] == lists

    def test_the_block_lives_as_long_as_a_part_of_it(self) -> None:
        part = upload([range(1000), range(1000)], CPU)[1]
        for _ in range(50):
            upload([range(1000)], CPU)
        assert part.tolist() == list(range(1000))


def test_rows_of_any_dtype() -> None:
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        rows = host_rows(3, 5, dtype, CPU)
        assert (rows.shape, rows.dtype) == ((3, 5), dtype)


def test_a_stopwatch_gives_the_time_between_marks() -> None:
    watch = Stopwatch(CPU)
    assert watch.milliseconds() == []
    time.sleep(0.02)
    watch.mark()
    watch.mark()
    slept, nothing = watch.milliseconds()
    assert slept >= 20 > nothing >= 0


def test_a_process_without_a_device_holds_no_memory_of_one() -> None:
    if torch.cuda.is_available():
        pytest.skip("this process has a device")
    assert memory() == {}
