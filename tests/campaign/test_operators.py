"""The operator comparison: every op covered, all bits equal, and a wrong op noticed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from kit import runtime
from kit.campaign import operator_checks
from kit.campaign.operator_trace import PoisonedAllocations, difference
from kit.campaign.operators import compare_operators
from kit.kernels import Ops, select
from kit.profile import Profile, load_profile


@pytest.fixture(scope="module")
def profile() -> Profile:
    profile = load_profile("params/cpu-tiny.toml")
    runtime.configure(profile)
    return profile


def test_every_op_is_compared_and_every_bit_is_equal(profile: Profile) -> None:
    report = compare_operators(profile)
    assert report["format"] == "kit-operators/1"
    assert (report["device"], report["dtype"]) == ("cpu", "bfloat16")
    assert report["ops"] == list(Ops.names())
    compared = {check["op"] for check in report["checks"]}
    assert compared == {*Ops.names(), "text_rotary", "vision_rotary_tables", "label_head"}
    assert [check for check in report["checks"] if check["different"] or check["nan"]] == []
    assert all(check["elements"] > 0 and check["max_abs"] == 0.0 for check in report["checks"])


def unwritten(x: Tensor) -> Tensor:
    """An op that forgets to fill its buffer."""
    return torch.empty_like(x)


WRONG: dict[str, Callable[..., Any]] = {
    "rms_norm": lambda x, w, eps: select("exact", "cpu").rms_norm(x, w, 1e-2),
    "project": lambda x, projections: tuple(x @ p.weight.t() for p in projections),
    "silu_mul": lambda gate, up: (torch.nn.functional.silu(gate.float()) * up).to(up.dtype),
    "gelu": unwritten,
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_op_is_noticed_and_only_it(
    profile: Profile, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    wrong = dataclasses.replace(select("exact", "cpu"), **{name: WRONG[name]})
    monkeypatch.setattr(operator_checks, "select", lambda numerics, device: wrong)
    report = compare_operators(profile, tokens=(65,), grid_lists=(((1, 4, 6),),))
    noticed = {check["op"] for check in report["checks"] if check["different"]}
    assert noticed == {name}
    assert any(check["nan"] for check in report["checks"]) == (name == "gelu")


def test_the_difference_is_counted_in_bits() -> None:
    a = torch.tensor([1.0, -0.0, torch.nan, 2.0])
    b = torch.tensor([1.0, 0.0, torch.nan, 2.5])
    found = difference("op", "against", [(a, b)])
    assert (found["elements"], found["different"], found["nan"], found["max_abs"]) == (4, 2, 1, 0.5)
    other_shape = difference("op", "against", [(a[:2], b)])
    assert other_shape["different"] == 4


def test_poisoned_buffers_hold_nan() -> None:
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        assert torch.empty(3).isnan().all()
        assert torch.empty_like(torch.ones(3)).isnan().all()
        assert torch.zeros(3).eq(0).all()
        assert torch.empty(3, dtype=torch.int64).shape == (3,)
