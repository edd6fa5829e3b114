"""One launch finishes a group of projections: every element rounded as PEFT's three steps round it.

Bits in BF16, and whether the chain is cuBLAS's order, are the business of tests/gpu/test_projections.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kit.kernels import Projection
from kit.kernels.projections import project
from kit.kernels.proof import Proofs
from tests.kernels.inputs import DEVICE, poisoned, random, same_bits

pytest.importorskip("triton")

from kit.kernels import fused_projections as fused
from kit.kernels.projections_kernel import Member, Tile, chained, combine, tile_for

SMALL = Tile(8, 32, 1, 1)
FUSED = DEVICE.type == "cuda"  # the interpreter's FMA rounds the product as well


def chain(low: Tensor, up: Tensor) -> Tensor:
    """Multiply and add in k order. A product of two FP32 numbers is exact in FP64, so adding there and rounding
    once is an FMA (but for a double rounding, which these values do not meet)."""
    a, b = (x.to(torch.float64 if FUSED else torch.float32) for x in (low, up))
    total = torch.zeros(low.shape[0], up.shape[0], device=low.device)
    for k in range(low.shape[1]):
        total = (a[:, k, None] * b[None, :, k] + total).float()
    return total


def expected(base: Tensor, delta: Tensor, scale: float) -> Tensor:
    """Multiply, round, add, round."""
    return base + delta * scale


def framed(base: Tensor) -> tuple[Tensor, Tensor]:
    """A copy of `base` in the middle of a buffer of NaN, and the whole buffer."""
    whole = torch.full((base.shape[0] + 2, base.shape[1]), math.nan, device=DEVICE)
    return whole[1:-1].copy_(base), whole


@pytest.mark.parametrize("tokens", [1, 3, 7, 8, 9, 33])
@pytest.mark.parametrize("width", [1, 31, 32, 48, 77])
@pytest.mark.parametrize("scale", [2.0, 0.3, -1.0])
def test_chain_scale_and_add_are_rounded_one_by_one(tokens: int, width: int, scale: float) -> None:
    low, up, base = random(tokens, 16, seed=1), random(width, 16, seed=2), random(tokens, width, seed=3)
    out, whole = framed(base)
    combine([Member(out, low, up, scale)], SMALL)
    assert same_bits(out, expected(base, chain(low, up), scale))
    assert whole[0].isnan().all()
    assert whole[-1].isnan().all()


@pytest.mark.parametrize(
    "tile",
    [Tile(8, 16, 1, 1), Tile(8, 64, 3, 1), Tile(16, 32, 2, 1), tile_for(1), tile_for(98), tile_for(2282)],
)
def test_the_tile_changes_no_bit(tile: Tile) -> None:
    low, up, base = random(37, 16, seed=1), random(70, 16, seed=2), random(37, 70, seed=3)
    out = base.clone()
    combine([Member(out, low, up, 2.0)], tile)
    assert same_bits(out, expected(base, chain(low, up), 2.0))


@pytest.mark.parametrize("widths", [(40,), (33, 7), (64, 20, 20), (70, 33, 5, 5), (5, 5, 33, 70)])
@pytest.mark.parametrize("given", ["none", "first", "last", "all"])
def test_a_group_is_one_launch(widths: Sequence[int], given: str) -> None:
    """Members with a ready delta beside members whose delta is made here, each with its own scale."""
    tokens, members, wanted = 11, [], []
    for i, width in enumerate(widths):
        low, up, base = (
            random(tokens, 16, seed=i),
            random(width, 16, seed=10 + i),
            random(tokens, width, seed=20 + i),
        )
        delta, scale = chain(low, up), 0.7 + i
        ready = given == "all" or (given == "first" and i == 0) or (given == "last" and i == len(widths) - 1)
        out = base.clone()
        members.append(Member(out, delta, None, scale) if ready else Member(out, low, up, scale))
        wanted.append(expected(base, delta, scale))
    combine(members, SMALL)
    for member, want in zip(members, wanted, strict=True):
        assert same_bits(member.out, want)


def test_the_chain_alone_keeps_every_bit_and_its_sign() -> None:
    low, up = random(9, 16, seed=1), random(21, 16, seed=2)
    low[3] = 0.0
    up[5] = 0.0
    assert same_bits(chained(low, up), chain(low, up))


def test_what_is_not_finite_stays_in_its_row_and_column() -> None:
    low, up = random(9, 16, seed=1), random(21, 16, seed=2)
    low[3, 2], up[5, 7] = math.nan, math.inf
    with np.errstate(invalid="ignore"):  # the interpreter computes with numpy, which warns
        out = chained(low, up)
    clean = torch.ones_like(out, dtype=torch.bool)
    clean[3], clean[:, 5] = False, False
    assert out[3].isnan().all()
    assert not out[:, 5].isfinite().any()
    assert out[clean].isfinite().all()


def group(
    widths: Sequence[int], inner: int, adapted: Sequence[bool], scale: float = 2.0
) -> tuple[Projection, ...]:
    members = []
    for i, (width, has_pair) in enumerate(zip(widths, adapted, strict=True)):
        weight = random(width, inner, seed=i)
        pair = (random(16, inner, seed=30 + i), random(width, 16, seed=60 + i)) if has_pair else (None, None)
        members.append(Projection(weight, *pair, scale))
    return tuple(members)


class TestFusedProjections:
    @pytest.fixture
    def proofs(self) -> Proofs:
        return Proofs()

    @pytest.mark.parametrize("chains", [True, False])
    @pytest.mark.parametrize("adapted", [(True, True, True), (True, False, True), (False, False, True)])
    def test_either_way_a_group_gives_the_plain_forms_result(
        self, chains: bool, adapted: tuple[bool, ...]
    ) -> None:
        """To rounding: whether bits agree is up to the order of the BLAS, and found out at run time."""
        x, members = random(13, 24), group((40, 8, 8), 24, adapted)
        plan = [chains and has_pair for has_pair in adapted]
        for ours, theirs in zip(fused.run(x, members, plan, fused.Line()), project(x, members), strict=True):
            assert ours.is_contiguous()
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)

    def test_with_ready_deltas_it_is_the_plain_form_bit_for_bit(self) -> None:
        x, members = random(13, 24), group((40, 8, 8), 24, (True, True, True), scale=0.3)
        for ours, theirs in zip(
            fused.run(x, members, [False] * 3, fused.Line()), project(x, members), strict=True
        ):
            assert same_bits(ours, theirs)

    def test_the_first_result_is_the_plain_forms_and_later_ones_equal_it(self, proofs: Proofs) -> None:
        op, members = fused.FusedProjections(proofs), group((40, 8), 24, (True, True))
        for seed in range(3):
            x = random(5, 24, seed=seed)
            for ours, theirs in zip(poisoned(lambda x=x: op(x, members)), project(x, members), strict=True):
                assert same_bits(ours, theirs)

    def test_each_decision_is_kept_with_what_it_rests_on(self, proofs: Proofs) -> None:
        op = fused.FusedProjections(proofs)
        members = group((40, 8), 24, (True, False))
        op(random(5, 24), members)
        op(random(5, 24, seed=1), members)
        op(random(6, 24), members)
        described = {(d["op"], d["key"]): d for d in proofs.describe()}
        assert set(described) == {
            ("project", "5x24 40+8"), ("project", "6x24 40+8"),
            ("project.expand", "5x40"), ("project.expand", "6x40"),
        }  # fmt: skip
        assert described["project.expand", "5x40"]["elements"] == 3 * 5 * 40
        assert described["project", "5x24 40+8"]["elements"] == 2 * 5 * 48

    def test_a_chain_in_another_order_is_not_used(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def backwards(low: Tensor, up: Tensor) -> Tensor:
            return chain(low.flip(1), up.flip(1))

        monkeypatch.setattr(fused, "chained", backwards)
        used: list[Any] = []
        monkeypatch.setattr(fused, "combine", lambda members: used.append(members) or combine(members))
        op, x, members = fused.FusedProjections(proofs), random(5, 24), group((40,), 24, (True,))
        (expand,) = [d for _ in [op(x, members)] for d in proofs.describe() if d["op"] == "project.expand"]
        assert (expand["choice"], expand["reason"]) == ("twin", "bits differ")
        assert 0 < expand["different"] <= expand["elements"]
        used.clear()
        (out,) = op(x, members)
        assert [member.up for member in used[0]] == [None]
        assert same_bits(out, project(x, members)[0])

    def test_a_group_that_differs_as_a_whole_runs_plainly(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "run", lambda x, members, chains, line: (project(x, members)[0] + 1,))
        op, x, members = fused.FusedProjections(proofs), random(5, 24), group((40,), 24, (True,))
        for _ in range(2):
            assert same_bits(op(x, members)[0], project(x, members)[0])
        assert {d["choice"] for d in proofs.describe() if d["op"] == "project"} == {"twin"}

    @pytest.mark.parametrize("case", ["rank 8", "no adapter", "five members", "strided x"])
    def test_what_the_kernel_does_not_cover_runs_plainly(self, proofs: Proofs, case: str) -> None:
        x, members = random(5, 24), group((40, 8), 24, (True, True))
        if case == "rank 8":
            members = tuple(p._replace(down=random(8, 24), up=random(p.weight.shape[0], 8)) for p in members)
        elif case == "no adapter":
            members = group((40, 8), 24, (False, False))
        elif case == "five members":
            members = (*members, *members, *members)[:5]
        else:
            x = random(24, 5).t()
        for ours, theirs in zip(fused.FusedProjections(proofs)(x, members), project(x, members), strict=True):
            assert same_bits(ours, theirs)
        assert proofs.describe() == []
