"""Ops one by one against FP64: worse arithmetic shows, other arithmetic does not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kit.campaign.planted.local import Z_BOUND, Excess, Walk, excess, worst_op
from kit.engine import native
from kit.engine.native import NativeEngine
from kit.kernels.table import PLAIN
from kit.profile import Profile
from tests.engine.requests import images, text


def product(rows: int = 400) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    return tuple(torch.randn(shape, generator=generator).bfloat16() for shape in ((rows, 256), (256, 256)))  # type: ignore[return-value]


class TestExcess:
    def test_equal_results_have_none(self) -> None:
        x, w = product()
        plain = F.linear(x, w)
        assert excess(plain, plain.clone(), x.double() @ w.double().mT) == Excess(rows=len(x))
        assert Excess().score == 0

    def test_another_order_of_sums_is_within_chance(self) -> None:
        x, w = product()
        halves = (F.linear(x[:, :99].float(), w[:, :99].float()) + F.linear(x[:, 99:].float(), w[:, 99:].float())).bfloat16()
        plain = F.linear(x, w)
        assert not halves.equal(plain)
        assert abs(excess(halves, plain, x.double() @ w.double().mT).score) < Z_BOUND / 2

    def test_a_narrower_result_is_not(self) -> None:
        x, w = product()
        plain = F.linear(x, w)
        worse = (F.linear(x.float(), w.float()) * (1 + 2**-9)).bfloat16()
        assert excess(worse, plain, x.double() @ w.double().mT).score > Z_BOUND

    def test_a_better_one_is_never_held_against_it(self) -> None:
        x, w = product()
        true = x.double() @ w.double().mT
        assert excess(true.float(), F.linear(x, w), true).score < 0

    @pytest.mark.parametrize("value", [100.0, math.nan, math.inf])
    def test_one_row_far_off_is_enough(self, value: float) -> None:
        x, w = product()
        plain = F.linear(x, w)
        spoilt = plain.clone()
        spoilt[7, 3] += value
        assert excess(spoilt, plain, x.double() @ w.double().mT).score == math.inf

    def test_a_wrong_copy_is_seen_where_the_plain_form_only_copies(self) -> None:
        values = torch.arange(6.0).view(3, 2)
        assert excess(values + 2**-20, values, values.double()).score == math.inf

    def test_calls_add_up(self) -> None:
        """Evidence too weak in one call is strong in a hundred."""
        one = Excess(total=10.0, squares=100.0, rows=100)
        assert one.score < Z_BOUND < sum((one for _ in range(99)), one).score
        found = worst_op([[("gelu", one)] * 100])
        assert found is not None
        assert found.seen


@pytest.fixture(scope="module")
def engine(profile: Profile) -> Iterator[NativeEngine]:
    engine = native.load(profile)
    yield engine
    engine.close()


class TestWalk:
    def test_a_faultless_engine_has_no_excess(self, engine: NativeEngine) -> None:
        walk = Walk(engine, engine.prepare(images((64, 64))))
        found = walk.compare(engine)
        assert len(found) > 50
        assert not any(error.total or error.apart for _, error in found)

    def test_the_faulty_op_is_named_with_its_place(self, engine: NativeEngine, profile: Profile) -> None:
        walk = Walk(engine, engine.prepare(text(30)))
        faulty = NativeEngine(profile, dataclasses.replace(PLAIN, sigmoid_gate=lambda x, gate: x))
        found = worst_op([walk.compare(faulty)])
        assert found is not None
        assert (found.op, found.seen) == ("sigmoid_gate", True)

    def test_a_wrong_weight_is_an_error_of_the_op_that_used_it(self, engine: NativeEngine, profile: Profile) -> None:
        """Its own weight would be right by itself: it is held to that of the faultless engine."""
        walk = Walk(engine, engine.prepare(text(30)))
        faulty = native.load(profile)
        faulty.language.norm = faulty.language.norm * 1.01
        found = worst_op([walk.compare(faulty)])
        assert found is not None
        assert (found.op, found.seen) == ("add_rms_norm", True)

    def test_an_engine_that_leaves_a_call_out_is_seen(self, engine: NativeEngine, profile: Profile) -> None:
        walk = Walk(engine, engine.prepare(text(30)))
        faulty = native.load(profile)
        faulty.language.layers = faulty.language.layers[:-1]
        found = worst_op([walk.compare(faulty)])
        assert found is not None
        assert found.score == math.inf

    def test_no_walk_says_nothing(self) -> None:
        assert worst_op([]) is None
