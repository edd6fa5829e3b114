"""A native engine watched from outside, through its op table and its seam: the model's code is not touched.

Covers: which call of which op ends a stage (the residual adds are fused with the norm behind them, so a branch
is what such a call is given and a residual what it returns), for an eager engine and for one that captures.
Does not cover: what is done with a stage (`kit.engine.trace`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from torch import Tensor

if TYPE_CHECKING:
    from kit.engine.base import Grid
    from kit.engine.native import NativeEngine
    from kit.engine.trace import Notes
    from kit.kernels import Ops
    from kit.kernels.table import Pair
    from kit.model.vision import VisionTables


@contextmanager
def watch_native(engine: NativeEngine, notes: Notes) -> Iterator[None]:
    """Stages of every forward go to `notes` while the block runs."""
    run_language, run_vision = engine.run_language, engine.run_vision
    captures = hasattr(engine, "captured")

    def language(mode: Any, embeddings: Tensor, cos: Tensor, sin: Tensor) -> Any:
        notes.question(embeddings)
        if captures:  # its own run may be a replay, which calls no op, or a recording, which must not be disturbed
            if notes.listening:
                with mock.patch.object(engine.language, "ops", _language_ops(engine.language.ops, notes)):
                    engine.language.forward(embeddings, cos, sin)
            return run_language(mode, embeddings, cos, sin)
        with mock.patch.object(engine.language, "ops", _language_ops(engine.language.ops, notes)):
            return run_language(mode, embeddings, cos, sin)

    def vision(grids: tuple[Grid, ...], pixels: Tensor, tables: VisionTables) -> Any:
        with mock.patch.object(engine.vision, "ops", _vision_ops(engine.vision.ops, notes)):
            if not captures:
                outcome = run_vision(grids, pixels, tables)
            else:
                engine.vision.forward(pixels, tables)
        if captures:
            outcome = run_vision(grids, pixels, tables)
        notes.tower("vision.merger", outcome[0])
        return outcome

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(engine, "run_language", language))
        stack.enter_context(mock.patch.object(engine, "run_vision", vision))
        yield


def _language_ops(ops: Ops, notes: Notes) -> Ops:
    """The table of one prefill: two residual adds a layer, behind its mixer and behind its MLP."""
    adds = 0

    def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float) -> Pair:
        nonlocal adds
        name, behind_mlp = f"layer.{adds // 2:02d}", adds % 2 == 1
        adds += 1
        notes.stage(f"{name}.mlp" if behind_mlp else f"{name}.mixer", delta)
        total, normed = ops.add_rms_norm(residual, delta, weight, eps)
        if behind_mlp:
            notes.stage(name, total)
        return total, normed

    def delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
        notes.state(f"layer.{adds // 2:02d}.state", k, v, g, beta)
        return ops.delta_rule(q, k, v, g, beta)

    return dataclasses.replace(ops, add_rms_norm=add_rms_norm, delta_rule=delta_rule)


def _vision_ops(ops: Ops, notes: Notes) -> Ops:
    """The table of one run of the tower: two residual adds a block, behind its attention and behind its MLP."""
    adds = 0

    def patch_embed(pixels: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        patches = ops.patch_embed(pixels, weight, bias)
        notes.tower("vision.patches", patches)
        return patches

    def add_positions(patches: Tensor, positions: Tensor, corners: Tensor, weights: Tensor) -> Tensor:
        placed = ops.add_positions(patches, positions, corners, weights)
        notes.tower("vision.positions", placed)
        return placed

    def add_layer_norm(residual: Tensor, delta: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Pair:
        nonlocal adds
        name, behind_mlp = f"vision.block.{adds // 2:02d}", adds % 2 == 1
        adds += 1
        notes.tower(f"{name}.mlp" if behind_mlp else f"{name}.attention", delta)
        total, normed = ops.add_layer_norm(residual, delta, weight, bias, eps)
        if behind_mlp:
            notes.tower(name, total)
        return total, normed

    return dataclasses.replace(ops, patch_embed=patch_embed, add_positions=add_positions, add_layer_norm=add_layer_norm)
