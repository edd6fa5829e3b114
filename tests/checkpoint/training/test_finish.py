"""A run without its results is judged afterwards as it would have been itself."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from kit.checkpoint.training import finish as module
from kit.checkpoint.training.finish import finish
from kit.checkpoint.training.loop import train
from tests.checkpoint.training import tiny_network
from tests.checkpoint.training.test_loop import LEVELS, SETTINGS, options


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    train(options(folder))
    return folder / "run"


@pytest.fixture
def cut(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same run as if it had been cut off before its results."""
    monkeypatch.setattr(module, "LEVELS", LEVELS)
    monkeypatch.setattr(module, "decider_config", tiny_network.config)
    folder = tmp_path / "cut"
    shutil.copytree(whole, folder)
    (folder / "results.json").unlink()
    recipe = json.loads((folder / "recipe.json").read_text())
    (folder / "recipe.json").write_text(json.dumps({**recipe, "finished": False}))
    return folder


def test_its_results_are_those_it_would_have_had(whole: Path, cut: Path) -> None:
    found = finish(cut, SETTINGS, "cpu")
    assert found == json.loads((cut / "results.json").read_text())
    own = json.loads((whole / "results.json").read_text())
    assert {**found, "calibration": None} == {**own, "calibration": None}
    assert found["calibration"] == pytest.approx(own["calibration"])


def test_what_was_fitted_stays_and_what_was_not_is_fitted(whole: Path, cut: Path) -> None:
    config = cut / "checkpoints" / "decision_config.json"
    own = json.loads(config.read_text())
    config.write_text(json.dumps({**own, "temperature": 3.0}))
    assert finish(cut, SETTINGS, "cpu")["calibration"]["temperature"] == 3.0
    (cut / "results.json").unlink()
    config.unlink()
    finish(cut, SETTINGS, "cpu")
    assert json.loads(config.read_text()) == pytest.approx(own)


def test_the_recipe_says_that_it_was_judged_afterwards(cut: Path) -> None:
    finish(cut, SETTINGS, "cpu")
    recipe = json.loads((cut / "recipe.json").read_text())
    assert recipe["finished"]
    assert recipe["judged_afterwards"] == {"device": "cpu", "amounts": {"held_out": 1, "calibration": 1, "permuted": 2, "quick": 1}}
    assert (cut / "curve.png").is_file()


def test_a_finished_run_is_not_judged_again(whole: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["finish", str(whole)])
    assert module.main() == 2
    assert "is there already: this run is finished" in capsys.readouterr().err


def test_a_folder_without_an_adapter_is_refused(cut: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (cut / "checkpoints" / "adapter.pt").unlink()
    monkeypatch.setattr(sys, "argv", ["finish", str(cut)])
    assert module.main() == 2
    assert "adapter.pt" in capsys.readouterr().err
