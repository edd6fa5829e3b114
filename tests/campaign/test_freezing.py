"""Answers of a run become the frozen answers of its checkpoint, or nothing is written."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from kit.campaign.freezing import freeze_run
from kit.campaign.protocol import ProtocolError, load_protocol
from kit.profile import Profile
from tests.campaign.synthetic_run import write_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in `run`, and the protocol folder its profile names, without answers yet."""
    write_run(tmp_path / "run")
    folder = tmp_path / "protocol"
    shutil.copytree(tmp_path / "run" / "protocol", folder)
    monkeypatch.setattr(Profile, "protocol_path", lambda self: folder)
    return folder


def test_answers_are_written_under_the_profiles_name_and_can_be_pinned(folder: Path, tmp_path: Path) -> None:
    pin = freeze_run(tmp_path / "run")
    assert pin["answers"] == f"reference-{json.loads((tmp_path / 'run/profile.json').read_text())['name']}.json"
    loaded = load_protocol(folder, pin["sha256"], pin["answers"])
    assert loaded.frozen is not None
    assert len(loaded.frozen) == len(loaded.cases) == pin["responses"]
    assert load_protocol(folder).frozen is not None  # those that were there stay


def test_a_run_over_other_requests_is_refused(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "corpus.jsonl").read_text().splitlines(keepends=True)
    (folder / "corpus.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(ProtocolError, match="asked other requests"):
        freeze_run(tmp_path / "run", "reference-x.json")
    assert not (folder / "reference-x.json").exists()


def test_a_run_without_a_reference_has_nothing_to_freeze(folder: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "alone", engines=("native", "graph"), reference="", claim="baseline")
    with pytest.raises(ProtocolError, match="no records of a reference"):
        freeze_run(tmp_path / "alone")


def test_a_reference_that_contradicts_itself_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kit.campaign import freezing

    read = freezing.read_run

    def second_pass_differs(path: Path) -> object:
        run = read(path)
        exchange = next(iter(run.engines["reference"].measured(2).values()))
        assert exchange.response is not None
        other = dataclasses.replace(exchange, response=exchange.response | {"answers": {}})
        engine = run.engines["reference"]
        exchanges = tuple(other if item is exchange else item for item in engine.exchanges)
        return dataclasses.replace(run, engines=run.engines | {"reference": dataclasses.replace(engine, exchanges=exchanges)})

    monkeypatch.setattr(freezing, "read_run", second_pass_differs)
    with pytest.raises(ProtocolError, match="differently in pass 2"):
        freeze_run(tmp_path / "run", "reference-x.json")
    assert not (folder / "reference-x.json").exists()
