"""Single forwards at the engines' seam: any ids, positions, features and pixels, without going through a prompt."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from kit.engine.base import Event, Grid
from kit.engine.captured import CapturedForwards
from kit.engine.graph import GraphEngine
from kit.engine.native import Mode, NativeEngine
from kit.engine.transfer import Prompt

SMALL, WIDE, TALL = (1, 4, 4), (1, 4, 8), (1, 8, 4)


@dataclasses.dataclass(frozen=True)
class Inputs:
    """One language forward. positions [3, T]; features: image rows put in front, as many as there are."""

    mode: Mode
    ids: tuple[int, ...]
    positions: Tensor
    features: Tensor | None = None


def text(tokens: int, seed: int = 0) -> Inputs:
    ids = tuple(random.Random(seed).randrange(4000) for _ in range(tokens))
    return Inputs("text", ids, torch.arange(tokens).expand(3, -1))


def multimodal(engine: NativeEngine, tokens: int, seed: int = 0, start: int = 0) -> Inputs:
    """Eight image rows and a text; `start` shifts the three axes by different amounts."""
    pad = engine.config.image_token_id
    ids = (pad,) * 8 + text(tokens - 8, seed).ids
    shift = torch.tensor([[start], [2 * start], [3 * start]])
    rows = torch.randn(8, engine.config.text.hidden_size, generator=torch.Generator().manual_seed(seed))
    return Inputs("multimodal", ids, torch.arange(tokens).expand(3, -1) + shift, rows.to(engine.device, engine.dtype))


def language(engine: NativeEngine, inputs: Inputs) -> tuple[bytes, Event]:
    with torch.inference_mode():
        ids = torch.tensor(inputs.ids, device=engine.device)
        places = torch.where(ids == engine.config.image_token_id)[0]
        embeddings = engine.embed(Prompt(ids, places), inputs.features)
        tables = engine.rotary.tables(inputs.positions.to(engine.device))
        row, event = engine.run_language(inputs.mode, embeddings, *tables)
        return bits(row), event


def vision(engine: NativeEngine, grids: tuple[Grid, ...], seed: int = 0) -> tuple[bytes, Event]:
    with torch.inference_mode():
        patches = sum(t * h * w for t, h, w in grids)
        pixels = torch.rand(patches, 1536, generator=torch.Generator().manual_seed(seed)) * 2 - 1
        features, event = engine.run_vision(grids, pixels.to(engine.device, engine.dtype), engine.vision_tables(grids))
        return bits(features), event


def bits(tensor: Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()


def actions(engine: GraphEngine, reference: NativeEngine, stream: Sequence[Inputs]) -> list[str]:
    """Run a stream on both engines, require equal bits, and return what the caches did."""
    events = []
    for inputs in stream:
        row, event = language(engine, inputs)
        assert row == language(reference, inputs)[0], event
        events.append(event.action)
    return events


def counts(engine: GraphEngine, cache: str, *names: str) -> tuple[int, ...]:
    return tuple(engine.counters()[cache][name] for name in names)


@torch.inference_mode()
def poison(captured: CapturedForwards) -> None:
    """NaN into every static buffer: what a replay needs it must get anew."""
    assert captured._scratch is not None
    for buffer in captured._scratch._buffers:
        buffer.fill_(float("nan"))
    for entry in entries(captured):
        if entry.pixels is not None:
            entry.pixels.fill_(float("nan"))
    poison_outputs(captured)


@torch.inference_mode()
def poison_outputs(captured: CapturedForwards) -> None:
    """NaN over every result a replay has left: who still wants one must have copied it."""
    for entry in entries(captured):
        entry.recording._output.fill_(float("nan"))


def entries(captured: CapturedForwards) -> list[Any]:
    return [entry for cache in captured._caches._caches.values() for entry, _ in cache._entries.values()]
