"""A saved state is the old one or the new one, and comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kit.checkpoint.training import state


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    document = {"steps": 7, "step": {"w": {"value": torch.randn(4, 5)}}, "words": "{}"}
    state.save(tmp_path, document)
    found = state.load(tmp_path)
    assert found is not None
    assert found["steps"] == 7
    assert torch.equal(found["step"]["w"]["value"], document["step"]["w"]["value"])  # type: ignore[index]


def test_parts_are_small_and_old_ones_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "PART", 4096)
    state.save(tmp_path, {"w": torch.randn(4000)})
    first = {path.name for path in tmp_path.glob("*.part")}
    state.save(tmp_path, {"w": torch.randn(4000)})
    second = {path.name for path in tmp_path.glob("*.part")}
    assert len(second) > 3
    assert not first & second
    assert max(path.stat().st_size for path in tmp_path.glob("*.part")) <= 4096


def test_nothing_saved_is_none(tmp_path: Path) -> None:
    assert state.load(tmp_path) is None


def test_a_part_that_changed_or_is_gone_is_refused(tmp_path: Path) -> None:
    state.save(tmp_path, {"w": torch.randn(10)})
    (part,) = tmp_path.glob("*.part")
    part.write_bytes(part.read_bytes()[:-1] + b"x")
    with pytest.raises(state.StateError, match="not those that were saved"):
        state.load(tmp_path)
    part.unlink()
    with pytest.raises(state.StateError, match="missing"):
        state.load(tmp_path)
