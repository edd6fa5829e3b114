"""The profile of most tests on a GPU; its reference (`official`) is the one of tests/conftest.py.

These tests want a GPU of their own: they weigh graphs by the device's memory, which other processes move. A test that
fails while it moved has words about that in its report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

import pytest

from kit import runtime
from kit.profile import Profile, load_profile
from tests.gpu import neighbours

OUTSIDE = pytest.StashKey[int | None]()


@pytest.fixture(scope="module")
def profile() -> Profile:
    """cpu-tiny's checkpoint on the GPU, its process settings in force."""
    tiny = load_profile("params/cpu-tiny.toml")
    profile = dataclasses.replace(tiny, runtime=dataclasses.replace(tiny.runtime, device="cuda"))
    runtime.configure(profile)
    return profile


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    item.stash[OUTSIDE] = neighbours.outside()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call":
        told = neighbours.words(item.stash.get(OUTSIDE, None), neighbours.outside()) if report.failed else ""
        report.sections += [("The GPU", told)] if told else []
    return report
