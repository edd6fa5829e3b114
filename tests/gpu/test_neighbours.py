"""A test on a GPU that failed while other processes moved says so. Runs on a CPU too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from tests.gpu import conftest, neighbours
from tests.gpu.neighbours import outside, words

GIB = 1 << 30


@pytest.mark.parametrize("after", [3 * GIB, GIB])
def test_memory_that_moved_is_told(after: int) -> None:
    assert f"from 2048 to {after >> 20} MiB" in words(2 * GIB, after)


@pytest.mark.parametrize(("before", "after"), [(GIB, GIB + (1 << 20)), (None, GIB), (GIB, None)])
def test_what_did_not_move_or_is_not_known_is_not_told(before: int | None, after: int | None) -> None:
    assert words(before, after) == ""


def test_without_a_device_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert outside() is None


@pytest.mark.parametrize(("failed", "after", "sections"), [(True, 3 * GIB, 1), (True, GIB, 0), (False, 3 * GIB, 0)])
def test_a_failed_test_here_has_the_words_in_its_report(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, failed: bool, after: int, sections: int
) -> None:
    monkeypatch.setattr(neighbours, "outside", lambda: after)
    monkeypatch.setitem(request.node.stash, conftest.OUTSIDE, GIB)
    report: Any = SimpleNamespace(failed=failed, sections=[])
    hook = conftest.pytest_runtest_makereport(request.node, cast(Any, SimpleNamespace(when="call")))
    next(hook)
    with pytest.raises(StopIteration):
        hook.send(report)
    assert len(report.sections) == sections
