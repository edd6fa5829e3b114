"""The graph engine: the native engine whose two forwards are captured per shape and replayed.

Covers: `load`, and how the native engine's seam is wired to the graph caches. On a GPU a capture is a CUDA
graph; on a CPU it is a list of recorded ATen calls, which shows that capture and replay are right and nothing
about speed. Does not cover: the forwards themselves (`kit.engine.captured`), their surroundings
(`kit.engine.native`), the caches (`kit.engine.graph_cache`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from kit.engine.base import Counters, Event, Grid
from kit.engine.capture import Backend, choose
from kit.engine.captured import CapturedForwards
from kit.engine.native import Mode, NativeEngine
from kit.kernels import select

if TYPE_CHECKING:
    from torch import Tensor

    from kit.engine.shared_weights import SharedStores
    from kit.model.vision import VisionTables
    from kit.profile import Profile


class GraphEngine(NativeEngine):
    """capture: the backend to use instead of the device's own. shared: as the native engine's."""

    name = "graph"

    def __init__(
        self, profile: Profile, capture: Backend | None = None, shared: SharedStores | None = None
    ) -> None:
        capture = capture or choose(torch.device(profile.runtime.device))
        super().__init__(profile, capture.ops(select(profile.runtime.numerics, profile.runtime.device)), shared)
        self.backend = capture.name
        text = self.config.text
        self.captured = CapturedForwards(
            profile.graph,
            capture,
            lambda *inputs: self.prefill(*inputs),
            lambda pixels, tables: self.vision.forward(pixels, tables),
            (text.hidden_size, text.rotary_dim),
            self.dtype,
            self.device,
        )

    def new_embeddings(self, tokens: int) -> Tensor:
        """Rows of the scratch that captured prefills read."""
        return self.captured.embeddings(tokens)

    def run_language(self, mode: Mode, embeddings: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Event]:
        """As the native engine's, through the caches; the row may be overwritten by the next forward."""
        return self.captured.language(mode, embeddings, cos, sin)

    def run_vision(
        self, grids: tuple[Grid, ...], pixels: Tensor, tables: VisionTables
    ) -> tuple[Tensor, Event]:
        """As the native engine's, through the caches."""
        return self.captured.vision(grids, pixels, tables)

    def counters(self) -> Counters:
        """Captures, replays, evictions, invalidations, fallbacks, entries, bytes and pool_bytes of each cache."""
        return self.captured.counters()

    def describe(self) -> dict[str, Any]:
        """The native engine's facts, with the capture backend, what it can show, and the caches' bounds."""
        return super().describe() | {
            "backend_claim": self.captured.backend.claim,
            "graph": dataclasses.asdict(self.profile.graph),
        }

    def clear_graphs(self) -> None:
        """Drop every captured graph, counted as invalidations; nothing else of the engine changes."""
        self.captured.clear()

    def close(self) -> None:
        """Recordings, then the buffers they read, then the weights."""
        self.captured.close()
        super().close()


def load(profile: Profile) -> GraphEngine:
    """Load the profile's checkpoint. Raises what `kit.engine.native.load` raises."""
    return GraphEngine(profile)
