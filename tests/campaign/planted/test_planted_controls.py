"""Harmless changes that need no server: no gate of any tier sees one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.campaign.planted.command import Chosen
from kit.campaign.planted.controls import CONTROLS, Control
from kit.campaign.planted.document import control_row
from kit.campaign.planted.trials import Bench
from kit.profile import Profile
from tests.campaign.planted.bench import opened

LONG = ("products-in-fp64", "attention-in-fp32")  # like two others here, and only the whole command runs all
HERE = [control for control in CONTROLS if not control.processes and control.name not in LONG]


@pytest.fixture(scope="module")
def bench(profile: Profile) -> Iterator[Bench]:
    with opened(profile, Chosen([], HERE, True)) as bench:
        yield bench


@pytest.mark.parametrize("control", HERE, ids=[control.name for control in HERE])
def test_it_is_not_seen(bench: Bench, control: Control) -> None:
    trial = bench.control(control)
    row = control_row(control, trial)
    assert row["alarms"] == []
    assert all(row["columns"][name]["of"] for name in ("bitwise", "steps", "gates", "lattice", "answers"))
    if control.rounding:
        assert row["columns"]["bitwise"]["count"], "a change of rounding that moves no bit shows nothing"
        assert row["columns"]["ops"]["of"]
