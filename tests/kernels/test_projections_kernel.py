"""An adapter's two products in a chosen order of sums, then scale, add and rounding as PEFT's steps round them.

Where there is no GPU the interpreter multiplies matrices in an order of its own, so inputs are small fractions
of two where a product must be exact, and single numbers where an order must show. Bits in BF16, and whether an
order is cuBLAS's, are the business of tests/gpu/test_projections.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.kernels.inputs import DEVICE, poisoned, random, same_bits

pytest.importorskip("triton")

from kit.kernels.projections_kernel import Launch, Member, Tile, combine, expand, launch_for, shrink, tile_for
from kit.kernels.sum_order import RUN, Order, contiguous, interleaved

SMALL = Tile(16, 32, 1, 1)
ORDERS: dict[str, Callable[[int], Order]] = {  # of an inner dimension
    "one part": lambda inner: contiguous(inner, inner),
    "halves": lambda inner: contiguous(inner, RUN * -(-inner // RUN // 2)),
    "the last part short": lambda inner: contiguous(inner, RUN * (inner // RUN - 1)),
    "parts of 24": lambda inner: contiguous(inner, 24),
    "parts of 40": lambda inner: contiguous(inner, 40),
    "single runs": lambda inner: contiguous(inner, RUN),
    "4 in turn": lambda inner: interleaved(4),
    "7 in turn": lambda inner: interleaved(7),
    "2 in turn, paired": lambda inner: interleaved(2, paired=True),
    "4 in turn, paired": lambda inner: interleaved(4, paired=True),
    "9 in turn, paired": lambda inner: interleaved(9, paired=True),
}


def fractions(*shape: int, seed: int = 0) -> Tensor:
    """Multiples of 1/8 up to 2: sums of thousands of their products are exact in FP32, in any order."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(-16, 17, shape, generator=generator) / 8).to(DEVICE)


def framed(base: Tensor) -> tuple[Tensor, Tensor]:
    """A copy of `base` in the middle of a buffer of NaN, and the whole buffer."""
    whole = torch.full((base.shape[0] + 2, base.shape[1]), math.nan, device=DEVICE)
    return whole[1:-1].copy_(base), whole


def part_of(order: Order, inner: int) -> list[list[int]]:
    """The k of every part, as `Order` describes it."""
    return [[k for k in range(inner) if k // order.run % order.parts == p] for p in range(order.parts)]


def total_of(order: Order, partial: Sequence[Tensor]) -> Tensor:
    """Partial sums added as `Order` describes it."""
    if not order.paired:
        total = partial[0]
        for part in partial[1:]:
            total = total + part
        return total
    half, total = (order.parts + 1) // 2, partial[-1]
    for p in range(half):
        total = total + (partial[p] + partial[p + half] if p + half < order.parts - 1 else partial[p])
    return total


class TestShrink:
    @pytest.mark.parametrize("name", ORDERS)
    @pytest.mark.parametrize(("tokens", "inner"), [(1, 72), (5, 80), (33, 136), (70, 264)])
    @pytest.mark.parametrize("members", [1, 2, 3, 4])
    def test_every_term_counts_once(self, name: str, tokens: int, inner: int, members: int) -> None:
        order = ORDERS[name](inner)
        x, downs = fractions(tokens, inner), [fractions(16, inner, seed=1 + i) for i in range(members)]
        low = poisoned(lambda: shrink(x, downs, order))
        assert same_bits(low, torch.stack([x @ down.t() for down in downs]))

    @pytest.mark.parametrize("name", ORDERS)
    def test_parts_are_cut_and_added_in_the_order_named(self, name: str) -> None:
        """Of every part one k is not zero, so that partial sums are exact and only their order rounds."""
        inner = 40 * RUN
        order = ORDERS[name](inner)
        parts = part_of(order, inner)
        assert sorted(k for part in parts for k in part) == list(range(inner))
        places = [k[len(k) // 2] for k in parts]
        x, down = torch.zeros(6, inner, device=DEVICE), random(16, inner, seed=1)
        x[:, places] = random(6, len(places), seed=2)
        partial = [x[:, k, None] * down[None, :, k] for k in places]
        low = poisoned(lambda: shrink(x, [down], order))
        assert same_bits(low[0], total_of(order, partial))

    def test_rows_are_independent_of_each_other_and_of_the_tile(self) -> None:
        x, down, order = fractions(70, 80), fractions(16, 80, seed=1), contiguous(80, 32)
        for launch in (Launch(16, 32, 1, 1), Launch(128, 16, 4, 2), launch_for(98), launch_for(2282)):
            assert same_bits(shrink(x, [down], order, launch=launch), shrink(x, [down], order))
        spoilt = x.clone()
        spoilt[3, 5] = math.nan
        with np.errstate(invalid="ignore"):
            low = shrink(spoilt, [down], order)[0]
        assert low[3].isnan().all()
        assert low[:3].isfinite().all()
        assert low[4:].isfinite().all()

    @pytest.mark.parametrize("order", [contiguous(80, 80), contiguous(80, 32), interleaved(3)], ids=str)
    def test_the_result_is_written_where_it_is_asked_for(self, order: Order) -> None:
        x, downs, out = (
            fractions(5, 80),
            [fractions(16, 80, seed=1 + i) for i in range(2)],
            fractions(2, 5, 16),
        )
        low = shrink(x, downs, order, out)
        assert low.data_ptr() == out.data_ptr()
        assert same_bits(out, torch.stack([x @ down.t() for down in downs]))

    def test_several_runs_that_are_not_of_eight_are_refused(self) -> None:
        x, down = fractions(5, 80), fractions(16, 80)
        with pytest.raises(ValueError, match="2 parts by 16 of 80"):
            shrink(x, [down], Order(2, 16))


class TestExpand:
    @pytest.mark.parametrize("parts", [1, 2, 4])
    @pytest.mark.parametrize(("tokens", "width"), [(1, 1), (5, 48), (37, 70)])
    def test_it_is_the_product(self, parts: int, tokens: int, width: int) -> None:
        low, up = fractions(tokens, 16), fractions(width, 16, seed=1)
        assert same_bits(poisoned(lambda: expand(low, up, parts)), low @ up.t())

    @pytest.mark.parametrize("parts", [1, 2, 4])
    def test_parts_are_contiguous_and_added_in_order(self, parts: int) -> None:
        """One k of every part is not zero."""
        places = [16 // parts * p + 1 for p in range(parts)]
        low, up = torch.zeros(9, 16, device=DEVICE), random(21, 16, seed=1)
        low[:, places] = random(9, parts, seed=2)
        total = low[:, 1, None] * up[None, :, 1]
        for k in places[1:]:
            total = total + low[:, k, None] * up[None, :, k]
        assert same_bits(expand(low, up, parts), total)

    def test_what_is_not_finite_stays_in_its_row_and_column(self) -> None:
        low, up = random(9, 16, seed=1), random(21, 16, seed=2)
        low[3, 2], up[5, 7] = math.nan, math.inf
        with np.errstate(invalid="ignore"):  # the interpreter computes with numpy, which warns
            out = expand(low, up)
        clean = torch.ones_like(out, dtype=torch.bool)
        clean[3], clean[:, 5] = False, False
        assert out[3].isnan().all()
        assert not out[:, 5].isfinite().any()
        assert out[clean].isfinite().all()


class TestCombine:
    @pytest.mark.parametrize("tokens", [1, 7, 16, 33])
    @pytest.mark.parametrize("width", [1, 31, 32, 48, 77])
    @pytest.mark.parametrize("scale", [2.0, 0.3, -1.0])
    def test_multiply_and_add_are_rounded_on_their_own(self, tokens: int, width: int, scale: float) -> None:
        low, up, base = fractions(tokens, 16), fractions(width, 16, seed=1), random(tokens, width, seed=3)
        out, whole = framed(base)
        combine([Member(out, low, up, scale)], SMALL)
        delta = (low @ up.t()) * scale
        assert same_bits(out, base + delta)
        assert whole[0].isnan().all()
        assert whole[-1].isnan().all()

    @pytest.mark.parametrize(
        "tile", [Tile(16, 64, 3, 1), Tile(32, 32, 2, 1), tile_for(1), tile_for(98), tile_for(2282)]
    )
    def test_the_tile_changes_no_bit(self, tile: Tile) -> None:
        low, up, base = fractions(37, 16), fractions(70, 16, seed=1), random(37, 70, seed=3)
        out = base.clone()
        combine([Member(out, low, up, 0.3)], tile)
        assert same_bits(out, base + (low @ up.t()) * 0.3)

    @pytest.mark.parametrize("widths", [(40,), (33, 7), (64, 20, 20), (70, 33, 5, 5), (5, 5, 33, 70)])
    @pytest.mark.parametrize("forms", ["whole", "parts", "given", "mixed"])
    def test_a_group_is_one_launch(self, widths: Sequence[int], forms: str) -> None:
        """Members of every form side by side, each with a scale of its own."""
        tokens, members, wanted = 11, [], []
        for i, width in enumerate(widths):
            form = ("whole", "parts", "given", "parts")[i] if forms == "mixed" else forms
            low, up = fractions(tokens, 16, seed=i), fractions(width, 16, seed=10 + i)
            base, product, scale = random(tokens, width, seed=20 + i), low @ up.t(), 0.7 + i
            out = base.clone()
            given = form == "given"
            parts = 4 if form == "parts" else 1
            members.append(Member(out, product if given else low, None if given else up, scale, parts))
            wanted.append(base + product * scale)
        combine(members, SMALL)
        for member, want in zip(members, wanted, strict=True):
            assert same_bits(member.out, want)
