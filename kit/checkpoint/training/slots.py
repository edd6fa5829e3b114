"""Batches in memory that workers and the loop share, so that no pixel goes through a pipe.

Covers: `Slots`, a ring of equal places of one worker, arrays written into a place and seen there by the loop, and pinning
for copies to a device that do not wait. Does not cover: who may write when (`batches`, with a semaphore).
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Layout = dict[str, tuple[tuple[int, ...], str, int]]  # shape, dtype, offset in the place
ALIGN = 64


def layout_of(arrays: Arrays) -> tuple[Layout, int]:
    """Where each array lies in a place, and the bytes they take together."""
    layout: Layout = {}
    offset = 0
    for name, array in arrays.items():
        layout[name] = (array.shape, array.dtype.str, offset)
        offset += math.ceil(array.nbytes / ALIGN) * ALIGN
    return layout, offset


class Slots:
    """`count` places of `size` bytes. Made before the worker is forked; both sides then see the same memory."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self._memory = mmap.mmap(-1, count * size)

    def views(self, slot: int, layout: Layout) -> dict[str, NDArray[Any]]:
        """The arrays of a place, without a copy."""
        return {
            name: np.frombuffer(
                self._memory, dtype, count=math.prod(shape), offset=slot * self.size + offset
            ).reshape(shape)
            for name, (shape, dtype, offset) in layout.items()
        }

    def write(self, slot: int, layout: Layout, arrays: Arrays) -> None:
        """Copy arrays of the layout's shapes into a place. Raises ValueError for other names or shapes."""
        views = self.views(slot, layout)
        if set(views) != set(arrays):
            raise ValueError(f"arrays {sorted(arrays)} for a place laid out for {sorted(views)}")
        for name, view in views.items():
            if view.shape != arrays[name].shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, its place {view.shape}")
            view[...] = arrays[name]

    def whole(self) -> NDArray[np.uint8]:
        """All bytes, to pin."""
        return np.frombuffer(self._memory, dtype=np.uint8)
