"""Pinned downloads, on local folders: a copier stands in for the hub."""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kit import checkpoint
from kit.checkpoint import CheckpointError, CheckpointFiles, hub
from kit.checkpoint.files import digest_of, hash_files
from kit.checkpoint.pins import load_pins
from kit.profile import PROJECT_ROOT, Profile, load_profile

REVISIONS = {"lab/base": "a" * 40, "lab/adapter": "b" * 40}


class Hub:
    """Copies a repository the way `snapshot_download` fills a local folder; may stop after some files."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self.folders = folders
        self.stop_after = 1000
        self.copied: list[str] = []

    def snapshot_download(self, repo_id: str, *, revision: str, local_dir: Path, allow_patterns: list[str]) -> str:
        assert revision == REVISIONS[repo_id]
        for path in sorted(self.folders[repo_id].iterdir()):
            if not any(fnmatch.fnmatch(path.name, pattern) for pattern in allow_patterns):
                continue
            if (local_dir / path.name).exists():
                continue
            if len(self.copied) >= self.stop_after:
                raise OSError("connection reset by peer\nand more lines")
            shutil.copyfile(path, local_dir / path.name)
            self.copied.append(path.name)
        return str(local_dir)


@pytest.fixture
def remote(copied: CheckpointFiles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    monkeypatch.setenv("KIT_CACHE", str(tmp_path / "cache"))
    (copied.base / "README.md").write_text("not pinned, not fetched")
    there = Hub({"lab/base": copied.base, "lab/adapter": copied.adapter})
    monkeypatch.setattr(hub, "snapshot_download", there.snapshot_download)
    monkeypatch.setattr(hub, "try_to_load_from_cache", lambda *a, **k: None)
    return there


@pytest.fixture
def pins_file(files: CheckpointFiles, tmp_path: Path) -> Path:
    data = {
        "format": "kit-pins/1",
        "label_token_ids": [*range(32, 58), *range(15, 21)],
        "base": {
            "repository": "lab/base",
            "revision": REVISIONS["lab/base"],
            "shapes": {"lm_head.weight": [4096, 256]},
            "ignored": ["mtp."],
            "sha256": hash_files(files.base),
        },
        "adapter": {
            "repository": "lab/adapter",
            "revision": REVISIONS["lab/adapter"],
            "lora": {"rank": 16, "alpha": 32, "tensors": 62},
            "calibration": {"temperature": 1.3480874159655591, "mm_temperature": 1.3954832341582943},
            "sha256": hash_files(files.adapter),
        },
    }
    path = tmp_path / "pins.json"
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def published(profile: Profile, pins_file: Path) -> Profile:
    source = dataclasses.replace(
        profile.checkpoint,
        kind="hub",
        base="lab/base",
        base_revision=REVISIONS["lab/base"],
        adapter="lab/adapter",
        adapter_revision=REVISIONS["lab/adapter"],
        pins=str(pins_file),
    )
    return dataclasses.replace(profile, name="lab", checkpoint=source)


def change_pins(path: Path, part: str, **changes: Any) -> None:
    data = json.loads(path.read_text())
    data[part] |= changes
    path.write_text(json.dumps(data))


def test_fetch_takes_the_pinned_files_and_nothing_else(remote: Hub, published: Profile, files: CheckpointFiles) -> None:
    report = checkpoint.fetch(published)
    assert report["problems"] == []
    assert "README.md" not in os.listdir(report["base"])
    located = checkpoint.locate(published)
    assert located.digest == files.digest == report["digest"]
    assert located.calibration == files.calibration
    assert located.source == "lab/base@aaaaaaaaaaaa with lab/adapter@bbbbbbbbbbbb"


def test_an_interrupted_download_continues(remote: Hub, published: Profile) -> None:
    remote.stop_after = 3
    with pytest.raises(CheckpointError, match="connection reset by peer'; what is there is kept"):
        checkpoint.fetch(published)
    with pytest.raises(CheckpointError, match="is not on disk"):
        checkpoint.locate(published)
    remote.stop_after = 1000
    assert checkpoint.fetch(published)["problems"] == []
    assert len(remote.copied) == len(set(remote.copied))


def test_a_file_with_wrong_bytes_is_removed_and_loaded_again(remote: Hub, published: Profile) -> None:
    config = remote.folders["lab/base"] / "config.json"
    good = config.read_bytes()
    config.write_bytes(good + b" ")
    with pytest.raises(CheckpointError, match=r"1 downloaded files .*base/config\.json"):
        checkpoint.fetch(published)
    config.write_bytes(good)
    assert checkpoint.fetch(published)["problems"] == []


def test_nothing_on_disk_says_how_to_fetch(remote: Hub, published: Profile) -> None:
    with pytest.raises(CheckpointError, match=r"python -m kit checkpoint params/lab\.toml fetch"):
        checkpoint.locate(published)


def test_files_that_changed_since_they_were_verified_are_refused(remote: Hub, published: Profile) -> None:
    base = Path(checkpoint.fetch(published)["base"])
    shard = base / "model-00001-of-00002.safetensors"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"model-00001-of-00002\.safetensors changed since it was verified"):
        checkpoint.locate(published)
    report = checkpoint.verify(published)
    assert any("model-00001-of-00002.safetensors: SHA-256 is" in line for line in report["problems"])
    with pytest.raises(CheckpointError, match="changed since"):
        checkpoint.locate(published)


def test_a_file_put_beside_the_pinned_ones_is_reported(remote: Hub, published: Profile) -> None:
    base = Path(checkpoint.fetch(published)["base"])
    (base / "modeling_extra.py").write_text("")
    (base / "LICENSE").write_text("")
    assert checkpoint.verify(published)["problems"] == [
        "base/modeling_extra.py: not pinned, and a loader might read it: remove it"
    ]


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("adapter", {"lora": {"rank": 16, "alpha": 16, "tensors": 62}}, "lora_alpha is 32, pinned 16"),
        ("adapter", {"lora": {"rank": 16, "alpha": 32, "tensors": 992}}, "62 tensors, pinned 992"),
        ("adapter", {"calibration": {"temperature": 1.0}}, "temperature is 1.348"),
        ("base", {"shapes": {"lm_head.weight": [4096, 128]}}, "lm_head.weight has shape"),
    ],
)
def test_facts_of_the_pins_are_checked(
    remote: Hub, published: Profile, pins_file: Path, part: str, changes: dict[str, Any], message: str
) -> None:
    change_pins(pins_file, part, **changes)
    assert any(message in line for line in checkpoint.fetch(published)["problems"])


def test_the_profile_and_its_pins_must_name_the_same_commit(remote: Hub, published: Profile, pins_file: Path) -> None:
    change_pins(pins_file, "base", revision="c" * 40)
    with pytest.raises(CheckpointError, match=r"checkpoint\.base is lab/base@aaaa"):
        checkpoint.locate(published)


@pytest.mark.parametrize("name", ["../config.json", "/etc/passwd", "a/../b", "a\\b", "", "./a"])
def test_pins_with_unsafe_names_are_refused(pins_file: Path, name: str) -> None:
    change_pins(pins_file, "base", sha256={name: "0" * 64})
    with pytest.raises(CheckpointError, match="plain relative file name"):
        load_pins(pins_file)


@pytest.mark.parametrize(("key", "value"), [("revision", "main"), ("sha256", {"a": "XY"}), ("shapes", None)])
def test_malformed_pins_are_refused(pins_file: Path, key: str, value: Any) -> None:
    change_pins(pins_file, "base", **{key: value})
    with pytest.raises(CheckpointError, match=r"pins\.json"):
        load_pins(pins_file)


class TestHubCache:
    """A snapshot in the hub's own cache: every file is a link to a blob of the same repository."""

    @pytest.fixture
    def snapshots(
        self, remote: Hub, tmp_path: Path, files: CheckpointFiles, monkeypatch: pytest.MonkeyPatch
    ) -> dict[str, Path]:
        made = {}
        for name, source in (("lab/base", files.base), ("lab/adapter", files.adapter)):
            root = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
            snapshot = root / "snapshots" / REVISIONS[name]
            snapshot.mkdir(parents=True)
            (root / "blobs").mkdir()
            for path in source.iterdir():
                shutil.copyfile(path, root / "blobs" / path.name)
                (snapshot / path.name).symlink_to(Path("../../blobs") / path.name)
            made[name] = snapshot
        monkeypatch.setattr(
            hub, "try_to_load_from_cache", lambda repo, name, revision: str(made[repo] / name)
        )
        return made

    def test_is_found_verified_and_then_accepted(self, snapshots: dict[str, Path], published: Profile) -> None:
        with pytest.raises(CheckpointError, match="never verified on this machine"):
            checkpoint.locate(published)
        assert checkpoint.verify(published)["problems"] == []
        assert checkpoint.locate(published).base == snapshots["lab/base"]

    def test_a_link_to_anywhere_else_is_refused(
        self, snapshots: dict[str, Path], published: Profile, tmp_path: Path, files: CheckpointFiles
    ) -> None:
        link = snapshots["lab/base"] / "config.json"
        link.unlink()
        link.symlink_to(files.base / "config.json")
        with pytest.raises(CheckpointError, match="leads out of the checkpoint"):
            checkpoint.locate(published)

    def test_the_tokenizer_alone_can_be_used(self, snapshots: dict[str, Path], published: Profile) -> None:
        (snapshots["lab/base"] / "model-00001-of-00002.safetensors").unlink()
        found = checkpoint.find_tokenizer(published)
        assert found is not None
        assert found.source == str(snapshots["lab/base"] / "tokenizer.json")

    def test_a_tokenizer_with_other_bytes_is_not(self, snapshots: dict[str, Path], published: Profile) -> None:
        blob = (snapshots["lab/base"] / "tokenizer.json").resolve()
        blob.write_bytes(blob.read_bytes() + b" ")
        assert checkpoint.find_tokenizer(published) is None


class TestPublishedPins:
    """The pins of the real weights, without them."""

    def test_profile_and_pins_agree(self) -> None:
        profile = load_profile("params/jemm-27b.toml")
        pins = hub.pins_of(profile)
        assert (pins.rank, pins.alpha, pins.lora_tensors) == (16, 32, 992)
        assert pins.label_token_ids == (*range(32, 58), *range(15, 21))
        assert sum(name.endswith(".safetensors") for name in pins.base.sha256) == 18
        assert pins.digest() == digest_of(pins.hashes())

    def test_without_the_weights_the_profile_says_how_to_get_them(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KIT_CACHE", str(tmp_path))
        with pytest.raises(CheckpointError, match=r"params/jemm-27b\.toml fetch"):
            checkpoint.locate(load_profile(PROJECT_ROOT / "params" / "jemm-27b.toml"))
