"""The auditor on right answers: counted again from responses and corpus, one forged figure is named, none without a judge."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import report
from kit.evidence.attack import runner
from kit.evidence.attack.families import accuracy, consistent
from kit.evidence.attack.suspect import Content
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[Any], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle of a judged profile: one wrong answer of nine, six requests of seven wholly right, six demanded."""
    return make_bundle(tmp_path_factory.mktemp("judged"), least_right=6)


@pytest.fixture
def tamper(made: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(made, tmp_path / "bundle"))


def test_a_good_bundle_passes_and_says_what_is_right(made: Path) -> None:
    assert audit_problems(made) == []
    verdict = json.loads((made / "verdict.json").read_text())
    assert verdict["accuracy"] == {"engine": "graph", "correct": 8, "of": 9, "requests_right": 6, "requests": 7}
    assert [gate["detail"] for gate in verdict["gates"] if gate["gate"] == "accuracy"] == [
        "6 of 7 requests are right, at least 6 must be"
    ] * 3


def test_too_few_right_requests_fail_and_the_auditor_says_so(tmp_path: Path) -> None:
    path = make_bundle(tmp_path, least_right=7)
    assert json.loads((path / "verdict.json").read_text())["failures"] == ["accuracy"]
    assert any(problem.startswith("gates: gate accuracy graph: failed: 1, bound 0") for problem in audit_problems(path))


FORGED: dict[str, tuple[str, Edit, str]] = {
    "a count": ("drift.json", lambda d: d["accuracy"]["passes"][0].update(correct=9), "accuracy passes[0].correct: is 9, recomputed 8"),
    "a wrong answer hidden": ("drift.json", lambda d: d["accuracy"]["passes"][5]["wrong"].clear(), "accuracy passes[5].wrong[0]"),
    "a calibration error": ("drift.json", lambda d: d["accuracy"]["reliability"][1].update(ece=0.0), "accuracy reliability[1].ece"),
    "a test": ("drift.json", lambda d: d["accuracy"]["mcnemar"][0].update(p=0.5), "accuracy mcnemar[0].p: is 0.5, recomputed null"),
    "nothing told": ("drift.json", lambda d: d.pop("accuracy"), "drift.json accuracy: is null, expected the right answers"),
    "the headline": ("verdict.json", lambda d: d["accuracy"].update(correct=9), "verdict.json accuracy correct: is 9, recomputed 8"),
}


@pytest.mark.parametrize(("name", "edit", "message"), FORGED.values(), ids=FORGED)
def test_a_forged_figure_is_named(tamper: Tamper, name: str, edit: Edit, message: str) -> None:
    tamper.json(name, edit)
    tamper.reseal()
    assert any(message in problem for problem in audit_problems(tamper.path))


def test_right_answers_of_a_profile_that_judges_none_are_refused(sealed: Path, tmp_path: Path) -> None:
    tamper = Tamper(shutil.copytree(sealed, tmp_path / "bundle"))
    assert "accuracy" not in json.loads((sealed / "verdict.json").read_text())
    tamper.json("verdict.json", lambda d: d.update(accuracy=accuracy.BOAST))
    tamper.reseal()
    assert any("verdict.json accuracy" in problem and "expected null" in problem for problem in audit_problems(tamper.path))


def test_every_attack_on_right_answers_is_refused(made: Path) -> None:
    offered = list(accuracy.mutations(Content(made), random.Random(1)))
    attack = runner.attack(made, only=("accuracy",), seed=1)
    assert len(attack.outcomes) == len(offered) >= 15
    assert [f"{outcome.mutation.id}: {outcome.fault}" for outcome in attack.survivors] == []


def test_where_no_more_may_be_wrong_a_turned_answer_is_no_consistent_forgery(made: Path, sealed: Path) -> None:
    turned = [
        [m.id for m in consistent.mutations(Content(path), random.Random(1)) if "negated" in m.name] for path in (sealed, made)
    ]
    assert [len(found) for found in turned] == [1, 0]


def test_the_report_shows_right_answers_and_the_wrong_ones_by_name(made: Path, sealed: Path) -> None:
    page = report.render(made)
    assert '<h2 id="right-answers">Right answers</h2>' in page
    assert "8 of 9 (graph, first pass)" in page
    assert "image-four" in page
    assert "not enough" in page
    unjudged = report.render(sealed)
    assert 'id="right-answers"' not in unjudged
    assert "not judged" in unjudged
