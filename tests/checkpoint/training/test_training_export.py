"""The shipped form of what was trained: the same bytes every time, complete, small, and refused when it is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from kit.checkpoint import CheckpointError
from kit.checkpoint.contents import INDEX
from kit.checkpoint.files import hash_files, list_files
from kit.checkpoint.shards import read_index
from kit.checkpoint.training import export
from tests.checkpoint.training import random_decider

STATE = random_decider.network().state_dict()
PAIRS = random_decider.adapter()


def test_the_same_tensors_give_the_same_bytes(random_folder: Path, tmp_path: Path) -> None:
    assert random_decider.checkpoint(tmp_path) == random_decider.checkpoint(tmp_path)
    assert hash_files(tmp_path) == hash_files(random_folder)


def test_the_library_reads_every_tensor_back(random_folder: Path) -> None:
    base = random_folder / "base"
    found = {}
    for shard in sorted(set(read_index(base / INDEX).values())):
        found |= load_file(base / shard)
    assert found.keys() == STATE.keys()
    assert all(torch.equal(found[name], STATE[name].bfloat16()) for name in STATE)
    adapter = load_file(random_folder / "adapter" / "adapter_model.safetensors")
    assert adapter.keys() == PAIRS.keys()
    assert all(torch.equal(adapter[name], PAIRS[name]) for name in PAIRS)
    assert json.loads((random_folder / "adapter" / "decision_config.json").read_text()) == random_decider.CALIBRATION


def test_sizes_of_the_repository(random_folder: Path) -> None:
    """No file over 8 MB, and the folder with its descriptions under 18 MB."""
    sizes = [path.stat().st_size for path in list_files(random_folder).values()]
    assert max(sizes) <= 8_000_000
    described = [path.stat().st_size for path in export.DECIDER.glob("*") if path.is_file()]
    assert sum(sizes) + sum(described) <= 18_000_000


def test_an_earlier_export_is_replaced_and_what_lies_beside_stays(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("what it is")
    random_decider.checkpoint(tmp_path)
    stale = tmp_path / "base" / "model-00003-of-00003.safetensors"
    stale.write_bytes(b"old")
    random_decider.checkpoint(tmp_path, seed=5)
    assert not stale.exists()
    assert (tmp_path / "README.md").read_text() == "what it is"
    assert not list(tmp_path.glob(".making-*"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lm_head.weight": None}, "missing, unknown or of another shape.*lm_head.weight"),
        ({"flag.weight": torch.zeros(1, 256)}, "flag.weight"),
        ({"model.language_model.norm.weight": torch.zeros(255)}, "norm.weight"),
        ({"model.language_model.norm.weight": torch.full((256,), torch.nan)}, "NaN or infinity"),
    ],
)
def test_other_tensors_are_refused_and_nothing_is_left(
    change: dict[str, torch.Tensor | None], message: str, tmp_path: Path
) -> None:
    state = {name: tensor for name, tensor in (STATE | change).items() if tensor is not None}
    with pytest.raises(CheckpointError, match=message):
        export.write(state, PAIRS, random_decider.CALIBRATION, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_calibration_without_temperatures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="needs numbers"):
        export.write(STATE, PAIRS, {"format": "decision-config/1"}, tmp_path)


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(bytes(2_000_000))
    with pytest.raises(CheckpointError, match="expected at most 18,000,000"):
        random_decider.checkpoint(tmp_path)


def test_one_command_from_a_trainings_folder(tmp_path: Path, random_folder: Path) -> None:
    found = tmp_path / "trained" / "checkpoints"
    found.mkdir(parents=True)
    torch.save(STATE, found / "base.pt")
    torch.save(PAIRS, found / "adapter.pt")
    (found / "decision_config.json").write_text(json.dumps(random_decider.CALIBRATION))
    command = [sys.executable, "-m", "kit.checkpoint.training.export", str(tmp_path / "trained"), str(tmp_path / "out")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert hash_files(tmp_path / "out") == hash_files(random_folder)
    assert 'digest = "' in said
