"""Answers of a run become the frozen answers of its checkpoint, or nothing is written."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.campaign import freezing
from kit.campaign.freezing import freeze_run
from kit.campaign.protocol import ProtocolError, load_protocol
from kit.campaign.reading import Exchange, read_run
from kit.profile import Profile
from tests.campaign.synthetic_run import write_run


def judge(run: Path, verdict: str) -> None:
    (run / "verdict.json").write_text(json.dumps({"verdict": verdict}))


def recorded_with(monkeypatch: pytest.MonkeyPatch, change: Callable[[Exchange], Exchange | None]) -> None:
    """The records as `freeze_run` reads them, the reference's first answer of pass 2 changed, or left out (None)."""

    def changed(path: Path) -> object:
        run = read_run(path)
        engine = run.engines["reference"]
        chosen = next(iter(engine.measured(2).values()))
        exchanges = [change(item) if item is chosen else item for item in engine.exchanges]
        other = dataclasses.replace(engine, exchanges=tuple(filter(None, exchanges)))
        return dataclasses.replace(run, engines=run.engines | {"reference": other})

    monkeypatch.setattr(freezing, "read_run", changed)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run in `run`, and the protocol folder its profile names, without answers yet."""
    write_run(tmp_path / "run")
    judge(tmp_path / "run", "pass")
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
    judge(tmp_path / "alone", "pass")
    with pytest.raises(ProtocolError, match="no records of a reference"):
        freeze_run(tmp_path / "alone")


def test_a_reference_that_contradicts_itself_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(exchange: Exchange) -> Exchange:
        assert exchange.response is not None
        return dataclasses.replace(exchange, response=exchange.response | {"answers": {}})

    recorded_with(monkeypatch, other)
    with pytest.raises(ProtocolError, match="differently in pass 2"):
        freeze_run(tmp_path / "run", "reference-x.json")
    assert not (folder / "reference-x.json").exists()


def test_a_pass_that_is_not_whole_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_with(monkeypatch, lambda exchange: None)
    with pytest.raises(ProtocolError, match=r"no answer to .* in pass 2"):
        freeze_run(tmp_path / "run", "reference-x.json")
    assert not (folder / "reference-x.json").exists()


def test_a_run_that_did_not_pass_is_refused(folder: Path, tmp_path: Path) -> None:
    judge(tmp_path / "run", "fail")
    with pytest.raises(ProtocolError, match="is 'fail', not 'pass'"):
        freeze_run(tmp_path / "run", "reference-x.json")
    (tmp_path / "run" / "verdict.json").unlink()
    with pytest.raises(ProtocolError, match="has no verdict"):
        freeze_run(tmp_path / "run", "reference-x.json")
    assert not (folder / "reference-x.json").exists()


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="nowhere: no such run folder"):
        freeze_run(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name",
    ["corpus.jsonl", "generate.py", "SHA256SUMS", "../reference-x.json", "/tmp/reference-x.json", "images/reference.json",
     "reference-x.json.bak", "reference-../x.json", "Reference.json", "reference-x.json\n"],
)  # fmt: skip
def test_answers_have_a_plain_name_of_their_own(folder: Path, tmp_path: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ProtocolError, match="expected a plain file name"):
        freeze_run(tmp_path / "run", name)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_answers_that_are_there_stay_unless_they_are_the_same(folder: Path, tmp_path: Path) -> None:
    pin = freeze_run(tmp_path / "run", "reference-x.json")
    assert freeze_run(tmp_path / "run", "reference-x.json") == pin | {"repin": []}
    before = (folder / "reference.json").read_bytes()
    with pytest.raises(ProtocolError, match=r"other answers reference\.json already"):
        freeze_run(tmp_path / "run", "reference.json")
    assert (folder / "reference.json").read_bytes() == before


def test_profiles_that_pin_the_protocol_as_it_was_are_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "PROFILES", tmp_path)
    (tmp_path / "pins.toml").write_text(f'[protocol]\nsha256 = "{load_protocol(folder).sha256}"\n')
    (tmp_path / "other.toml").write_text("[protocol]\nfrozen = false\n")
    assert freeze_run(tmp_path / "run", "reference-x.json")["repin"] == ["pins.toml"]
