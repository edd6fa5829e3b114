"""A group of projections in few launches is the plain form bit for bit, or the plain form runs.

Which orders of sums are found on a CPU is up to its BLAS; on a GPU see tests/gpu/test_projections.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from kit.kernels import Projection
from kit.kernels.projections import project
from kit.kernels.proof import Proofs
from tests.kernels.inputs import poisoned, random, same_bits

pytest.importorskip("triton")

from kit.kernels import fused_projections as fused
from kit.kernels.fused_projections import FusedProjections, Plan, likely_orders
from kit.kernels.sum_order import Order, UnknownOrderError, contiguous, interleaved

CUBLAS = 0


def group(
    widths: Sequence[int], inner: int, adapted: Sequence[bool], scale: float = 2.0
) -> tuple[Projection, ...]:
    members = []
    for i, (width, has_pair) in enumerate(zip(widths, adapted, strict=True)):
        pair = (random(16, inner, seed=30 + i), random(width, 16, seed=60 + i)) if has_pair else (None, None)
        members.append(Projection(random(width, inner, seed=i), *pair, scale))
    return tuple(members)


def all_same(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> bool:
    return all(same_bits(a, b) and a.is_contiguous() for a, b in zip(ours, theirs, strict=True))


class TestPlans:
    @pytest.mark.parametrize("adapted", [(True, True, True), (True, False, True), (False, False, True)])
    @pytest.mark.parametrize("order", [None, contiguous(24, 8), interleaved(2)], ids=str)
    @pytest.mark.parametrize("parts", [CUBLAS, 1, 4])
    def test_every_plan_gives_the_plain_forms_result(
        self, adapted: tuple[bool, ...], order: Order | None, parts: int
    ) -> None:
        """To rounding."""
        x, members = random(13, 24), group((40, 8, 8), 24, adapted)
        plan = Plan(order, (parts,) * sum(adapted))
        for ours, theirs in zip(
            poisoned(lambda: fused.run(x, members, plan)), project(x, members), strict=True
        ):
            assert ours.is_contiguous()
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-3)

    def test_without_our_products_it_is_the_plain_form_bit_for_bit(self) -> None:
        x, members = random(13, 24), group((40, 8, 8), 24, (True, True, True), scale=0.3)
        assert all_same(fused.run(x, members, Plan(None, (CUBLAS,) * 3)), project(x, members))


class TestDecisions:
    @pytest.fixture
    def proofs(self) -> Proofs:
        return Proofs()

    def test_the_first_result_is_the_plain_forms_and_later_ones_equal_it(self, proofs: Proofs) -> None:
        op, members = FusedProjections(proofs), group((40, 8), 24, (True, True))
        for seed in range(3):
            x = random(5, 24, seed=seed)
            assert all_same(op(x, members), project(x, members))

    def test_a_decision_is_made_once_a_shape_and_kept_with_what_it_rests_on(self, proofs: Proofs) -> None:
        op, members = FusedProjections(proofs), group((40, 8), 24, (True, False))
        for tokens, seed in ((5, 0), (5, 1), (6, 0)):
            op(random(tokens, 24, seed=seed), members)
        wholes = [d for d in proofs.describe() if d["op"] == "project"]
        assert [(d["key"], d["elements"]) for d in wholes] == [
            ("5x24 40+8", 2 * 5 * 48),
            ("6x24 40+8", 2 * 6 * 48),
        ]
        for tokens in (5, 6):
            tried = [
                d
                for d in proofs.describe()
                if d["op"] == "project.expand" and d["key"].startswith(f"{tokens}x40 in 1 part")
            ]
            assert [d["elements"] for d in tried] == [3 * tokens * 40]

    def test_orders_are_tried_until_one_fits(self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch) -> None:
        tried: list[Order] = []
        orders = [interleaved(2), contiguous(64, 24), contiguous(64, 16), contiguous(64, 8)]
        monkeypatch.setattr(fused, "_gives", lambda order, *rest: tried.append(order) or order == orders[2])
        monkeypatch.setattr(fused, "possible_orders", lambda *product: iter(orders))
        monkeypatch.setattr(proofs, "holds", lambda op, key, check: check()[0] == 3 * 5 * 16)
        x, (member,) = random(5, 64), group((40,), 64, (True,))
        assert FusedProjections(proofs)._shrink_order(x, x, member.down) == orders[2]
        assert tried == orders[:3]

    @pytest.mark.parametrize("shown", [True, False])
    def test_the_order_that_a_product_shows_is_tried_first(
        self, shown: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read(*arguments: object) -> Order:
            if shown:
                return contiguous(64, 24)
            raise UnknownOrderError

        monkeypatch.setattr(fused, "read", read)
        possible = list(fused.possible_orders(random(5, 64), random(16, 64)))
        likely = list(likely_orders(5, 64, 1))
        assert possible == ([contiguous(64, 24), *likely] if shown else likely)

    def test_an_order_that_fits_the_first_rows_alone_is_not_used(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "_gives", lambda *arguments: True)
        monkeypatch.setattr(fused, "shrink", lambda x, downs, order: torch.zeros(len(downs), x.shape[0], 16))
        op, x, members = FusedProjections(proofs), random(5, 64), group((40,), 64, (True,))
        assert all_same(op(x, members), project(x, members))
        (shrink,) = [d for d in proofs.describe() if d["op"] == "project.shrink"]
        assert (shrink["choice"], shrink["reason"]) == ("twin", "bits differ")
        assert all_same(op(x, members), project(x, members))

    def test_where_no_order_fits_it_says_so(self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fused, "possible_orders", lambda *product: iter(()))
        FusedProjections(proofs)(random(5, 64), group((40,), 64, (True,)))
        (shrink,) = [d for d in proofs.describe() if d["op"] == "project.shrink"]
        assert (shrink["key"], shrink["choice"]) == ("5x64 in no known order", "twin")

    def test_a_group_that_differs_as_a_whole_runs_plainly(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "run", lambda x, members, plan: (project(x, members)[0] + 1,))
        op, x, members = FusedProjections(proofs), random(5, 24), group((40,), 24, (True,))
        for _ in range(2):
            assert all_same(op(x, members), project(x, members))
        assert {d["choice"] for d in proofs.describe() if d["op"] == "project"} == {"twin"}

    @pytest.mark.parametrize(
        "case", ["rank 8", "no adapter", "five members", "strided x", "K = 20", "FP64 adapter"]
    )
    def test_what_the_kernels_do_not_cover_runs_plainly(self, proofs: Proofs, case: str) -> None:
        x, members = random(5, 24), group((40, 8), 24, (True, True))
        if case == "rank 8":
            members = tuple(p._replace(down=random(8, 24), up=random(p.weight.shape[0], 8)) for p in members)
        elif case == "no adapter":
            members = group((40, 8), 24, (False, False))
        elif case == "five members":
            members = (*members, *members, *members)[:5]
        elif case == "strided x":
            x = random(24, 5).t()
        elif case == "K = 20":
            x, members = random(5, 20), group((40, 8), 20, (True, True))
        else:
            x, members = x.double(), tuple(Projection(*(t.double() for t in p[:3]), 2.0) for p in members)
        assert all_same(FusedProjections(proofs)(x, members), project(x, members))
        assert proofs.describe() == []

    def test_kernels_are_named_for_the_evidence(self, proofs: Proofs) -> None:
        FusedProjections(proofs)
        named = {entry["op"]: entry for entry in proofs.provenance()}
        assert set(named) == {"project", "project.expand", "project.shrink"}
        assert named["project"]["kernel"] == "kit.kernels.projections_kernel.combine"
        assert all(len(entry["source_sha256"]) == 64 for entry in named.values())


@pytest.mark.parametrize(
    ("tokens", "inner", "order"),
    [
        (63, 17408, contiguous(17408, 160)),
        (98, 5120, contiguous(5120, 96)),
        (171, 6144, contiguous(6144, 160)),
        (278, 5120, contiguous(5120, 224)),
        (475, 2560, contiguous(2560, 96)),
        (278, 17408, interleaved(44, paired=True)),
        (392, 5120, interleaved(30, paired=True)),
        (475, 6144, interleaved(26, paired=True)),
        (1024, 2560, interleaved(16)),
        (1024, 17408, interleaved(33)),
        (2282, 5120, interleaved(14)),
    ],
    ids=str,
)
def test_orders_seen_on_a_device_of_132_multiprocessors_are_among_the_first(
    tokens: int, inner: int, order: Order
) -> None:
    """From the launch dimensions of cuBLAS 13.0's kernels, and sums that agree with them."""
    likely = list(likely_orders(tokens, inner, 132))
    assert len(set(likely)) == len(likely) < 25
    assert likely.index(order) < 8
