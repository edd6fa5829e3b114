"""The operator comparison: every op covered, all bits equal, and a wrong op noticed."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.campaign import operator_checks, operator_tables
from kit.campaign.integrity import OPERATOR_MISSES
from kit.campaign.operator_trace import difference
from kit.campaign.operator_trial import changed, surrounded, with_gaps
from kit.campaign.operators import BESIDES, compare_with
from kit.engine.reference import ReferenceEngine
from kit.kernels import Ops
from kit.kernels.proof import PoisonedAllocations
from kit.kernels.table import PLAIN
from kit.profile import Profile


@pytest.fixture(scope="module")
def report(official: ReferenceEngine, profile: Profile) -> dict[str, Any]:
    return compare_with(official, profile)


def test_every_op_is_compared_and_every_bit_is_equal(report: dict[str, Any]) -> None:
    assert report["format"] == "kit-operators/1"
    assert (report["device"], report["dtype"]) == ("cpu", "bfloat16")
    assert report["ops"] == list(Ops.names())
    compared = {check["op"] for check in report["checks"]}
    assert compared == {*Ops.names(), *BESIDES}
    assert [check for check in report["checks"] if any(check[name] for name in OPERATOR_MISSES)] == []
    assert all(check["elements"] > 0 for check in report["checks"])
    assert {(check["max_abs"], check["relative_l2"]) for check in report["checks"]} == {(0.0, 0.0)}


def test_every_op_is_repeated_and_what_runs_in_graphs_is_replayed(report: dict[str, Any]) -> None:
    assert {check["repeats"] for check in report["checks"]} == {3}
    tables = {"text_rotary", "vision_rotary_tables"}
    assert {check["op"] for check in report["checks"] if check["replays"] == 0} == tables
    assert {check["replays"] for check in report["checks"] if check["op"] not in tables} == {3}
    assert not any("replay_error" in check for check in report["checks"])


def test_the_sizes_of_the_earlier_engine_are_among_them(report: dict[str, Any]) -> None:
    def shapes(op: str, variant: str) -> set[int]:
        checks = (c for c in report["checks"] if (c["op"], c["variant"]) == (op, variant))
        return {int(check["shape"][1:].split(",")[0]) for check in checks}

    for op in ("delta_rule", "causal_attention"):
        assert {63, 278, 475} <= shapes(op, "recorded") & shapes(op, "strided v")
    assert {1, 278} <= shapes("rms_norm", "recorded")
    assert {256, 512} <= shapes("packed_attention", "strided v")
    assert 256 in shapes("patch_embed", "recorded")


def test_totals_are_the_sums(report: dict[str, Any]) -> None:
    assert report["totals"]["checks"] == len(report["checks"])
    assert report["totals"]["elements"] == sum(check["elements"] for check in report["checks"]) > 1e6
    assert {report["totals"][name] for name in OPERATOR_MISSES} == {0}


def test_a_cpu_has_no_kernels_to_prove(report: dict[str, Any]) -> None:
    assert report["proofs"] == []


def unwritten(x: Tensor) -> Tensor:
    """An op that forgets to fill its buffer."""
    return torch.empty_like(x)


def beyond_its_input(gate: Tensor, up: Tensor) -> Tensor:
    """Reads what lies behind the input. Only where that is NaN can anyone tell: in the surroundings of a graph."""
    whole = gate.untyped_storage().nbytes() // gate.element_size()
    behind = min(gate.storage_offset() + gate.numel(), whole - 1)
    stray = gate.as_strided((1,), (1,), behind)
    return PLAIN.silu_mul(gate, up) + torch.where(stray.isnan(), stray, torch.zeros_like(stray))


WRONG: dict[str, Callable[..., Any]] = {
    "rms_norm": lambda x, w, eps: PLAIN.rms_norm(x, w, 1e-2),
    "project": lambda x, projections: tuple(x @ p.weight.t() for p in projections),
    "silu_mul": lambda gate, up: (torch.nn.functional.silu(gate.float()) * up).to(up.dtype),
    "all_finite": lambda x: torch.isfinite(x).any(),
    "gelu": unwritten,
}


def checks_with(
    official: ReferenceEngine, profile: Profile, monkeypatch: pytest.MonkeyPatch, **wrong: Callable[..., Any]
) -> list[dict[str, Any]]:
    """A short comparison with some ops of the table replaced."""
    table = dataclasses.replace(PLAIN, **wrong)
    monkeypatch.setattr(operator_checks, "select", lambda numerics, device: table)
    checks: list[dict[str, Any]] = compare_with(official, profile, (65,), (((1, 4, 6),),))["checks"]
    return checks


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_op_is_noticed_and_only_it(
    official: ReferenceEngine, profile: Profile, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    checks = checks_with(official, profile, monkeypatch, **{name: WRONG[name]})
    assert {check["op"] for check in checks if check["different"]} == {name}
    assert {check["op"] for check in checks if any(check[miss] for miss in OPERATOR_MISSES)} == {name}
    assert any(check["nan"] for check in checks) == (name == "gelu")


def test_an_op_that_is_not_the_same_twice_is_noticed(
    official: ReferenceEngine, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()
    checks = checks_with(official, profile, monkeypatch, gelu=lambda x: PLAIN.gelu(x) + next(calls) // 3)
    (noticed,) = (check for check in checks if any(check[miss] for miss in OPERATOR_MISSES))
    assert (noticed["op"], noticed["different"]) == ("gelu", 0)
    assert noticed["repeats_different"] > 0


def test_an_op_that_remembers_its_first_input_is_noticed_on_other_inputs(
    official: ReferenceEngine, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[torch.Size, Tensor] = {}
    remembers = lambda x: seen.setdefault(x.shape, PLAIN.gelu(x)).clone()  # noqa: E731
    checks = checks_with(official, profile, monkeypatch, gelu=remembers)
    (noticed,) = (check for check in checks if any(check[miss] for miss in OPERATOR_MISSES))
    assert (noticed["op"], noticed["different"], noticed["repeats_different"]) == ("gelu", 0, 0)
    assert noticed["changed_different"] > 0


def test_an_op_that_reads_outside_its_input_is_noticed_in_the_graph(
    official: ReferenceEngine, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = checks_with(official, profile, monkeypatch, silu_mul=beyond_its_input)
    noticed = [check for check in checks if any(check[miss] for miss in OPERATOR_MISSES)]
    assert {check["op"] for check in noticed} == {"silu_mul"}
    assert all(check["replay_different"] > 0 == check["different"] for check in noticed)


def test_an_op_that_cannot_be_captured_is_noticed_with_the_reason(
    official: ReferenceEngine, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks_the_host = lambda x: PLAIN.gelu(x) * float(x.isfinite().all())  # noqa: E731
    checks = checks_with(official, profile, monkeypatch, gelu=asks_the_host)
    (noticed,) = (check for check in checks if any(check[miss] for miss in OPERATOR_MISSES))
    assert (noticed["op"], noticed["replays"]) == ("gelu", 0)
    assert noticed["replay_different"] == noticed["elements"]
    assert "host" in noticed["replay_error"]


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


def test_the_relative_difference_is_of_the_expected_norm() -> None:
    ours, theirs = torch.tensor([3.0, 4.0]), torch.tensor([3.0, 3.0])
    assert difference("op", "against", [(ours, theirs)])["relative_l2"] == pytest.approx(1 / math.sqrt(18))
    assert difference("op", "against", [(ours, 0 * theirs)])["relative_l2"] == 5.0
    assert difference("op", "against", [(theirs, theirs)])["relative_l2"] == 0.0


@pytest.mark.parametrize("shape", [(1, 1), (1, 8), (5, 8), (4, 3, 6)])
@pytest.mark.parametrize("turned", [False, True])
def test_changed_inputs_keep_range_and_strides(shape: tuple[int, ...], turned: bool) -> None:
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    x = x.transpose(0, -1) if turned else x
    other = changed(x)
    assert (other.shape, other.stride()) == (x.shape, x.stride())
    assert torch.equal(other.flatten().sort()[0], x.flatten().sort()[0])
    assert x.numel() == 1 or not torch.equal(other, x)


def test_indices_and_flags_are_not_changed() -> None:
    corners = torch.arange(8).view(2, 4)
    assert changed(corners) is corners
    assert torch.equal(surrounded(corners), corners)


def test_surroundings_are_nan_up_to_the_first_and_from_the_last_element() -> None:
    x = torch.arange(12.0).view(3, 4)[:, :3]
    copy = surrounded(x)
    assert torch.equal(copy, x)
    assert copy.stride() == x.stride()
    memory = copy.as_strided((copy.untyped_storage().nbytes() // 4,), (1,), 0)
    assert int(memory.isnan().sum()) == memory.numel() - x.numel()
    assert memory[: copy.storage_offset()].isnan().all()
    assert copy.data_ptr() % 64 == 0


def test_gaps_hold_nan() -> None:
    x = torch.randn(3, 2, 4)
    wide = with_gaps(x)
    assert torch.equal(wide, x)
    assert wide.stride() == (16, 8, 1)
    assert wide.as_strided((3, 2, 8), (16, 8, 1))[..., 4:].isnan().all()


class TestTables:
    def test_by_op(self, report: dict[str, Any]) -> None:
        table = operator_tables.by_op(report)
        assert set(table.index) == {*Ops.names(), *BESIDES}
        assert table["elements"].sum() == report["totals"]["elements"]
        assert table[list(OPERATOR_MISSES)].to_numpy().sum() == 0

    def test_the_named_sizes_in_each_layout(self, report: dict[str, Any]) -> None:
        table = operator_tables.named_sizes(report)
        sizes = table["shape"].str.extract(r"(\d+)")[0].astype(int).groupby(level=0).apply(set).to_dict()
        assert sizes == {op: set(rows) for op, rows in operator_tables.NAMED_SIZES.items()}
        assert len(table) == 2 * (3 + 3 + 2) + 2 + 1

    def test_what_guards_chose(self, report: dict[str, Any]) -> None:
        assert operator_tables.decisions(report).empty
        proofs = [
            {"op": "rms_norm", "key": str(n), "choice": choice, "elements": 10}
            for n, choice in enumerate(("kernel", "kernel", "twin"))
        ]
        table = operator_tables.decisions({"proofs": proofs})
        assert table.loc["rms_norm"].to_dict() == {"kernel": 2, "twin": 1, "elements": 30}
