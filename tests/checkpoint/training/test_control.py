"""A hand on a run: what it names is set, and what cannot be used changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.checkpoint.training.control import Control
from kit.checkpoint.training.curriculum import Curriculum


def test_a_hand_on_a_run_sets_what_it_names_once(tmp_path: Path) -> None:
    curriculum = Curriculum.begin({"match": 3, "facts": 2, "console": 2}, ("console",), 0.25)
    control = Control(tmp_path / "control.json")
    assert control.read(curriculum) is None
    control.path.write_text('{"weights": {"facts": 2}, "tops": {"match": 9}, "rate": 0.5, "images": 0.1}')
    assert control.read(curriculum) == {"weights": {"facts": 2}, "tops": {"match": 9}, "rate": 0.5, "images": 0.1}
    assert (curriculum.tops["match"], curriculum.fixed_weights, control.rate) == (2, {"facts": 2.0}, 0.5)
    assert control.read(curriculum) is None


@pytest.mark.parametrize("text", [
    "{", '{"speed": 2}', '{"tops": {"nothing": 1}}', "[]", '{"rate": "fast"}', '{"tops": {"match": 2}, "rate": -1}', '{"images": 2}',
    '{"weights": {"match": 0}}', '{"weights": {"match": NaN}}', '{"tops": {"match": 1}, "images": "half"}',
])  # fmt: skip
def test_a_hand_that_cannot_be_read_is_refused_and_changes_nothing(tmp_path: Path, text: str) -> None:
    curriculum = Curriculum.begin({"match": 3}, (), 0.25)
    before = curriculum.state()
    control = Control(tmp_path / "control.json")
    control.path.write_text(text)
    refused = control.read(curriculum)
    assert refused is not None
    assert "refused" in refused
    assert (curriculum.state(), control.rate) == (before, 1.0)
