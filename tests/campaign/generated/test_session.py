"""The stage's work on cpu-tiny with a handful of questions: both sides, a few layers, the oracle, the budget."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.generated import lines, session
from kit.profile import Generated, Profile


@pytest.fixture(scope="module")
def few(profile: Profile) -> Profile:
    return dataclasses.replace(profile, generated=Generated(12, 5))


@pytest.fixture(scope="module")
def measured(few: Profile, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("measured")
    return session.measure(few, folder, 0.0), folder


def test_every_question_is_answered_by_both_sides_with_the_same_bits(measured: tuple[dict[str, Any], Path]) -> None:
    document, folder = measured
    assert document["reached"] == document["declared"] == len(lines.read(folder / lines.FILE)) == 12
    assert document["candidate"] == "graph"
    assert document["all"]["hidden_different"] == document["all"]["logits_different"] == document["all"]["flips"] == 0
    assert document["how"]["reference"] == "called"
    assert sorted(document["seconds"]) == ["answering", "layers", "oracle"]


def test_the_oracle_is_a_rounding_away_from_both(measured: tuple[dict[str, Any], Path]) -> None:
    oracle = measured[0]["oracle"]
    assert oracle["questions"] == 12
    assert 0.001 < oracle["hidden"]["reference"]["p50"] < 0.05
    assert oracle["hidden"]["ratio"]["mean"] == 1.0


def test_two_requests_of_each_modality_are_walked(measured: tuple[dict[str, Any], Path]) -> None:
    layers = json.loads((measured[1] / session.LAYERS).read_text())
    assert [(pair["engine"], pair["against"]) for pair in layers["pairs"]] == [
        ("graph", "reference"),
        ("reference", "oracle"),
        ("graph", "oracle"),
    ]
    walked = [prompt["request"] for prompt in layers["pairs"][0]["prompts"]]
    assert walked == ["text-0000", "text-0001", "image-0000", "image-0001"]
    assert layers["pairs"][0]["over"] == 0
    assert set(layers["oracle_ratio"]["graph"].values()) == {1.0}


def test_what_the_budget_does_not_reach_is_counted(few: Profile, tmp_path: Path) -> None:
    ticks = itertools.count()
    document = session.measure(few, tmp_path, 5.0, clock=lambda: float(next(ticks)))
    assert (document["declared"], document["reached"]) == (12, 4)
    assert len(lines.read(tmp_path / lines.FILE)) == 4
    assert "image" not in document


def test_a_budget_that_reaches_nothing_is_an_error(few: Profile, tmp_path: Path) -> None:
    ticks = itertools.count(step=10)
    with pytest.raises(session.NothingReachedError, match="budget_s of 5 s was spent before the first question"):
        session.measure(few, tmp_path, 5.0, clock=lambda: float(next(ticks)))
    assert not (tmp_path / lines.FILE).exists()
