"""In which order a matrix product adds up its inner dimension, read from its results.

Covers: `Order`, the ways in which cuBLAS was seen to cut the inner dimension K of an FP32 product with few
columns, and `read`, which asks a product which of them it takes at a shape. It multiplies ones by ones, but for a
huge number at k = 0 and its negative at another k. Ones that meet the huge number on their own are lost in it, so
the result tells how many terms had been added by the time the two cancelled: the size of the smallest partial
sum that has both.
Does not cover: orders of another kind (`UnknownOrderError`), the order inside a run of eight, or parts but the first
from within: whoever follows an order proves it on the bits of ordinary numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

RUN = 8  # neighbouring k that cuBLAS's kernels never part
HUGE = 2.0**40  # its last place is 2**17, so nothing up to 2**16 changes it
LONGEST = 2**16


class UnknownOrderError(ValueError):
    """A product that adds in none of the ways of `Order`."""


class Order(NamedTuple):
    """How a long inner dimension K is summed. Every part is one chain of multiply-adds in k order.

    parts: how many. run: neighbouring k that a part takes at a time; runs go to the parts in turn. With runs of
    K / parts and more every part is a single one, the last perhaps shorter. paired: partial sums p and
    p + parts / 2 (rounded up) are added first, then the last part, on its own, takes up the pairs in order; else
    partial sums are added in order.
    """

    parts: int
    run: int
    paired: bool = False

    def __str__(self) -> str:
        return f"{self.parts} parts by {self.run}{', paired' if self.paired else ''}"


def contiguous(inner: int, run: int) -> Order:
    """Parts of `run` neighbouring k."""
    return Order(-(-inner // run), run)


def interleaved(parts: int, paired: bool = False) -> Order:
    """Runs of eight in turn."""
    return Order(parts, RUN, paired)


def read(product: Callable[[Tensor, Tensor], Tensor], x: Tensor, down: Tensor) -> Order:
    """The order of product(x [T, K], down [N, K]) -> [T, N], all FP32, at these shapes, strides and device.

    Values do not matter and stay as they are. Raises UnknownOrderError.
    """
    inner = x.shape[1]
    if inner % RUN or not RUN < inner <= LONGEST:
        raise UnknownOrderError(f"K is {inner}: expected a multiple of {RUN} up to {LONGEST}")
    found = meetings(product, x, down)
    for order in _candidates(found, inner):
        if found == expected_meetings(order, inner):
            return order
    raise UnknownOrderError(f"K of {inner} is added in none of the known ways")


def meetings(product: Callable[[Tensor, Tensor], Tensor], x: Tensor, down: Tensor) -> list[int]:
    """By run of eight but the first: the terms in the smallest sum that has k = 0 and the first k of that run."""
    tokens, inner = x.shape
    ones, found = torch.ones_like(down), []
    for start in range(1, inner // RUN, tokens):
        runs = torch.arange(start, min(start + tokens, inner // RUN), device=x.device)
        rows = torch.arange(len(runs), device=x.device)
        values = torch.ones_like(x)
        values[:, 0] = HUGE
        values[rows, runs * RUN] = -HUGE
        found += (inner - product(values, ones)[: len(runs), 0]).long().tolist()
    return found


def expected_meetings(order: Order, inner: int) -> list[int]:
    """What `meetings` finds where a product of inner dimension K follows an order."""
    runs = [(k // order.run % order.parts, k) for k in range(0, inner, RUN)]
    sizes = Counter[int]()
    places = []
    for part, _ in runs:
        places.append(sizes[part])
        sizes[part] += RUN
    joined = _joined([sizes[part] for part in range(order.parts)], order.paired)
    return [joined[part] if part else place + 1 for (part, _), place in zip(runs, places, strict=True)][1:]


def _joined(sizes: list[int], paired: bool) -> list[int]:
    """By part: the terms in the first sum that has it and part 0."""
    parts, half = len(sizes), (len(sizes) + 1) // 2
    if not paired:
        return [sum(sizes[: part + 1]) for part in range(parts)]
    joined, terms = [0] * parts, 0
    for part in range(half):
        pair = [p for p in (part, part + half) if p < parts - 1]
        terms += sum(sizes[p] for p in pair)
        for p in pair:
            joined[p] = terms
        if part == 0:
            terms += sizes[-1]
            joined[-1] = terms
    return joined


def _candidates(found: list[int], inner: int) -> list[Order]:
    """The orders that fit the first part, whose sums end on its single last term."""
    first = [number for number, terms in enumerate(found, 1) if terms % RUN == 1]
    if not first or first[0] == 1:
        return [contiguous(inner, RUN * (len(first) + 1))]
    return [interleaved(first[0]), interleaved(first[0], paired=True)]
