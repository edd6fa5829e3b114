"""The two forwards of a request, run through the graph caches: static buffers, uploads, capture, replay.

Covers: the scratch that language forwards read from, the buffers each vision entry owns, what happens on a
miss (eager result first, then a recording whose first replay must equal it bit for bit), and failures that
fall back to eager and are logged. Uploads happen outside every recording. Image features are handed out as a
copy: they are read by every prefill of their request, and must outlive whatever becomes of the entry.
Does not cover: the policy (`kit.engine.graph_cache`), how work is recorded (`kit.engine.capture`), or what
surrounds a forward: embeddings, image rows, rotary tables (`kit.engine.native`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from kit.engine.base import Counters, Event, Grid
from kit.engine.capture import Backend, Recording
from kit.engine.graph_cache import CacheName, CaptureError, Cost, GraphCaches, language_key, vision_key
from kit.kernels.proof import bits

if TYPE_CHECKING:
    from kit.model.vision import VisionTables
    from kit.profile import Graph

log = logging.getLogger(__name__)


class Scratch:
    """Static inputs of every language forward up to `capacity` tokens: embeddings [C, H], cos and sin [C, R].

    Filled with NaN, so that a row read before it was written shows in the answer.
    """

    def __init__(self, capacity: int, hidden: int, rotary: int, dtype: torch.dtype, device: torch.device) -> None:
        self.capacity = capacity
        self._buffers = tuple(
            torch.full((capacity, width), float("nan"), dtype=dtype, device=device)
            for width in (hidden, rotary, rotary)
        )

    def views(self, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
        """The first `tokens` rows of each buffer; the same memory for every length."""
        embeddings, cos, sin = (buffer[:tokens] for buffer in self._buffers)
        return embeddings, cos, sin


@dataclass(frozen=True)
class Entry:
    """What a cache keeps: a recording, and the static inputs that only it reads (vision)."""

    recording: Recording
    pixels: Tensor | None = None
    tables: VisionTables | None = None

    def release(self) -> None:
        """The recording first: it points into the buffers."""
        self.recording.close()


class CapturedForwards:
    """`language` and `vision` with the meaning of the eager forwards, and an event for what each one did.

    prefill: embeddings [T, H], cos and sin [T, R] -> one row. tower: pixels and tables -> features. Both are pure
    functions of their arguments and the weights. widths, dtype, device: H and R of the scratch, and what it is made of.
    """

    def __init__(
        self,
        graph: Graph,
        backend: Backend,
        prefill: Callable[[Tensor, Tensor, Tensor], Tensor],
        tower: Callable[[Tensor, VisionTables], Tensor],
        widths: tuple[int, int],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.backend = backend
        self._prefill, self._tower = prefill, tower
        self._caches: GraphCaches[Entry] = GraphCaches(graph, Entry.release)
        self._scratch: Scratch | None = None
        self._widths, self._dtype, self._device = widths, dtype, device

    def embeddings(self, tokens: int) -> Tensor:
        """Where `language` reads the embeddings of a prompt, [T, H]: who writes them there saves a copy."""
        return self._room_for(tokens)[0]

    def language(
        self, cache: Literal["text", "multimodal"], embeddings: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Event]:
        """embeddings [T, H], cos and sin [T, R] -> (the prefill's row, event). The next forward may overwrite it."""
        tokens = embeddings.shape[0]
        views = self._room_for(tokens)
        for view, fresh in zip(views, (embeddings, cos, sin), strict=True):
            if view.data_ptr() != fresh.data_ptr():
                view.copy_(fresh)
        key = language_key(cache, tokens)

        def forward() -> Tensor:
            return self._prefill(*views)

        def capture(result: Tensor) -> tuple[Entry, Cost]:
            recording, cost = self._record(cache, key, forward, result)
            return Entry(recording), cost

        return self._caches[cache].forward(
            key, eager=lambda: self.backend.run(forward), capture=capture, replay=lambda entry: entry.recording.replay()
        )

    def vision(self, grids: tuple[Grid, ...], pixels: Tensor, tables: VisionTables) -> tuple[Tensor, Event]:
        """pixels [N, 1536] in the model's dtype, tables of `grids` -> (features [N / 4, H], the caller's; event)."""
        key = vision_key(grids)

        def capture(result: Tensor) -> tuple[Entry, Cost]:
            buffer = pixels.clone()
            recording, cost = self._record("vision", key, lambda: self._tower(buffer, tables), result)
            owned = (buffer, tables.corners, tables.weights, tables.cos, tables.sin)
            return Entry(recording, buffer, tables), Cost(cost.own + sum(tensor.nbytes for tensor in owned), cost.pool)

        def replay(entry: Entry) -> Tensor:
            assert entry.pixels is not None
            entry.pixels.copy_(pixels)
            return entry.recording.replay().clone()

        def eager() -> Tensor:
            return self.backend.run(lambda: self._tower(pixels, tables))

        return self._caches["vision"].forward(key, eager=eager, capture=capture, replay=replay)

    def counters(self) -> Counters:
        """Counters of the three caches."""
        return self._caches.counters()

    def clear(self) -> None:
        """Drop every recording, as growth does: the next forward of each shape is captured again."""
        self._caches.invalidate()

    def close(self) -> None:
        """Free recordings, then the buffers they read, then what recordings shared."""
        self._caches.close()
        self._scratch = None
        self.backend.close()

    def _room_for(self, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
        if self._caches.reserve(tokens):
            self._scratch = None  # before the larger one is allocated; no entry reads it any more
        if self._scratch is None:
            self._scratch = Scratch(self._caches.capacity, *self._widths, self._dtype, self._device)
        return self._scratch.views(tokens)

    def _record(
        self, cache: CacheName, key: str, forward: Callable[[], Tensor], expected: Tensor
    ) -> tuple[Recording, Cost]:
        """A recording of `forward` that has been replayed once and gave `expected`, bit for bit, and its cost."""
        outside = self.backend.outside_bytes()
        try:
            recording = self.backend.record(forward, cache)
            _check_first_replay(recording, expected)
        except CaptureError as error:
            log.warning("capture of %s failed, this shape runs eagerly from now on: %s", key, error)
            raise
        # What a graph needs of the device, it may take as late as at its first launch.
        grown = max(0, self.backend.outside_bytes() - outside)
        return recording, Cost(recording.bytes + grown, recording.pool_bytes)


def _check_first_replay(recording: Recording, expected: Tensor) -> None:
    try:
        equal = same_bits(recording.replay(), expected)
    except Exception as error:
        recording.close()
        raise CaptureError(f"first replay failed: {type(error).__name__}: {error}", recording.pool_bytes) from error
    if not equal:
        recording.close()
        raise CaptureError("first replay differs from the eager result", recording.pool_bytes)


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Equal shape, dtype and bits; unlike `==`, NaN equals the same NaN and 0.0 does not equal -0.0."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(bits(a), bits(b))
