"""Verification names everything that is wrong with a checkpoint, not the first thing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from kit import checkpoint
from kit.checkpoint import CheckpointFiles, contents, synthetic
from kit.checkpoint.files import digest_of
from kit.checkpoint.shards import write_index, write_shard
from kit.profile import Profile
from tests.checkpoint.conftest import edit_json

SHARD_1, SHARD_2 = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


def problems(files: CheckpointFiles) -> list[str]:
    """Problems beside the digest, which every damage changes; its line must be there."""
    found = contents.verify(files)
    assert any("the files give digest" in line for line in found)
    return [line for line in found if "the files give digest" not in line]


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}  # not the file itself
    change(tensors)
    write_shard(path, sorted(tensors.items()))


def reindex(base: Path) -> None:
    infos = {}
    for shard in (SHARD_1, SHARD_2):
        infos |= contents.shards.read_header(base / shard)
    write_index(base / "model.safetensors.index.json", infos)


def test_the_intact_checkpoint_has_no_problem(profile: Profile) -> None:
    report = checkpoint.verify(profile)
    assert report["problems"] == []
    assert report["digest"] == profile.checkpoint.digest


def test_inventory_lists_files_and_tensors(profile: Profile) -> None:
    listing = checkpoint.inventory(profile)
    assert json.loads(json.dumps(listing)) == listing
    assert digest_of(listing["files"]) == listing["digest"] == profile.checkpoint.digest
    assert len(listing["tensors"]["adapter"]) == 62
    assert listing["tensors"]["base"]["lm_head.weight"][:2] == ["BF16", [4096, 256]]
    assert listing["parameters"]["base"] > 4_000_000


def test_one_flipped_bit_is_seen(copied: CheckpointFiles) -> None:
    path = copied.base / SHARD_2
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    assert problems(copied) == []


def test_missing_extra_and_misshapen_tensors_are_all_named(copied: CheckpointFiles) -> None:
    def damage(tensors: dict[str, torch.Tensor]) -> None:
        del tensors["lm_head.weight"]
        tensors["stray.weight"] = torch.zeros(2, dtype=torch.bfloat16)
        tensors["model.visual.merger.norm.weight"] = torch.ones(7, dtype=torch.bfloat16)
        tensors["model.visual.merger.norm.bias"] = torch.ones(96)

    rewrite(copied.base / SHARD_2, damage)
    reindex(copied.base)
    found = problems(copied)
    assert any("1 tensors missing: lm_head.weight" in line for line in found)
    assert any("nothing would load: stray.weight" in line for line in found)
    assert any("merger.norm.weight [7] for [96]" in line for line in found)
    assert any("not BF16: model.visual.merger.norm.bias F32" in line for line in found)


def test_unused_prediction_layers_are_not_a_problem(copied: CheckpointFiles) -> None:
    rewrite(copied.base / SHARD_2, lambda t: t.update({"mtp.fc.weight": torch.zeros(4, dtype=torch.bfloat16)}))
    reindex(copied.base)
    assert problems(copied) == []


def test_an_index_that_disagrees_with_its_shards_is_named(copied: CheckpointFiles) -> None:
    index = json.loads((copied.base / contents.INDEX).read_text())
    index["weight_map"]["lm_head.weight"] = SHARD_1
    (copied.base / contents.INDEX).write_text(json.dumps(index))
    assert any("disagrees with the shards about lm_head.weight" in line for line in problems(copied))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_that_are_not_finite_are_named(copied: CheckpointFiles, value: float) -> None:
    rewrite(copied.adapter / "adapter_model.safetensors", lambda t: next(iter(t.values())).view(-1).__setitem__(0, value))
    assert any("1 tensors hold NaN or infinity" in line for line in problems(copied))


def test_a_tied_head_is_refused(copied: CheckpointFiles) -> None:
    edit_json(copied.base / "config.json", tie_word_embeddings=True)
    assert any("untied head" in line for line in problems(copied))


@pytest.mark.parametrize(
    "option",
    [
        {"use_dora": True},
        {"use_rslora": True},
        {"use_qalora": True},
        {"bias": "lora_only"},
        {"lora_bias": True},
        {"rank_pattern": {"q_proj": 8}},
        {"alpha_pattern": {"q_proj": 8}},
        {"modules_to_save": ["lm_head"]},
        {"layer_replication": [[0, 4]]},
        {"target_parameters": ["experts"]},
        {"trainable_token_indices": [1]},
        {"fan_in_fan_out": True},
        {"peft_type": "LOHA"},
        {"r": 0},
        {"r": True},
        {"lora_alpha": -1},
        {"lora_alpha": "32"},
    ],
    ids=lambda option: "-".join(option),
)
def test_adapter_options_beyond_plain_pairs_are_refused(copied: CheckpointFiles, option: dict[str, Any]) -> None:
    edit_json(copied.adapter / "adapter_config.json", **option)
    assert any(next(iter(option)) in line for line in problems(copied))


def test_another_rank_than_the_tensors_have_is_named(copied: CheckpointFiles) -> None:
    edit_json(copied.adapter / "adapter_config.json", r=8)
    assert any("62 tensors of another shape" in line and "and 54 more" in line for line in problems(copied))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json", SHARD_1])
def test_unreadable_files_are_named_and_the_rest_is_still_checked(copied: CheckpointFiles, name: str) -> None:
    (copied.base / name).write_bytes(b"{}")
    edit_json(copied.adapter / "adapter_config.json", use_dora=True)
    found = problems(copied)
    assert any("use_dora" in line for line in found)
    assert len(found) >= 2


def test_an_index_into_another_folder_is_never_opened(copied: CheckpointFiles, tmp_path: Path) -> None:
    (tmp_path / "copy" / "evil.safetensors").write_bytes((copied.base / SHARD_1).read_bytes())
    index = json.loads((copied.base / contents.INDEX).read_text())
    index["weight_map"]["lm_head.weight"] = "../evil.safetensors"
    (copied.base / contents.INDEX).write_text(json.dumps(index))
    assert any("expected a plain file name" in line for line in problems(copied))


def test_a_linked_folder_is_refused(copied: CheckpointFiles, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (copied.base / "extra").symlink_to(tmp_path / "elsewhere")
    assert any("a linked folder" in line for line in contents.verify(copied))


def test_the_seed_is_in_every_tensor(files: CheckpointFiles, tmp_path: Path) -> None:
    synthetic.write("cpu-tiny", 22, tmp_path)
    other = replace(files, base=tmp_path / "base", adapter=tmp_path / "adapter")
    assert problems(other) == []
    for part, name in (("base", SHARD_1), ("base", SHARD_2), ("adapter", "adapter_model.safetensors")):
        mine, theirs = (load_file(getattr(owner, part) / name) for owner in (files, other))
        assert not any(torch.equal(mine[key], theirs[key]) for key in mine)
