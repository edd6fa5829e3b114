"""An order of sums is read from a product that follows it, and an unknown one is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kit.kernels.sum_order import (
    HUGE,
    LONGEST,
    Order,
    UnknownOrderError,
    contiguous,
    expected_meetings,
    interleaved,
    meetings,
    read,
)

Product = Callable[[Tensor, Tensor], Tensor]
INNER = 96


def following(order: Order) -> Product:
    """A product that adds as an order says, term by term in FP32."""

    def product(x: Tensor, down: Tensor) -> Tensor:
        numbers = torch.arange(x.shape[1])
        parts = [
            chain(x[:, mine], down[:, mine])
            for mine in (numbers // order.run % order.parts == part for part in range(order.parts))
        ]
        if not order.paired:
            return total(parts)
        half, last = (order.parts + 1) // 2, parts[-1]
        firsts, seconds = parts[:half], parts[half:-1]
        pairs = [a + b for a, b in zip(firsts, seconds, strict=False)] + firsts[len(seconds) :]
        return total([last, *pairs])

    return product


def chain(x: Tensor, down: Tensor) -> Tensor:
    return total([x[:, k, None] * down[None, :, k] for k in range(x.shape[1])])


def total(terms: list[Tensor]) -> Tensor:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def ask(product: Product, tokens: int, inner: int = INNER) -> Order:
    return read(product, torch.full((tokens, inner), torch.nan), torch.full((2, inner), torch.nan))


@pytest.mark.parametrize("tokens", [1, 3, 11, 40])
@pytest.mark.parametrize(
    "order",
    [
        contiguous(INNER, 8),
        contiguous(INNER, 16),
        contiguous(INNER, 40),
        contiguous(INNER, 96),
        interleaved(2),
        interleaved(5),
        interleaved(5, paired=True),
        interleaved(6, paired=True),
        interleaved(7, paired=True),
        interleaved(8, paired=True),
    ],
    ids=str,
)
def test_orders_are_read_from_products(order: Order, tokens: int) -> None:
    assert ask(following(order), tokens) == order


def test_every_length_of_contiguous_parts_is_told_from_every_other() -> None:
    seen = set()
    for run in range(8, 5121, 8):
        found = expected_meetings(contiguous(5120, run), 5120)
        assert len(found) == 639
        assert found[-1] == (5113 if run == 5120 else 5120)
        seen.add(tuple(found))
    assert len(seen) == 640


@pytest.mark.parametrize("inner", [5120, 6144, 17408])
def test_numbers_of_interleaved_parts_are_told_apart(inner: int) -> None:
    seen = [
        tuple(expected_meetings(interleaved(parts, kind), inner))
        for parts in range(4, 60)
        for kind in (False, True)
    ]
    assert len(set(seen)) == len(seen)


def test_meetings_are_the_terms_added_by_then() -> None:
    x, down = torch.zeros(2, 32), torch.zeros(1, 32)
    assert meetings(following(contiguous(32, 32)), x, down) == [9, 17, 25]
    assert meetings(following(contiguous(32, 16)), x, down) == [9, 32, 32]
    assert meetings(following(interleaved(2)), x, down) == [32, 9, 32]


def backwards(x: Tensor, down: Tensor) -> Tensor:
    return following(contiguous(INNER, 16))(x.flip(1), down.flip(1))


def tree(x: Tensor, down: Tensor) -> Tensor:
    parts = [chain(x[:, i : i + 8], down[:, i : i + 8]) for i in range(0, 64, 8)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def last_part_first(x: Tensor, down: Tensor) -> Tensor:
    parts = [chain(x[:, i : i + 32], down[:, i : i + 32]) for i in range(0, INNER, 32)]
    return total(parts[::-1])


def exactly(x: Tensor, down: Tensor) -> Tensor:
    """No order at all: nothing is lost in the huge number."""
    return (x.double() @ down.double().t()).float()


@pytest.mark.parametrize(
    ("product", "inner"), [(backwards, INNER), (tree, 64), (last_part_first, INNER), (exactly, INNER)]
)
def test_other_orders_are_refused(product: Product, inner: int) -> None:
    with pytest.raises(UnknownOrderError, match=f"{inner}"):
        ask(product, 5, inner)


@pytest.mark.parametrize("inner", [8, 20, LONGEST + 8])
def test_widths_that_cannot_be_read_are_refused_before_any_product(inner: int) -> None:
    with pytest.raises(UnknownOrderError, match="multiple of 8"):
        ask(lambda x, down: pytest.fail("a product was made"), 2, inner)


def test_the_huge_number_takes_up_every_count_of_ones() -> None:
    huge, count = torch.tensor([HUGE, float(LONGEST)])
    assert huge + count == huge
    assert huge - huge + count == LONGEST


def test_values_are_left_alone() -> None:
    x, down = torch.randn(3, 32), torch.randn(2, 32)
    copies = x.clone(), down.clone()
    read(following(contiguous(32, 16)), x, down)
    assert torch.equal(x, copies[0])
    assert torch.equal(down, copies[1])
