"""A kernel stands in for its twin at a shape where every bit agreed, on the caller's inputs and on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from kit.kernels import proof
from kit.kernels.proof import PoisonedAllocations, Proofs, compare, describe_signature, fresh_like, noise_like
from tests.kernels.inputs import random, same_bits


def twin(x: Tensor) -> Tensor:
    return x * 2


class Counted:
    """A kernel that says how often it ran."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


def guarded(kernel: Callable[..., Any]) -> tuple[Proofs, Callable[..., Any], Counted]:
    proofs, counted = Proofs(), Counted(kernel)
    return proofs, proofs.guard("double", twin, counted), counted


class TestGuard:
    def test_equal_bits_are_used_from_the_second_call_on(self) -> None:
        proofs, op, kernel = guarded(lambda x: x + x)
        x = random(3, 4)
        assert same_bits(op(x), twin(x))
        assert kernel.calls == 2  # on the caller's input and on noise
        assert same_bits(op(x + 1), twin(x + 1))
        assert kernel.calls == 3
        assert proofs.describe() == [
            {"op": "double", "key": "3x4", "choice": "kernel", "elements": 24, "different": 0, "reason": ""}
        ]

    def test_every_shape_stride_and_dtype_is_proved_on_its_own(self) -> None:
        proofs, op, _ = guarded(lambda x: x + x)
        for x in (random(3, 4), random(4, 3), random(3, 4).t(), random(4, 3).double(), random(3, 4)):
            op(x)
        assert [decision["key"] for decision in proofs.describe()] == ["3x4", "4x3", "4x3", "4x3@1,4"]

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda x: x * 2.0000002,
            lambda x: (x * 2).double(),
            lambda x: (x * 2)[:-1],
            lambda x: torch.where(x == 0, -0.0, x * 2),
        ],
        ids=["last bit", "dtype", "shape", "sign of zero"],
    )
    def test_other_bits_leave_the_twin(self, wrong: Callable[[Tensor], Tensor]) -> None:
        proofs, op, kernel = guarded(wrong)
        x = torch.cat((random(3, 4), torch.zeros(1, 4).to(random(1).device)))
        op(x)
        proved = kernel.calls
        assert same_bits(op(x), twin(x))
        assert kernel.calls == proved
        (decision,) = proofs.describe()
        assert (decision["choice"], decision["reason"]) == ("twin", "bits differ")
        assert decision["different"] > 0

    def test_a_kernel_right_on_these_inputs_alone_is_not_used(self) -> None:
        x = random(3, 4).abs()
        proofs, op, _ = guarded(lambda x: x.abs() * 2)
        op(x - x.mean())  # noise keeps mean and deviation, so it has both signs
        assert proofs.describe()[0]["choice"] == "twin"

    def test_an_element_that_is_never_written_shows(self) -> None:
        """Memory of a freed twin's result would hold the right bits."""

        def lazy(x: Tensor) -> Tensor:
            out = torch.empty_like(x)
            out[:-1] = x[:-1] * 2
            return out

        proofs, op, _ = guarded(lazy)
        op(random(3, 4))
        assert proofs.describe()[0]["different"] == 8

    def test_a_kernel_that_fails_is_not_used_and_the_reason_is_kept(self) -> None:
        def failing(x: Tensor) -> Tensor:
            raise ValueError("rows are 3 wide\nand more")

        proofs, op, kernel = guarded(failing)
        x = random(3)
        assert same_bits(op(x), twin(x))
        assert same_bits(op(x), twin(x))
        assert kernel.calls == 1
        assert proofs.describe()[0]["reason"] == "ValueError: rows are 3 wide"

    def test_nothing_is_decided_while_a_graph_is_captured(self, monkeypatch: pytest.MonkeyPatch) -> None:
        proofs, op, kernel = guarded(lambda x: x + x)
        x = random(3)
        with monkeypatch.context() as capture:
            capture.setattr(proof, "capturing", lambda: True)
            assert same_bits(op(x), twin(x))
            assert (kernel.calls, proofs.describe()) == (0, [])
        op(x)
        monkeypatch.setattr(proof, "capturing", lambda: True)
        op(x)
        assert kernel.calls == 3

    def test_provenance_names_both_forms_and_the_source(self) -> None:
        proofs = Proofs()
        op = proofs.guard("bits", compare, noise_like)
        assert (op.runs, op.twin) == (noise_like, compare)  # type: ignore[attr-defined]
        (entry,) = proofs.provenance()
        assert (entry["op"], entry["kernel"]) == ("bits", "kit.kernels.proof.noise_like")
        assert entry["twin"] == "kit.kernels.proof.compare"
        assert len(entry["source_sha256"]) == 64


class TestHolds:
    def test_a_check_runs_once_and_counts(self) -> None:
        proofs, ran = Proofs(), []

        def check() -> tuple[int, int]:
            ran.append(1)
            return 5, 0

        assert proofs.holds("op", "key", check)
        assert proofs.holds("op", "key", check)
        assert ran == [1]

    @pytest.mark.parametrize("found", [(5, 1), (0, 0)], ids=["different", "nothing compared"])
    def test_difference_and_an_empty_comparison_refuse(self, found: tuple[int, int]) -> None:
        proofs = Proofs()
        assert not proofs.holds("op", "key", lambda: found)
        assert proofs.describe()[0]["choice"] == "twin"
        assert proofs.describe()[0]["reason"]

    @pytest.mark.parametrize("right", [0, 2])
    def test_the_first_of_several_ways_is_one_decision(self, right: int) -> None:
        proofs, ran = Proofs(), list[int]()

        def check(number: int) -> Callable[[], tuple[int, int]]:
            return lambda: (ran.append(number), (5, int(number != right)))[1]

        ways = {f"way {number}": check(number) for number in range(4)}
        assert proofs.first("op", ways, "no way") == f"way {right}"
        assert ran == list(range(right + 1))
        (decision,) = proofs.describe()
        assert (decision["key"], decision["choice"]) == (f"way {right}", "kernel")

    def test_of_several_ways_that_all_fail_the_first_is_reported(self) -> None:
        proofs = Proofs()
        assert proofs.first("op", {"a": lambda: (5, 3), "b": lambda: (5, 4)}, "no way") is None
        (decision,) = proofs.describe()
        assert (decision["key"], decision["choice"], decision["different"]) == ("no way", "twin", 3)


class TestComparison:
    def test_bits_not_values(self) -> None:
        nan = torch.tensor([float("nan"), 0.0])
        assert compare(nan, nan.clone()) == (2, 0)
        assert compare(nan, torch.tensor([float("nan"), -0.0])) == (2, 1)

    def test_another_number_of_tensors_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="zip"):
            compare((random(2), random(2)), (random(2),))


class TestFreshInputs:
    def test_layout_size_and_spread_are_kept_and_values_are_not(self) -> None:
        x = (random(40, 30) * 5 + 7).t()
        count, nested = torch.arange(3), (x, [x, 1e-6])
        (fresh, ids, (again, (thrice, eps))) = fresh_like((x, count, nested))
        assert (fresh.shape, fresh.stride(), fresh.dtype) == (x.shape, x.stride(), x.dtype)
        assert not torch.isclose(fresh, x).all()
        assert abs(float(fresh.mean()) - 7) < 1
        assert abs(float(fresh.std()) - 5) < 0.5
        assert (ids is count, again is fresh, thrice is fresh, eps) == (True, True, True, 1e-6)

    @pytest.mark.parametrize("value", [0.0, 3.0, float("nan"), float("inf")])
    def test_noise_is_finite_and_varies_whatever_it_is_like(self, value: float) -> None:
        noise = noise_like(torch.full((50,), value))
        assert noise.isfinite().all()
        assert noise.unique().numel() > 25

    def test_signatures_read_as_shapes(self) -> None:
        args = (random(98, 64), random(64, 98).t(), (random(3), None), 1e-06, torch.tensor(1.0))
        assert describe_signature(args) == "98x64 98x64@1,98 (3) 1e-06 scalar"


def test_poisoned_allocations_hold_nan() -> None:
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        made = (
            torch.empty(3),
            torch.empty_like(random(3)),
            random(3).new_empty(2),
            torch.empty(2, dtype=torch.int32),
        )
    assert all(x.isnan().all() for x in made[:3])
