"""The tensors of a loaded reference, handed to a native engine of the same process without a copy.

Covers: names of a PEFT model's parameters as the checkpoint's files name them, base and adapter apart, and
`shared_stores`, what `NativeEngine` takes in place of files. A 27B model then lies on a device once, however
many engines are measured against each other there. Tensors are views of the parameters: who writes to one
side (a merge, another adapter) writes to both.
Does not cover: loading (`kit.engine.reference_model`), or checking what is handed out (`kit.model.weights`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kit.model.lora import PREFIX, Adapter
from kit.model.weights import TensorStore

ADAPTER = "default"  # the name PEFT gives an adapter that was loaded without one


class ModelStore:
    """Named tensors that live in this process; a `kit.model.weights.TensorStore`."""

    def __init__(self, source: str, tensors: Mapping[str, Tensor]) -> None:
        self.source = source
        self._tensors = dict(tensors)

    def names(self) -> Iterable[str]:
        return self._tensors.keys()

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], torch.dtype]:
        tensor = self._tensors[name]
        return tuple(tensor.shape), tensor.dtype

    def tensor(self, name: str) -> Tensor:
        """The tensor itself, detached: the same memory."""
        return self._tensors[name].detach()


@dataclass(frozen=True)
class SharedStores:
    """What a native engine reads instead of files: base and adapter tensors, rank and alpha of the adapter."""

    base: TensorStore
    pairs: TensorStore
    rank: int
    alpha: float

    def adapter(self, device: torch.device, dtype: torch.dtype) -> Adapter:
        """The pairs in the form projections are built from."""
        return Adapter(self.pairs, self.rank, self.alpha, device, dtype)


def shared_stores(model: Any) -> SharedStores:
    """The parameters of a PEFT model with one unmerged LoRA adapter. Raises ValueError for any other."""
    base: dict[str, Tensor] = {}
    pairs: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        kept = checkpoint_name(name)
        (pairs if ".lora_" in kept else base)[kept] = parameter
    config = model.peft_config.get(ADAPTER)
    if config is None or not pairs or len(model.peft_config) != 1:
        raise ValueError(f"expected one LoRA adapter named {ADAPTER!r}, found {sorted(model.peft_config)}")
    if any(getattr(module, "merged", False) for module in model.modules()):
        raise ValueError("the adapter is merged into the base weights: there is no base left to share")
    return SharedStores(
        ModelStore("parameters of the reference", base),
        ModelStore("adapter of the reference", pairs),
        config.r,
        config.lora_alpha,
    )


def checkpoint_name(parameter: str) -> str:
    """A parameter of a PEFT model as the checkpoint's files name it.

    The base drops PEFT's prefix and `base_layer`; a pair keeps the prefix and drops the adapter's name.
    """
    if ".lora_" in parameter:
        return parameter.replace(f".{ADAPTER}.", ".")
    return parameter.removeprefix(PREFIX).replace(".base_layer.", ".")
