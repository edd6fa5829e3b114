"""Requests made for single faults, and the command that asks them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.campaign.planted import command
from kit.campaign.planted.asking import LONGEST, AskingError, Stock
from kit.campaign.planted.command import UnknownFaultError, choose, run
from kit.campaign.planted.document import summarise
from kit.campaign.protocol import protocol_of
from kit.campaign.run_folder import RunError
from kit.contract.errors import ContractError
from kit.engine.prepare import Preparer
from kit.engine.preview import preparer_without_weights
from kit.profile import Profile


@pytest.fixture(scope="module")
def preparer(profile: Profile) -> Preparer:
    return preparer_without_weights(profile)


@pytest.fixture(scope="module")
def stock(profile: Profile, preparer: Preparer) -> Stock:
    return Stock(protocol_of(profile), preparer, profile.limits)


def test_over_budget_is_refused_for_its_tokens(stock: Stock, preparer: Preparer) -> None:
    with pytest.raises(ContractError, match="over the budget of 3072 for images"):
        preparer.prepare(stock["over-budget"].body)


def test_same_length_differs_and_is_as_long(stock: Stock, preparer: Preparer) -> None:
    one, other = (preparer.prepare(stock[name].body).questions[0].input_ids for name in ("severity-score-3", "same-length"))
    assert len(one) == len(other)
    assert one != other


def test_the_campaign_is_the_protocol_but_for_the_longest_and_a_second_pass(stock: Stock, preparer: Preparer) -> None:
    names = [ask.name for ask in stock.campaign()]
    assert len(names) > len(set(names))
    assert not set(stock.left_out) & set(names)
    for name in stock.left_out:
        assert max(len(item.input_ids) for item in preparer.prepare(stock[name].body).questions) > LONGEST
    assert set(stock.left_out) <= {ask.name for ask in stock.more()}


def test_a_protocol_without_a_request_is_refused_in_words(stock: Stock) -> None:
    with pytest.raises(AskingError, match="no request 'nowhere'"):
        stock["nowhere"]


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(UnknownFaultError, match=r"no fault or control 'x'; there are adapter-dropped, .*other-isa"):
        choose("cpu", only="x")
    assert "batch-neighbour" not in [control.name for control in choose("cuda").controls]


def test_a_run_keeps_the_whole_table_or_none(profile: Profile) -> None:
    with pytest.raises(RunError, match="leave out --only and --quick"):
        run(profile, "params/cpu-tiny.toml", quick=True, run_id="somewhere")


def test_an_unsealed_run_keeps_the_document(profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIT_RUNS", str(tmp_path))
    monkeypatch.setattr(command, "measure", lambda *_: {"faults": [], "controls": [], "summary": summarise([], [])})
    run(profile, "params/cpu-tiny.toml", run_id="mine")
    assert json.loads((tmp_path / "mine" / "records" / "faults.json").read_text())["summary"]["faults"] == 0
    (tmp_path / "mine" / "SHA256SUMS").write_text("")
    with pytest.raises(RunError, match="is sealed"):
        run(profile, "params/cpu-tiny.toml", run_id="mine")


def test_one_fault_alone_writes_its_document_and_picture(profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "faults.json", tmp_path / "faults.png"
    summary = run(profile, "params/cpu-tiny.toml", only="no-temperature", quick=True, out=out, plot=plot)
    document = json.loads(out.read_text())
    assert document["format"] == "kit-faults/1"
    assert document["summary"] == summary
    assert (summary["faults"], summary["caught"], summary["tiers"]["http"]["faults"]) == (1, 1, 1)
    assert plot.stat().st_size > 1000
    assert "no-temperature" in capsys.readouterr().out
