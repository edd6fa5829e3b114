"""What the auditor makes of diagnosis.json: only beside a failed gate, and its distances are those of the answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.diagnosis.evidence import FILE
from tests.campaign.diagnosis.test_evidence import compared, exchange_first_two
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_bundle(tmp_path_factory.mktemp("failed"), change=exchange_first_two)
    attach(path)
    return path


def attach(path: Path) -> None:
    document = compared(path)
    document["checkpoint_digest"] = json.loads((path / "checkpoint.json").read_text())["digest"]
    (path / FILE).write_text(json.dumps(document))
    put_right(path)


def put_right(path: Path) -> None:
    tamper = Tamper(path)
    tamper.describe_again()
    tamper.reseal()


def about(path: Path) -> list[str]:
    return [problem for problem in audit_problems(path) if FILE in problem]


def test_a_diagnosis_beside_a_failed_gate_is_sound(diagnosed: Path) -> None:
    assert about(diagnosed) == []
    assert any("the run failed" in problem for problem in audit_problems(diagnosed))


def test_a_passing_bundle_has_no_diagnosis(bundle: Path) -> None:
    attach(bundle)
    problems = about(bundle)
    assert any("stands in a bundle of which no engine failed a gate" in problem for problem in problems)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda e: e["matches"][0].update(distance=0.25), "recomputed"),
        (lambda e: e["matches"][6].update(equal=0), "equal"),
        (lambda e: e.update(words="graph answers as the reference does"), "do not name the engine"),
        (lambda e: e.update(words="native answers as the reference does with its adapter off"), "do not say"),
        (lambda e: e.update(questions=1), "questions"),
        (lambda e: e["nearest"].update(distance=0.5), "none of its own rows"),
        (lambda e: e["matches"][0].update(distance=True), "recomputed"),
    ],
)
def test_an_edited_diagnosis_is_refused(diagnosed: Path, tmp_path: Path, edit: Edit, message: str) -> None:
    path = shutil.copytree(diagnosed, tmp_path / "bundle")
    Tamper(path).json(FILE, lambda document: edit(document["engines"]["native"]))
    put_right(path)
    assert any(message in problem for problem in about(path))


def test_another_engine_or_checkpoint_is_refused(diagnosed: Path, tmp_path: Path) -> None:
    path = shutil.copytree(diagnosed, tmp_path / "bundle")

    def edit(document: dict[str, Any]) -> None:
        document["engines"]["graph"] = document["engines"]["native"]
        document["checkpoint_digest"] = "1" * 64

    Tamper(path).json(FILE, edit)
    put_right(path)
    problems = about(path)
    assert any("is no engine of this run that failed a gate" in problem for problem in problems)
    assert any("checkpoint_digest" in problem for problem in problems)
