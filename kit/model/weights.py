"""Tensors of a checkpoint folder, without a copy, and a list of everything that does not fit.

Covers: safetensors by memory mapping (one file, or an index over several), the store of a checkpoint that is
generated instead (`base_store`, `adapter_store`), `Weights.take` with the shape the model needs, and
`Weights.finish`, which reports missing, misshapen and left-over tensors all at once.
Does not cover: hashes of files (`kit.checkpoint`), or the adapter's pairing rules (`kit.model.lora`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch
from safetensors import safe_open
from torch import Tensor

from kit.checkpoint.shards import DTYPES
from kit.model.content_sums import ContentSums

if TYPE_CHECKING:
    from kit.checkpoint import CheckpointFiles

UNUSED_PREFIXES = ("mtp.", "model.mtp.")  # the draft head of multi-token prediction: known, never read


class WeightError(ValueError):
    """The tensors of a checkpoint are not those the model needs; the message lists every problem."""


class TensorStore(Protocol):
    """Where named tensors come from: files, or a generator."""

    source: str

    def names(self) -> Iterable[str]: ...

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], torch.dtype]: ...

    def tensor(self, name: str) -> Tensor: ...


class SafetensorsStore:
    """Every tensor of a folder's safetensors files, mapped into memory; nothing is read until it is used.

    stem: `model` or `adapter_model`. Raises WeightError when there is no such file, an index names files
    or tensors that are not there, or a tensor has a dtype the kit does not know.
    """

    def __init__(self, folder: Path, stem: str, device: str = "cpu") -> None:
        self.source = str(folder)
        self._where: dict[str, Any] = {}
        single = (folder / f"{stem}.safetensors").is_file()
        index = {} if single else _index(folder, stem)
        for path in _files(folder, stem):
            try:
                handle: Any = safe_open(path, framework="pt", device=device)
            except Exception as error:  # the library raises its own exception for every kind of damage
                raise WeightError(f"{path}: not a readable safetensors file: {error}") from error
            # A shard that was taken over whole may hold a tensor that the index finds elsewhere.
            self._where.update({name: handle for name in handle.keys() if index.get(name, path.name) == path.name})  # noqa: SIM118
        _check_index(folder, stem, set(self._where))

    def names(self) -> Iterable[str]:
        return self._where.keys()

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], torch.dtype]:
        entry = self._where[name].get_slice(name)
        kind = entry.get_dtype()
        if kind not in DTYPES:
            raise WeightError(f"{self.source}: {name} is {kind}, expected one of {', '.join(DTYPES)}")
        return tuple(entry.get_shape()), DTYPES[kind]

    def tensor(self, name: str) -> Tensor:
        result: Tensor = self._where[name].get_tensor(name)
        return result


def base_store(files: CheckpointFiles, device: torch.device | str) -> TensorStore:
    """The base tensors of a checkpoint: its files, or its generator on `device`."""
    return _store(files, "base", device)


def adapter_store(files: CheckpointFiles, device: torch.device | str) -> TensorStore:
    """The adapter's tensors, likewise."""
    return _store(files, "adapter", device)


def sum_contents(files: CheckpointFiles, dtype: torch.dtype, device: torch.device | str) -> ContentSums:
    """The sums an engine of this dtype has to report: every tensor read, or made, once on `device` and let go."""
    sums = ContentSums()
    for store, held_in in (
        (base_store(files, device), dtype),
        (adapter_store(files, device), torch.promote_types(dtype, torch.float32)),
    ):
        for name in store.names():
            if not name.startswith(UNUSED_PREFIXES):
                sums.add(name, store.tensor(name).to(device, held_in))
    return sums


def _store(files: CheckpointFiles, part: Literal["base", "adapter"], device: torch.device | str) -> TensorStore:
    if files.plan is None:
        return SafetensorsStore(files.base, "model") if part == "base" else SafetensorsStore(files.adapter, "adapter_model")
    from kit.checkpoint.generated import GeneratedStore

    return GeneratedStore(files.plan, part, device)


def _files(folder: Path, stem: str) -> list[Path]:
    single = folder / f"{stem}.safetensors"
    if single.is_file():
        return [single]
    files = [folder / name for name in sorted(set(_index(folder, stem).values()))]
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        raise WeightError(f"{folder}: the index names files that are not there: {', '.join(missing)}")
    return files


def _index(folder: Path, stem: str) -> dict[str, str]:
    path = folder / f"{stem}.safetensors.index.json"
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
    except (OSError, ValueError, KeyError) as error:
        raise WeightError(
            f"{folder}: has neither {stem}.safetensors nor a readable index of shards: {error!r}"
        ) from error
    return found


def _check_index(folder: Path, stem: str, present: set[str]) -> None:
    if (folder / f"{stem}.safetensors").is_file():
        return
    absent = sorted(set(_index(folder, stem)) - present)
    if absent:
        raise WeightError(
            f"{folder}: the index names {len(absent)} tensors no shard holds, first {absent[0]}"
        )


class Weights:
    """Hands out the tensors of a store in the model's dtype and remembers what did not fit.

    dtype: what every tensor is wanted in. A tensor of that dtype is handed out as it lies in the store
    (no copy on the CPU); FP32 where the model is BF16 is rounded as the reference rounds it at load, and
    noted in `converted`. Other combinations are problems. `sums`: of every tensor handed out.
    """

    def __init__(self, store: TensorStore, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self.store = store
        self.dtype = dtype
        self.device = torch.device(device)
        self.converted: dict[str, str] = {}
        self.sums = ContentSums()
        self._left = set(store.names())
        self._problems: list[str] = []

    def take(self, name: str, *shape: int) -> Tensor:
        """The tensor `name`, of exactly this shape. A misfit is reported by `finish`; zeros stand in until then."""
        if name not in self._left:
            self._problems.append(f"missing {name} {list(shape)}")
            return torch.zeros(1, dtype=self.dtype).expand(shape)
        self._left.discard(name)
        found, dtype = self.store.shape_and_dtype(name)
        if found != shape:
            self._problems.append(f"{name}: shape {list(found)}, expected {list(shape)}")
            return torch.zeros(1, dtype=self.dtype).expand(shape)
        if dtype != self.dtype:
            if dtype != torch.float32 and self.dtype == torch.bfloat16:
                self._problems.append(f"{name}: dtype {_name(dtype)}, expected {_name(self.dtype)}")
            self.converted[name] = f"{_name(dtype)} -> {_name(self.dtype)}"
        tensor = self.store.tensor(name).to(self.device, self.dtype)
        self.sums.add(name, tensor)
        return tensor

    def finish(self) -> None:
        """Raise WeightError listing every missing, misfitting and unexpected tensor; do nothing if all is well."""
        left = (name for name in self._left if not name.startswith(UNUSED_PREFIXES))
        problems = self._problems + [f"unexpected {name}" for name in sorted(left)]
        if problems:
            listed = "\n".join(f"  {problem}" for problem in problems)
            raise WeightError(f"{self.store.source}: {len(problems)} tensors do not fit the model:\n{listed}")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
