"""Safetensors files written the same way every time, and their headers read back.

Covers: a writer whose bytes depend on names, shapes and values alone (fixed key order, compact JSON, header
padded with spaces to 8 bytes, data in the order given), the index of a sharded checkpoint, and a header
reader that checks offsets. Does not cover: loading tensors for a model (`kit.model.weights`).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

DTYPES = {"BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
MAX_HEADER = 100_000_000


class ShardError(ValueError):
    """A safetensors file or index is malformed; the message names the file."""


@dataclass(frozen=True)
class TensorInfo:
    """One tensor of a file: its place, dtype (safetensors name, e.g. "BF16") and shape."""

    file: str
    dtype: str
    shape: tuple[int, ...]


def write_shard(path: Path, tensors: Iterable[tuple[str, torch.Tensor]]) -> dict[str, TensorInfo]:
    """Write tensors (CPU or not, contiguous) in the given order and return what was written."""
    listed = list(tensors)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in listed:
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for _, tensor in listed:
            file.write(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        file.flush()
        os.fsync(file.fileno())
    return {name: TensorInfo(path.name, NAMES[t.dtype], tuple(t.shape)) for name, t in listed}


def write_index(path: Path, infos: dict[str, TensorInfo]) -> None:
    """Write `model.safetensors.index.json` for already written shards."""
    total = sum(_bytes(info.dtype, info.shape) for info in infos.values())
    index = {"metadata": {"total_size": total}, "weight_map": {name: infos[name].file for name in sorted(infos)}}
    path.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def read_header(path: Path) -> dict[str, TensorInfo]:
    """Names, dtypes and shapes of a safetensors file; checks that the data fills the file exactly.

    Raises ShardError naming the file and the tensor.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else MAX_HEADER
        if length >= MAX_HEADER or 8 + length > size:
            raise ShardError(f"{path.name}: not a safetensors file (header length {length}, file {size} bytes)")
        try:
            header = json.loads(file.read(length))
            entries = {name: item for name, item in header.items() if name != "__metadata__"}
            infos = {k: TensorInfo(path.name, v["dtype"], tuple(v["shape"])) for k, v in entries.items()}
            spans = sorted((*v["data_offsets"], k) for k, v in entries.items())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ShardError(f"{path.name}: unreadable safetensors header: {error}") from error
    position = 0
    for start, end, name in spans:
        if start != position or end - start != _bytes(infos[name].dtype, infos[name].shape):
            raise ShardError(f"{path.name}: {name} lies at {start}..{end}, expected to start at {position}")
        position = end
    if 8 + length + position != size:
        raise ShardError(f"{path.name}: {size} bytes, but its header describes {8 + length + position}")
    return infos


def read_index(path: Path) -> dict[str, str]:
    """The weight map (tensor name -> shard file name) of an index file; names must be plain file names."""
    try:
        weight_map = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        items = dict(weight_map)
    except (ValueError, KeyError, TypeError) as error:
        raise ShardError(f"{path.name}: no weight_map: {error!r}") from error
    for name, shard in items.items():
        if not isinstance(shard, str) or Path(shard).name != shard or "\\" in shard:
            raise ShardError(f"{path.name}: {name} is in {shard!r}, expected a plain file name beside the index")
    return items


def _bytes(dtype: str, shape: tuple[int, ...]) -> int:
    if dtype not in SIZES:
        raise ShardError(f"dtype {dtype!r} is not one of {', '.join(SIZES)}")
    count = 1
    for side in shape:
        count *= side
    return count * SIZES[dtype]
