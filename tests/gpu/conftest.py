"""The profile of most tests on a GPU; its reference (`official`) is the one of tests/conftest.py."""

from __future__ import annotations

import dataclasses

import pytest

from kit import runtime
from kit.profile import Profile, load_profile


@pytest.fixture(scope="module")
def profile() -> Profile:
    """cpu-tiny's checkpoint on the GPU, its process settings in force."""
    tiny = load_profile("params/cpu-tiny.toml")
    profile = dataclasses.replace(tiny, runtime=dataclasses.replace(tiny.runtime, device="cuda"))
    runtime.configure(profile)
    return profile
