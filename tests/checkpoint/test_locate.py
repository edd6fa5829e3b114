"""Finding the default checkpoint: made once, made alike everywhere, refused when damaged."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit import checkpoint
from kit.checkpoint import CheckpointError, CheckpointFiles, synthetic
from kit.profile import PROJECT_ROOT, Profile

LOCATE = (
    "import json, sys; from kit import checkpoint; from kit.profile import load_profile; "
    "print(checkpoint.locate(load_profile(sys.argv[1])).base)"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KIT_CACHE", str(tmp_path))
    return tmp_path / "checkpoints"


def pinned(profile: Profile, **changes: object) -> Profile:
    return dataclasses.replace(profile, checkpoint=dataclasses.replace(profile.checkpoint, **changes))


def test_first_use_generates_and_the_second_reuses(
    cache: Path, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = checkpoint.locate(profile)
    assert first.base == cache / f"cpu-tiny-{profile.checkpoint.digest[:12]}" / "base"
    assert first.digest == profile.checkpoint.digest
    monkeypatch.setattr(synthetic, "write", lambda *a: pytest.fail("generated again"))
    assert checkpoint.locate(profile) == first


def test_two_processes_at_once_give_one_checkpoint_with_the_same_bytes(cache: Path, profile: Profile) -> None:
    """The digest is checked in both processes; neither sees a half-written folder."""
    command = [sys.executable, "-c", LOCATE, "params/cpu-tiny.toml"]
    started = [subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0].strip() for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert outputs[0] == outputs[1]
    assert sorted(p.name for p in cache.iterdir()) == [".lock", f"cpu-tiny-{profile.checkpoint.digest[:12]}"]


def test_leftovers_of_a_killed_process_are_removed(cache: Path, profile: Profile) -> None:
    leftover = cache / ".making-killed"
    (leftover / "base").mkdir(parents=True)
    checkpoint.locate(profile)
    assert not leftover.exists()


@pytest.mark.parametrize("name", ["base/config.json", "base/model-00002-of-00002.safetensors"])
def test_a_changed_file_is_refused(cache: Path, profile: Profile, name: str) -> None:
    path = checkpoint.locate(profile).base.parent / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="delete that folder and run again"):
        checkpoint.locate(profile)


def test_an_added_file_is_refused(cache: Path, profile: Profile) -> None:
    (checkpoint.locate(profile).base / "model.py").write_text("raise SystemExit")
    with pytest.raises(CheckpointError, match="delete that folder"):
        checkpoint.locate(profile)


def test_a_link_out_of_the_folder_is_refused(cache: Path, profile: Profile, tmp_path: Path) -> None:
    config = checkpoint.locate(profile).base / "config.json"
    outside = tmp_path / "config.json"
    os.replace(config, outside)
    config.symlink_to(outside)
    with pytest.raises(CheckpointError, match="leads out of the checkpoint"):
        checkpoint.locate(profile)


def test_another_seed_does_not_pass_for_the_pinned_digest(cache: Path, profile: Profile) -> None:
    with pytest.raises(CheckpointError, match=f"the profile pins {profile.checkpoint.digest}"):
        checkpoint.locate(pinned(profile, seed=22))
    assert not any(path.name.startswith(("cpu-tiny", ".making")) for path in cache.iterdir())


def test_an_unknown_generator_names_the_known_ones(cache: Path, profile: Profile) -> None:
    with pytest.raises(ValueError, match="expected one of cpu-tiny"):
        checkpoint.locate(pinned(profile, generator="cpu-small"))


def test_calibration_is_the_adapters(files: CheckpointFiles) -> None:
    assert files.calibration.temperature == 1.3480874159655591
    assert files.calibration.mm_temperature == 1.3954832341582943
    assert files.calibration.threshold == 0.9872681877423998


@pytest.mark.parametrize("change", [{"temperature": None}, {"mm_temperature": "warm"}])
def test_a_calibration_without_its_numbers_is_refused(copied: CheckpointFiles, change: dict[str, object]) -> None:
    path = copied.adapter / "decision_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CheckpointError, match="needs numbers"):
        checkpoint.read_calibration(copied.adapter)


def test_a_folder_profile_takes_any_folder_and_names_its_bytes(copied: CheckpointFiles, profile: Profile) -> None:
    folder = pinned(profile, kind="folder", base=str(copied.base), adapter=str(copied.adapter), digest="")
    assert checkpoint.locate(folder).digest == profile.checkpoint.digest
    (copied.base / "config.json").write_text("{}")
    assert checkpoint.locate(folder).digest != profile.checkpoint.digest


def test_make_reports_and_refuses_what_cannot_be_made(profile: Profile, copied: CheckpointFiles) -> None:
    assert checkpoint.make(profile)["problems"] == []
    folder = pinned(profile, kind="folder", base=str(copied.base), adapter=str(copied.adapter))
    with pytest.raises(CheckpointError, match="nothing to make"):
        checkpoint.make(folder)


def test_a_folder_without_weights_says_how_they_come_there(copied: CheckpointFiles, profile: Profile) -> None:
    folder = pinned(profile, kind="folder", base=str(copied.base), adapter=str(copied.adapter), digest="")
    (copied.adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"adapter: holds no weights.*kit\.checkpoint\.training\.export"):
        checkpoint.locate(folder)


def test_a_folder_profile_may_pin_its_bytes(copied: CheckpointFiles, profile: Profile) -> None:
    keys = {"kind": "folder", "base": str(copied.base), "adapter": str(copied.adapter)}
    folder = pinned(profile, **keys)  # with the digest of the checkpoint that was copied
    assert checkpoint.locate(folder).digest == profile.checkpoint.digest
    (copied.adapter / "decision_config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"the profile pins .*git restore"):
        checkpoint.locate(folder)
