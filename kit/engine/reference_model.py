"""The official model, loaded as its libraries load it: Transformers' Qwen3.5, then PEFT's adapter, unmerged.

Covers: both kinds of checkpoint. From files the libraries read the folders themselves. From a generator
Transformers is given a state dict whose tensors are made when it takes them, which is the same code with the
same conversions; PEFT builds the adapter from its config and is handed the pairs. Either way the weights exist
once, keys that are missing or left over are refused, and nothing may remain without memory.
Does not cover: running the model (`kit.engine.reference`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.engine.shared_weights import checkpoint_name
from kit.model.content_sums import ContentSums
from kit.model.weights import adapter_store, base_store

if TYPE_CHECKING:
    from kit.checkpoint import CheckpointFiles
    from kit.model.weights import TensorStore


class ReferenceError(RuntimeError):
    """The reference cannot be trusted: keys missing, adapter merged, or another prompt than the kit's."""


@dataclass(frozen=True)
class Official:
    """A PEFT model in evaluation mode, what the libraries said of its keys, and what they warned of."""

    model: Any
    keys: dict[str, list[str]]
    warnings: list[str]
    weights_sum: str


def load_official(files: CheckpointFiles, dtype: torch.dtype, device: torch.device) -> Official:
    """Load base and adapter on a device. Raises ReferenceError naming keys that did not find their place."""
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    logging.getLogger("peft").setLevel(logging.ERROR)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        base, keys = _base(files, dtype, device)
        model, adapter_keys = _adapt(files, base, device)
    keys |= adapter_keys
    wrong = {name: found for name, found in keys.items() if found}
    if wrong:
        raise ReferenceError(f"the reference did not load the checkpoint completely: {wrong}")
    _refuse_empty(model)
    said = sorted({str(warning.message).splitlines()[0][:200] for warning in caught})
    return Official(model.eval(), keys, said, weights_sum(model))


def _base(files: CheckpointFiles, dtype: torch.dtype, device: torch.device) -> tuple[Any, dict[str, list[str]]]:
    import transformers

    options: dict[str, Any] = {
        "dtype": dtype,
        "attn_implementation": "sdpa",
        "device_map": {"": device} if device.type == "cuda" else None,
        "output_loading_info": True,
    }
    official: Any = transformers.Qwen3_5ForConditionalGeneration
    if files.plan is None:
        model, info = official.from_pretrained(files.base, **options)
    else:
        config = transformers.AutoConfig.from_pretrained(files.base)
        store = base_store(files, device)
        tensors = {name: _Lazy(store, name) for name in store.names()}
        model, info = official.from_pretrained(None, config=config, state_dict=tensors, **options)
    return model, {
        "base_missing": sorted(info["missing_keys"]),
        "base_unexpected": sorted(info["unexpected_keys"]),
        "base_mismatched": sorted(str(key) for key in info["mismatched_keys"]),
    }


class _Lazy:
    """A tensor that is made when Transformers takes it: what it needs of a safetensors slice."""

    def __init__(self, store: TensorStore, name: str) -> None:
        self._store, self._name = store, name

    def __getitem__(self, everything: EllipsisType) -> Tensor:
        return self._store.tensor(self._name)

    def get_shape(self) -> list[int]:
        return list(self._store.shape_and_dtype(self._name)[0])


def _adapt(files: CheckpointFiles, base: Any, device: torch.device) -> tuple[Any, dict[str, list[str]]]:
    import peft

    store = adapter_store(files, device)
    if files.plan is None:
        model: Any = peft.PeftModel.from_pretrained(base, files.adapter)
    else:
        options = peft.PeftConfig.from_pretrained(files.adapter)
        model = peft.get_peft_model(base, options)
        peft.set_peft_model_state_dict(model, {name: store.tensor(name) for name in store.names()})
    wanted = set(peft.get_peft_model_state_dict(model, save_embedding_layers=False))
    present = set(store.names())
    return model, {
        "adapter_missing": sorted(wanted - present),  # of either PEFT only warns
        "adapter_unexpected": sorted(present - wanted),
    }


def _refuse_empty(model: Any) -> None:
    """A tensor on the meta device has a shape and no values."""
    empty = [name for name, tensor in _tensors(model) if tensor.is_meta]
    if empty:
        raise ReferenceError(f"{len(empty)} tensors of the reference were never given values, first {empty[0]}")


def _tensors(model: Any) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()


def weights_sum(model: Any) -> str:
    """`kit.model.content_sums` of a PEFT model's parameters, by the names the checkpoint gives them."""
    sums = ContentSums()
    for name, parameter in model.named_parameters():
        sums.add(checkpoint_name(name), parameter)
    return sums.digest()
