"""The official reference watched through forward hooks, and through the one function whose inputs no module sees.

Covers: which module's output is which stage. Transformers and PEFT run as they are; hooks return nothing, and are
gone when the block ends.
Does not cover: what is done with a stage (`kit.engine.trace`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

from torch import Tensor

if TYPE_CHECKING:
    from kit.engine.reference import ReferenceEngine
    from kit.engine.trace import Notes

RULE = "torch_chunk_gated_delta_rule"  # what every delta rule layer calls, whichever implementation is behind it


@contextmanager
def watch_reference(engine: ReferenceEngine, notes: Notes) -> Iterator[None]:
    """Stages of every forward go to `notes` while the block runs."""
    from transformers.models.qwen3_5 import modeling_qwen3_5 as modeling

    model = engine.model.get_base_model().model
    layers = model.language_model.layers
    under_way: list[str] = []  # names of the delta rule layers whose rule has not been called yet
    rule = getattr(modeling, RULE)

    def watched_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, **options: Any) -> Any:
        notes.state(f"{under_way[-1]}.state", k[0], v[0], g[0], beta[0])
        return rule(q, k, v, g=g, beta=beta, **options)

    with ExitStack() as stack:

        def after(module: Any, keep: Callable[[Tensor], None]) -> None:
            hook = module.register_forward_hook(lambda m, args, output: keep(_tensor(output)))
            stack.callback(hook.remove)

        def before(module: Any, keep: Callable[[Tensor], None]) -> None:
            hook = module.register_forward_pre_hook(lambda m, args: keep(args[0]))
            stack.callback(hook.remove)

        stack.enter_context(mock.patch.object(modeling, RULE, watched_rule))
        _watch_tower(model.visual, notes, before, after)
        before(layers[0], lambda rows: notes.question(rows[0]))
        for index, layer in enumerate(layers):
            name = f"layer.{index:02d}"
            before(layer, lambda rows, name=name: under_way.append(name))  # type: ignore[misc]
            mixer = layer.linear_attn if hasattr(layer, "linear_attn") else layer.self_attn
            for module, stage in ((mixer, f"{name}.mixer"), (layer.mlp, f"{name}.mlp"), (layer, name)):
                after(module, lambda rows, stage=stage: notes.stage(stage, rows[0]))  # type: ignore[misc]
        yield


def _watch_tower(visual: Any, notes: Notes, before: Callable[..., None], after: Callable[..., None]) -> None:
    """The tower has no batch axis."""
    after(visual.patch_embed, lambda rows: notes.tower("vision.patches", rows))
    before(visual.blocks[0], lambda rows: notes.tower("vision.positions", rows))
    for index, block in enumerate(visual.blocks):
        name = f"vision.block.{index:02d}"
        for module, stage in ((block.attn, f"{name}.attention"), (block.mlp, f"{name}.mlp"), (block, name)):
            after(module, lambda rows, stage=stage: notes.tower(stage, rows))
    after(visual.merger, lambda rows: notes.tower("vision.merger", rows))


def _tensor(output: Any) -> Tensor:
    """A module's first output."""
    found: Tensor = output[0] if isinstance(output, tuple) else output
    return found
