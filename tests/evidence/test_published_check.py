"""What the auditor makes of a protocol that was published elsewhere: it is held to the packed pins."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.evidence import audit
from kit.evidence.records import sha256_bytes
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("sealed"), pins="kit/pins.json")


@pytest.fixture
def tamper(sealed: Path, tmp_path: Path) -> Tamper:
    return Tamper(Path(shutil.copytree(sealed, tmp_path / "bundle")))


def found(path: Path) -> list[str]:
    return [problem for problem in audit_problems(path) if problem.startswith("published: ")]


def edit_answers(tamper: Tamper, change: Callable[[list], object]) -> None:
    """Change the frozen answers and put every digest of the protocol right."""
    folder = tamper.path / "protocol"
    answers = json.loads((folder / "reference.json").read_text())
    change(answers)
    (folder / "reference.json").write_text(json.dumps(answers))
    names = ("corpus.jsonl", "reference.json")
    sums = "".join(f"{sha256_bytes((folder / name).read_bytes())}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text(sums)
    tamper.json("run.json", lambda d: d.update(protocol_sha256=sha256_bytes(sums.encode())))
    tamper.reseal()


def test_a_protocol_as_pinned_is_no_problem(sealed: Path) -> None:
    assert audit.judge(str(sealed))["problems"] == []


def test_an_answer_that_was_not_published(tamper: Tamper) -> None:
    def nudge(answers: list) -> None:
        probabilities = answers[0]["response"]["answers"]["route"]["probabilities"]
        probabilities.update(billing=probabilities["billing"] * 1.0001)

    edit_answers(tamper, nudge)
    assert found(tamper.path)[0].startswith("published: protocol/reference.json text-choice answers: found")


def test_another_token_total(tamper: Tamper) -> None:
    edit_answers(tamper, lambda a: a[1]["response"]["usage"].update(input_tokens=7))
    assert found(tamper.path)[0].startswith("published: protocol/reference.json text-score input_tokens: found 7")


def test_an_answer_left_out(tamper: Tamper) -> None:
    edit_answers(tamper, lambda a: a.pop(0))
    assert found(tamper.path) == ["published: protocol/reference.json text-choice: is missing"]
