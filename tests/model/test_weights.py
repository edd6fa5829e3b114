"""Tensors come out of the files without a copy, and everything that does not fit is reported together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from kit.model.weights import SafetensorsStore, WeightError, Weights

BF16 = torch.bfloat16


def tensors() -> dict[str, torch.Tensor]:
    return {
        "a": torch.randn(3, 4).to(BF16),
        "b": torch.randn(5),
        "mtp.layers.0.weight": torch.randn(2, 2).to(BF16),
    }


def test_bf16_tensors_are_mapped_and_fp32_ones_rounded(tmp_path: Path) -> None:
    written = tensors()
    save_file(written, tmp_path / "model.safetensors")
    weights = Weights(SafetensorsStore(tmp_path, "model"), BF16)
    a, b = weights.take("a", 3, 4), weights.take("b", 5)
    weights.finish()
    assert torch.equal(a, written["a"])
    assert torch.equal(b, written["b"].to(BF16))
    assert weights.converted == {"b": "float32 -> bfloat16"}


def test_mapping_means_no_copy(tmp_path: Path) -> None:
    """Two readings of one store share the file's pages."""
    save_file(tensors(), tmp_path / "model.safetensors")
    store = SafetensorsStore(tmp_path, "model")
    first, second = store.tensor("a"), store.tensor("a")
    assert first.data_ptr() == second.data_ptr()
    assert Weights(store, BF16).take("a", 3, 4).data_ptr() == first.data_ptr()


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    save_file(
        {"a": torch.zeros(3, 4), "c": torch.zeros(1).half(), "d": torch.zeros(1)},
        tmp_path / "model.safetensors",
    )
    weights = Weights(SafetensorsStore(tmp_path, "model"), BF16)
    assert weights.take("a", 4, 3).shape == (4, 3)
    assert weights.take("b", 2).shape == (2,)
    weights.take("c", 1)
    with pytest.raises(WeightError) as caught:
        weights.finish()
    message = str(caught.value)
    assert "a: shape [3, 4], expected [4, 3]" in message
    assert "missing b [2]" in message
    assert "c: dtype float16, expected bfloat16" in message
    assert "unexpected d" in message
    assert "4 tensors do not fit" in message


def test_a_tensor_taken_twice_is_missing_the_second_time(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1).to(BF16)}, tmp_path / "model.safetensors")
    weights = Weights(SafetensorsStore(tmp_path, "model"), BF16)
    weights.take("a", 1)
    weights.take("a", 1)
    with pytest.raises(WeightError, match="missing a"):
        weights.finish()


def shards(folder: Path) -> None:
    save_file({"a": torch.zeros(1).to(BF16)}, folder / "model-1.safetensors")
    save_file({"b": torch.ones(1).to(BF16)}, folder / "model-2.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_shards_are_read_through_their_index(tmp_path: Path) -> None:
    shards(tmp_path)
    store = SafetensorsStore(tmp_path, "model")
    assert sorted(store.names()) == ["a", "b"]
    assert store.tensor("b").item() == 1


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    shards(tmp_path)
    (tmp_path / "model-2.safetensors").unlink()
    with pytest.raises(WeightError, match=r"not there: model-2\.safetensors"):
        SafetensorsStore(tmp_path, "model")


def test_an_index_that_promises_more_than_the_shards_hold(tmp_path: Path) -> None:
    shards(tmp_path)
    index = {"weight_map": {"a": "model-1.safetensors", "z": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(WeightError, match="first z"):
        SafetensorsStore(tmp_path, "model")


def test_a_folder_without_tensors_and_a_damaged_file(tmp_path: Path) -> None:
    with pytest.raises(WeightError, match=r"neither model\.safetensors nor"):
        SafetensorsStore(tmp_path, "model")
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 40)
    with pytest.raises(WeightError, match="not a readable safetensors file"):
        SafetensorsStore(tmp_path, "model")
