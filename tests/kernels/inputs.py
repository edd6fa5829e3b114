"""Random inputs, outputs on memory that held NaN, and equality of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from kit.kernels.proof import PoisonedAllocations, compare

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
T = TypeVar("T")


def random(*shape: int, seed: int = 0) -> Tensor:
    """FP32 noise, the same on every device."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def poisoned(function: Callable[[], T]) -> T:
    """Run it with every uninitialised buffer full of NaN."""
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        return function()


def same_bits(ours: Tensor | tuple[Tensor, ...], theirs: Tensor | tuple[Tensor, ...]) -> bool:
    """Shapes, dtypes and every bit; -0 is not 0."""
    elements, different = compare(ours, theirs)
    return elements > 0 and different == 0
