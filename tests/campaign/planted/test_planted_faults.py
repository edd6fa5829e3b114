"""Every fault at every dose on the few requests that can show it: bits see all, steps and oracle every fault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.campaign.planted.catalogue import FAULTS
from kit.campaign.planted.command import Chosen, choose
from kit.campaign.planted.controls import CONTROLS
from kit.campaign.planted.fault import Fault
from kit.campaign.planted.trials import Bench
from kit.profile import Profile
from tests.campaign.planted.bench import opened

BEYOND_FP64 = {("decimals", "12")}  # digits behind what a softmax in FP64 is compared to
STAGES = {  # where a bisection finds some of them
    "adapter-scaled-last": "layer.03.mixer",
    "gate-up-exchanged": "layer.00.mlp",
    "key-heads-in-turn": "layer.03.mixer",
    "gelu-erf-for-tanh": "vision.block.00.mlp",
    "gelu-tanh-for-erf": "vision.merger",
    "positions-not-aligned": "vision.positions",
    "images-swapped": "vision.patches",
    "mrope-blocked": "layer.03.mixer",
    "thinking": "embedding",
    "labels-off-by-one": "logits",
    "no-temperature": "behind the logits",
    "truncated": "the refusal",
}


@pytest.fixture(scope="module")
def chosen() -> Chosen:
    return Chosen(choose("cpu", quick=True).faults, [control for control in CONTROLS if control.name == "repeated"], True)


@pytest.fixture(scope="module")
def bench(profile: Profile, chosen: Chosen) -> Iterator[Bench]:
    with opened(profile, chosen) as bench:
        yield bench


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_it_is_seen_by_bits_and_by_the_oracle(bench: Bench, chosen: Chosen, fault: Fault) -> None:
    for label, dose in fault.doses:
        trial = bench.fault(fault, dose, chosen.asks(bench.stock, fault))
        assert trial.findings.tier("bits"), label
        assert trial.findings.tier("truth") is ((fault.name, label) not in BEYOND_FP64), label
        assert trial.stage == STAGES.get(fault.name, trial.stage)


def test_faults_leave_nothing_behind(bench: Bench, chosen: Chosen) -> None:
    """They share the reference's tensors, and a faultless engine still answers as the reference did."""
    (control,) = chosen.controls
    trial = bench.control(control)
    assert not any(column.seen for column in trial.findings.columns.values())
