"""A group of projections in few launches is the plain form bit for bit, or the plain form runs.

Which orders of sums are found on a CPU is up to its BLAS; on a GPU see tests/gpu/test_projections.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from kit.kernels import Projection
from kit.kernels.projections import project
from kit.kernels.proof import Proofs
from tests.kernels.inputs import poisoned, random, same_bits

pytest.importorskip("triton")

from kit.kernels import fused_projections as fused
from kit.kernels.branches import Line
from kit.kernels.fused_projections import FORMS, Form, FusedProjections, Plan, form_for
from kit.kernels.sum_order import Order, UnknownOrderError, contiguous, interleaved

CUBLAS = 0
ONE_LINE = Form(own=True)


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
        plan = Plan(order, (parts,) * sum(adapted), ONE_LINE)
        for ours, theirs in zip(
            poisoned(lambda: fused.run(x, members, plan)), project(x, members), strict=True
        ):
            assert ours.is_contiguous()
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-3)

    def test_without_our_products_it_is_the_plain_form_bit_for_bit(self) -> None:
        x, members = random(13, 24), group((40, 8, 8), 24, (True, True, True), scale=0.3)
        assert all_same(fused.run(x, members, Plan(None, (CUBLAS,) * 3, ONE_LINE)), project(x, members))


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
                if d["op"] == "project.expand" and d["key"].startswith(f"{tokens}x40 in ")
            ]
            assert [d["elements"] for d in tried] == [3 * tokens * 40]

    def test_every_product_has_one_decision(self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many ways were tried; again for no other group of the shape."""
        monkeypatch.setattr(fused, "read", lambda product, wide, down: contiguous(24, 8))
        monkeypatch.setattr(fused, "shrink", lambda x, downs, *rest: torch.stack([x @ d.t() for d in downs]))
        monkeypatch.setattr(fused, "expand", lambda low, up, parts: low @ up.t() + (parts != 2))
        op = FusedProjections(proofs)
        for widths in ((40, 8), (8, 16), (40,)):
            op(random(5, 24), group(widths, 24, (True,) * len(widths)))
        assert [(d["op"], d["key"]) for d in proofs.describe() if d["op"] != "project"] == [
            ("project.expand", "5x16 in 2 parts"),
            ("project.expand", "5x40 in 2 parts"),
            ("project.expand", "5x8 in 2 parts"),
            ("project.shrink", "5x24 in 3 parts by 8"),
        ]

    def test_where_no_way_out_of_the_rank_fits_it_says_so(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "expand", lambda low, up, parts: low @ up.t() + 1)
        x, members = random(5, 24), group((40,), 24, (True,))
        op = FusedProjections(proofs)
        (expand,) = [d for d in decided(op, proofs, x, members) if d["op"] == "project.expand"]
        assert (expand["key"], expand["choice"], expand["reason"]) == (
            "5x40 in no known way",
            "twin",
            "bits differ",
        )
        assert expand["different"] == expand["elements"] == 3 * 5 * 40
        assert all_same(op(x, members), project(x, members))

    def test_an_order_that_does_not_give_the_bits_is_not_used(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "read", lambda product, wide, down: contiguous(64, 24))
        monkeypatch.setattr(fused, "shrink", lambda x, downs, order: torch.zeros(len(downs), x.shape[0], 16))
        op, x, members = FusedProjections(proofs), random(5, 64), group((40,), 64, (True,))
        assert all_same(op(x, members), project(x, members))
        (shrink,) = [d for d in proofs.describe() if d["op"] == "project.shrink"]
        assert (shrink["choice"], shrink["reason"]) == ("twin", "bits differ")
        assert all_same(op(x, members), project(x, members))

    def test_where_no_order_is_known_it_says_so(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read(*arguments: object) -> Order:
            raise UnknownOrderError("K of 64 is added in none of the known ways")

        monkeypatch.setattr(fused, "read", read)
        op, x, members = FusedProjections(proofs), random(5, 64), group((40,), 64, (True,))
        (shrink,) = [d for d in decided(op, proofs, x, members) if d["op"] == "project.shrink"]
        assert (shrink["key"], shrink["choice"]) == ("5x64 in no known order", "twin")
        assert shrink["reason"] == "UnknownOrderError: K of 64 is added in none of the known ways"
        assert all_same(op(x, members), project(x, members))

    def test_an_order_is_read_only_where_the_form_is_ours(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "read", lambda *arguments: pytest.fail("an order was read"))
        op, members = FusedProjections(proofs, ((math.inf, Form(own=False)),)), group((40,), 64, (True,))
        for seed in range(2):
            x = random(5, 64, seed=seed)
            assert all_same(op(x, members), project(x, members))
        assert {d["op"] for d in proofs.describe()} == {"project", "project.expand"}

    def test_a_group_that_differs_as_a_whole_runs_plainly(
        self, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fused, "run", lambda x, members, plan, line=None: (project(x, members)[0] + 1,))
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


def decided(
    op: FusedProjections, proofs: Proofs, x: Tensor, members: Sequence[Projection]
) -> list[dict[str, Any]]:
    op(x, members)
    return proofs.describe()


class TestForms:
    def test_every_number_of_tokens_has_one(self) -> None:
        limits = [most for most, _ in FORMS]
        assert limits == sorted(set(limits))
        assert limits[-1] == math.inf
        for index, (most, form) in enumerate(FORMS):
            assert form_for(int(min(most, 1e6))) == form
            if index:
                assert form_for(int(limits[index - 1]) + 1) == form

    @pytest.mark.parametrize(
        "form", sorted({*(form for _, form in FORMS), Form(True, 3, 8), Form(False, 2, 40)})
    )
    @pytest.mark.parametrize("order", [None, contiguous(24, 8)], ids=str)
    @pytest.mark.parametrize("parts", [(CUBLAS, CUBLAS, CUBLAS), (1, CUBLAS, 4)])
    @pytest.mark.parametrize("widths", [(40, 8, 8), (8, 40, 8)])
    def test_what_runs_aside_waits_for_what_it_reads_and_is_waited_for(
        self,
        form: Form,
        order: Order | None,
        parts: tuple[int, ...],
        widths: Sequence[int],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        x, members, line = random(13, 24), group(widths, 24, (True, True, True)), Watched()
        for name in ("shrink", "combine"):
            monkeypatch.setattr(fused, name, line.noting(getattr(fused, name)))
        with line:
            outs = fused.run(x, members, Plan(order, parts, form), line)
        for ours, theirs in zip(outs, project(x, members), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-3)
        assert line.races == []
        assert line.used <= set(range(form.branches + 1))
        assert bool(line.used - {0}) == bool(form.branches)

    def test_the_watch_sees_what_is_not_waited_for(self) -> None:
        line, (x, y) = Watched(), (random(4, 4), torch.empty(4, 4))
        with line:
            with line.branch(1):
                torch.mm(x, x, out=y)
            torch.mm(y, x, out=torch.empty(4, 4))
            line.join()
            torch.mm(y, x, out=torch.empty(4, 4))
        assert line.races == [(1, 0)]


class Watched(Line, TorchDispatchMode):
    """Branches in name only: everything runs in one line, and who reads what without waiting is noted.

    Time is a count of calls a branch; a branch has seen the others up to its row of `seen`. races: (branch that
    wrote, branch that read).
    """

    def __init__(self) -> None:
        super().__init__()
        self.current, self.used = 0, {0}
        self.races: list[tuple[int, int]] = []
        self.seen: dict[int, dict[int, int]] = {0: {}}
        self.written: dict[int, tuple[int, int]] = {}
        self.kept: list[Tensor] = []  # no address is met twice

    @contextmanager
    def branch(self, number: int, after: Any = None) -> Iterator[None]:
        self.seen.setdefault(number, {})
        self.used.add(number)
        self._meet(number, after or {})
        previous, self.current = self.current, number
        yield
        self.current = previous

    def mark(self) -> dict[int, int]:
        return dict(self.seen[self.current])

    def join(self) -> None:
        for number in self.used:
            self._meet(0, self.seen[number])

    def noting(self, launch: Any) -> Any:
        """A launch of ours: it reads and writes what it is given."""

        def noted(first: Any, *rest: Any) -> Any:
            members = [] if isinstance(first, Tensor) else first
            read = [t for m in members for t in (m.out, m.low)] or [first]
            written = [m.out for m in members] or [rest[-1]]
            self._note(read, written)
            with torch.utils._python_dispatch._disable_current_modes():  # the interpreter copies inputs back
                return launch(first, *rest)

        return noted

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten.mm.out:
            self._note(args, [kwargs["out"]])
        elif func is torch.ops.aten.copy_.default:
            self._note(args[1:2], args[:1])
        return func(*args, **kwargs)

    def _meet(self, number: int, other: dict[int, int]) -> None:
        mine = self.seen[number]
        mine.update({branch: max(mine.get(branch, 0), time) for branch, time in other.items()})

    def _note(self, read: Sequence[Tensor], written: Sequence[Tensor]) -> None:
        mine = self.seen[self.current]
        for tensor in read:
            branch, time = self.written.get(tensor.untyped_storage().data_ptr(), (0, 0))
            if mine.get(branch, 0) < time:
                self.races.append((branch, self.current))
        mine[self.current] = mine.get(self.current, 0) + 1
        for tensor in written:
            self.written[tensor.untyped_storage().data_ptr()] = self.current, mine[self.current]
        self.kept += written
