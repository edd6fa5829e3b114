"""The default profile and its checkpoint, generated once into the cache."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kit import checkpoint
from kit.checkpoint import CheckpointFiles
from kit.profile import Profile, load_profile


@pytest.fixture(scope="session")
def profile() -> Profile:
    return load_profile("params/cpu-tiny.toml")


@pytest.fixture(scope="session")
def files(profile: Profile) -> CheckpointFiles:
    return checkpoint.locate(profile)


@pytest.fixture
def copied(files: CheckpointFiles, tmp_path: Path) -> CheckpointFiles:
    """A copy that a test may damage."""
    for part, source in (("base", files.base), ("adapter", files.adapter)):
        shutil.copytree(source, tmp_path / "copy" / part)
    return CheckpointFiles(
        tmp_path / "copy" / "base", tmp_path / "copy" / "adapter", files.digest, files.calibration, "a copy"
    )


def edit_json(path: Path, **changes: Any) -> None:
    """Change top-level keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
