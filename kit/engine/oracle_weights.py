"""A checkpoint's tensors in FP64, a group of them at a time: what the oracle reads instead of a loaded model.

Covers: the check that a checkpoint holds exactly the tensors of its architecture, reading all tensors of one
layer (widened to FP64 from whatever the file holds, a LoRA pair added to its matrix in FP64), and single rows of
the embedding and of the head. Nothing is kept here: the caller drops a layer before it asks for the next.
Does not cover: what the tensors are used for (`kit.engine.oracle_language`, `kit.engine.oracle_vision`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.checkpoint.architecture import EMBEDDING, HEAD, base_shapes
from kit.model.config import ModelConfig
from kit.model.lora import PREFIX, parse_adapter_config
from kit.model.weights import UNUSED_PREFIXES, TensorStore, adapter_store, base_store

if TYPE_CHECKING:
    from kit.checkpoint import CheckpointFiles

Tensors = Mapping[str, Tensor]  # by their names inside the group, without ".weight"


class OracleError(RuntimeError):
    """The checkpoint, or what was asked of it, is not what the oracle computes; the message lists every problem."""


class Float64Weights:
    """The tensors of base and adapter, widened on `device` when they are asked for."""

    def __init__(self, files: CheckpointFiles, config: ModelConfig, device: torch.device) -> None:
        self._base, self._pairs = base_store(files, device), adapter_store(files, device)
        self._device, self._tied = device, config.tied_head
        path = files.adapter / "adapter_config.json"
        self.rank, alpha = parse_adapter_config(json.loads(path.read_text(encoding="utf-8")), str(path))
        self.scale = alpha / self.rank
        shapes = _shapes(config)
        if files.head_rows is not None and not config.tied_head:
            shapes[HEAD] = (files.head_rows, config.text.hidden_size)
        self._adapted = _adapted(self._pairs)
        problems = _base_problems(self._base, shapes) + _pair_problems(self._pairs, shapes, self.rank)
        if problems:
            listed = "\n".join(f"  {problem}" for problem in problems)
            raise OracleError(f"{files.source}: not a checkpoint the oracle computes:\n{listed}")

    @property
    def pairs(self) -> int:
        """How many matrices carry a LoRA pair."""
        return len(self._adapted)

    def group(self, prefix: str) -> Tensors:
        """Every tensor whose name starts with `prefix` and a dot, in FP64, by the rest of its name.

        ".weight" is dropped. A matrix with a pair is W + scale * B A: in real numbers what the unmerged adapter
        gives, and FP64 has 29 bits to spare over what either side rounds to.
        """
        names = [name for name in self._base.names() if name.startswith(prefix + ".")]
        return {name.removeprefix(prefix + ".").removesuffix(".weight"): self._tensor(name) for name in names}

    def one(self, name: str) -> Tensor:
        """A single tensor in FP64."""
        return self._tensor(name)

    def embedding_rows(self, ids: Sequence[int]) -> Tensor:
        """FP64 [ids, H]."""
        return self._rows(EMBEDDING, ids)

    def head_rows(self, ids: Sequence[int]) -> Tensor:
        """FP64 [ids, H], of the embedding where the head is tied to it."""
        return self._rows(EMBEDDING if self._tied else HEAD, ids)

    def _rows(self, name: str, ids: Sequence[int]) -> Tensor:
        whole = self._base.tensor(name)
        return whole.index_select(0, torch.tensor(ids, device=whole.device)).to(self._device, torch.float64)

    def _tensor(self, name: str) -> Tensor:
        wide = self._wide(self._base, name)
        module = name.removesuffix(".weight")
        if module not in self._adapted:
            return wide
        down, up = (self._wide(self._pairs, f"{PREFIX}{module}.lora_{side}.weight") for side in "AB")
        return torch.addmm(wide, up, down, alpha=self.scale)

    def _wide(self, store: TensorStore, name: str) -> Tensor:
        return store.tensor(name).to(self._device).to(torch.float64)


def _shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    vision = dataclasses.asdict(config.vision) | {"num_position_embeddings": config.vision.grid_side**2}
    data: dict[str, Any] = {"text_config": dataclasses.asdict(config.text), "vision_config": vision}
    return base_shapes(data | {"tie_word_embeddings": config.tied_head})


def _adapted(pairs: TensorStore) -> frozenset[str]:
    """Modules with at least half a pair."""
    return frozenset(name.removeprefix(PREFIX).partition(".lora_")[0] for name in pairs.names())


def _base_problems(store: TensorStore, shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    present = {name for name in store.names() if not name.startswith(UNUSED_PREFIXES)}
    problems = [f"missing {name} {list(shapes[name])}" for name in shapes if name not in present]
    problems += [f"unexpected {name}" for name in sorted(present - shapes.keys())]
    for name in sorted(present & shapes.keys()):
        found, dtype = store.shape_and_dtype(name)
        if found != shapes[name] or not dtype.is_floating_point:
            problems.append(f"{name}: {dtype} {list(found)}, expected floating point {list(shapes[name])}")
    return problems


def _pair_problems(store: TensorStore, shapes: Mapping[str, tuple[int, ...]], rank: int) -> list[str]:
    expected: dict[str, tuple[int, ...]] = {}
    problems = []
    for module in sorted(_adapted(store)):
        shape = shapes.get(f"{module}.weight")
        if shape is None or len(shape) != 2 or ".layers." not in module:
            problems.append(f"the adapter names {module}, which is no language projection")
            continue
        expected[f"{PREFIX}{module}.lora_A.weight"] = (rank, shape[1])
        expected[f"{PREFIX}{module}.lora_B.weight"] = (shape[0], rank)
    for name in sorted(expected.keys() | set(store.names())):
        if name not in expected:
            problems.append(f"unexpected {name} in the adapter")
        elif name not in store.names() or store.shape_and_dtype(name)[0] != expected[name]:
            problems.append(f"{name}: missing or misshapen, expected {list(expected[name])}")
    return problems
