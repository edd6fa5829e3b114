"""Safetensors files: the same bytes every time, readable by the library, refused when malformed."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from kit.checkpoint.shards import ShardError, read_header, read_index, write_index, write_shard

TENSORS = {
    "b": torch.arange(6, dtype=torch.bfloat16).view(2, 3),
    "a": torch.tensor([1.5, -2.0]),
    "one": torch.tensor([7.0], dtype=torch.float64),
}


def test_the_library_reads_back_what_was_written(tmp_path: Path) -> None:
    infos = write_shard(tmp_path / "x.safetensors", TENSORS.items())
    loaded = load_file(tmp_path / "x.safetensors")
    assert loaded.keys() == TENSORS.keys()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in TENSORS.items())
    assert read_header(tmp_path / "x.safetensors") == infos


def test_bytes_are_frozen(tmp_path: Path) -> None:
    write_shard(tmp_path / "x.safetensors", TENSORS.items())
    digest = hashlib.sha256((tmp_path / "x.safetensors").read_bytes()).hexdigest()
    assert digest == "fd5ca877b17fa243a6bf614250ba9a22c969f7d70ed7caa4d2fb7212855966ec"


def test_views_are_written_as_their_values(tmp_path: Path) -> None:
    write_shard(tmp_path / "x.safetensors", [("t", TENSORS["b"].T)])
    assert torch.equal(load_file(tmp_path / "x.safetensors")["t"], TENSORS["b"].T)


def test_index_names_every_tensor(tmp_path: Path) -> None:
    infos = write_shard(tmp_path / "1.safetensors", [("b", TENSORS["b"])])
    infos |= write_shard(tmp_path / "2.safetensors", [("a", TENSORS["a"])])
    write_index(tmp_path / "index.json", infos)
    assert read_index(tmp_path / "index.json") == {"a": "2.safetensors", "b": "1.safetensors"}
    assert json.loads((tmp_path / "index.json").read_text())["metadata"]["total_size"] == 20


@pytest.mark.parametrize("place", ["../out.safetensors", "/etc/passwd", "sub/x.safetensors", "..\\x", 5])
def test_an_index_that_leads_elsewhere_is_refused(tmp_path: Path, place: Any) -> None:
    (tmp_path / "index.json").write_text(json.dumps({"weight_map": {"a": place}}))
    with pytest.raises(ShardError, match="plain file name"):
        read_index(tmp_path / "index.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}'])
def test_an_index_without_a_map_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(ShardError, match="no weight_map"):
        read_index(tmp_path / "index.json")


def shard(tmp_path: Path, header: Any, data: bytes) -> Path:
    head = json.dumps(header).encode()
    path = tmp_path / "bad.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)
    return path


GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("header", "size", "message"),
    [
        ({"a": GOOD}, 7, "its header describes"),
        ({"a": GOOD}, 9, "its header describes"),
        ({"a": GOOD | {"shape": [3]}}, 8, "lies at 0..8"),
        ({"a": GOOD | {"data_offsets": [4, 12]}}, 12, "expected to start at 0"),
        ({"a": GOOD, "b": GOOD}, 8, "expected to start at 8"),
        ({"a": GOOD | {"dtype": "F33"}}, 8, "F33"),
        ({"a": {"dtype": "F32"}}, 8, "unreadable"),
        ([1], 8, "unreadable"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, header: Any, size: int, message: str) -> None:
    with pytest.raises(ShardError, match=message):
        read_header(shard(tmp_path, header, bytes(size)))


@pytest.mark.parametrize("raw", [b"", b"1234567", struct.pack("<Q", 1 << 40), struct.pack("<Q", 9) + b"{}"])
def test_files_that_are_no_safetensors_are_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(ShardError, match="not a safetensors file"):
        read_header(tmp_path / "x")
