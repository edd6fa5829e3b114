"""Faults of what an engine remembers: state, static buffers, graphs and answers of another request.

They need an order of requests to show: A, then B of the same shape, then A again. The protocol has such pairs
(the same text with another image, the same images in another order); `same-length` adds one of text.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.campaign.planted.fault import IMAGE, TEXT, Fault
from kit.campaign.planted.geometry import CHANGED
from kit.campaign.planted.site import Served, Site, Subject

if TYPE_CHECKING:
    from kit.engine.base import Event, Grid
    from kit.engine.graph import GraphEngine
    from kit.engine.native import Mode
    from kit.kernels.table import Triple
    from kit.model.vision import VisionTables

REMEMBERED = 64  # tokens of a request whose state is left behind: a chunk
BUCKET = 64  # tokens by which a graph's key is too coarse
CONSOLE = "console-256x256"
SAME_LENGTH = "same-length"


class Leftovers:
    """What each delta rule layer did last, by its number in the walk."""

    def __init__(self) -> None:
        self.layer = 0
        self._last: dict[int, tuple[Tensor, ...]] = {}

    def next(self, *own: Tensor, keep: int) -> tuple[Tensor, ...]:
        """The last `keep` rows of the same layer's inputs in the forward before; () in the first forward."""
        found = self._last.get(self.layer, ())
        self._last[self.layer] = tuple(x[-keep:].clone() for x in own)
        self.layer += 1
        return found


def _carried(op: str) -> Callable[[Site, Any], Subject]:
    """op: "delta_rule" or "causal_conv", whose first rows see the last rows of the forward before."""

    def plant(site: Site, dose: Any) -> Subject:
        ops, left = site.ops, Leftovers()

        def delta_rule(*inputs: Tensor) -> Tensor:
            before = left.next(*inputs, keep=REMEMBERED)
            if not before:
                return ops.delta_rule(*inputs)
            joined = [torch.cat(pair) for pair in zip(before, inputs, strict=True)]
            return ops.delta_rule(*joined)[len(before[0]) :].contiguous()

        def causal_conv(x: Tensor, weight: Tensor, key_heads: int, key_width: int, value_heads: int) -> Triple:
            before = left.next(x, keep=weight.shape[-1] - 1)
            joined = torch.cat((*before, x))
            q, k, v = ops.causal_conv(joined, weight, key_heads, key_width, value_heads)
            start = len(joined) - len(x)
            return q[start:], k[start:], v[start:]

        table: dict[str, Any] = {"delta_rule": delta_rule, "causal_conv": causal_conv}
        engine = site.native(dataclasses.replace(ops, **{op: table[op]}))
        run = engine.run_language

        def run_language(*args: Any) -> Any:
            left.layer = 0
            return run(*args)

        engine.run_language = run_language  # type: ignore[method-assign, assignment]
        return Subject(engine)

    return plant


def _embed_outside_the_buffer(engine: GraphEngine) -> None:
    """Embeddings of their own for each request: the engine writes them where the next replay reads."""
    width = engine.config.text.hidden_size
    engine.new_embeddings = lambda tokens: torch.empty(tokens, width, dtype=engine.dtype, device=engine.device)  # type: ignore[method-assign]


def stale_language(site: Site, dose: None) -> Subject:
    """A replay reads the inputs of its capture: the buffers were not written again."""
    engine = site.graph()
    first: dict[tuple[str, int], tuple[Tensor, ...]] = {}
    run = engine.run_language

    def run_language(mode: Mode, embeddings: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Event]:
        kept = first.setdefault((mode, len(embeddings)), (embeddings.clone(), cos.clone(), sin.clone()))
        return run(mode, *kept)

    engine.run_language = run_language  # type: ignore[method-assign]
    _embed_outside_the_buffer(engine)
    return Subject(engine)


def _stale_vision(site: Site, dose: None) -> Subject:
    """A replay of the tower reads the pixels of its capture."""
    engine = site.graph()
    first: dict[tuple[Grid, ...], Tensor] = {}
    run = engine.run_vision

    def run_vision(grids: tuple[Grid, ...], pixels: Tensor, tables: VisionTables) -> tuple[Tensor, Event]:
        return run(grids, first.setdefault(grids, pixels.clone()), tables)

    engine.run_vision = run_vision  # type: ignore[method-assign]
    return Subject(engine)


def _wrong_length(site: Site, dose: None) -> Subject:
    """Prompts whose lengths share a bucket share the graph of the first of them: cut, or padded with zeros."""
    engine = site.graph()
    captured: dict[tuple[str, int], int] = {}
    run = engine.run_language

    def run_language(mode: Mode, embeddings: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Event]:
        tokens = captured.setdefault((mode, -(-len(embeddings) // BUCKET)), len(embeddings))
        fitted = [F.pad(x[:tokens], (0, 0, 0, max(0, tokens - len(x)))) for x in (embeddings, cos, sin)]
        return run(mode, *fitted)

    engine.run_language = run_language  # type: ignore[method-assign]
    _embed_outside_the_buffer(engine)
    return Subject(engine)


@dataclass
class _Kept:
    """The reply before this one."""

    served: Served | None = None


def _previous_answer(site: Site, dose: None) -> Subject:
    """Every reply is the one that belonged to the request before."""
    kept = _Kept()

    def reply(body: bytes, served: Served) -> Served:
        before, kept.served = kept.served or served, served
        return before

    return Subject(site.native(), reply=reply, watched=False)


def _cached_by_text(site: Site, dose: None) -> Subject:
    """A cache of answers whose key is the request without its images."""
    seen: dict[str, Served] = {}

    def reply(body: bytes, served: Served) -> Served:
        request = json.loads(body)
        request.pop("images", None)
        return seen.setdefault(json.dumps(request), served)

    return Subject(site.native(), reply=reply, watched=False)


A_B_A = (CONSOLE, CHANGED, CONSOLE)
FAULTS = (
    Fault("state-carried", "cache", "the delta rule starts from the state the request before left", _carried("delta_rule")),
    Fault("conv-carried", "cache", "the convolution starts from the last tokens of the request before", _carried("causal_conv")),
    Fault(
        "stale-buffer", "cache", "a replay reads the inputs of its capture (A, B, A: B is answered like A)", stale_language,
        shows=(TEXT, SAME_LENGTH, TEXT), also=(TEXT, SAME_LENGTH, TEXT),
    ),
    Fault("stale-pixels", "cache", "a replay of the vision tower reads the pixels of its capture", _stale_vision, shows=A_B_A),
    Fault("wrong-length", "cache", "a graph replayed for a prompt of another length", _wrong_length, shows=("route-choice-2", TEXT)),
    Fault("previous-answer", "cache", "every reply is the one of the request before", _previous_answer, shows=(TEXT, IMAGE)),
    Fault("cached-by-text", "cache", "answers cached under the request without its images", _cached_by_text, shows=A_B_A),
)  # fmt: skip
