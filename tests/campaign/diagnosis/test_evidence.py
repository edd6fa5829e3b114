"""diagnosis.json of a run: there when an engine failed a gate, with a reason where nothing could be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.diagnosis import evidence
from kit.campaign.diagnosis.candidates import of_responses, of_run
from kit.campaign.diagnosis.document import document
from kit.campaign.diagnosis.matching import Temperatures
from kit.campaign.reading import read_run
from kit.campaign.run_folder import Run
from kit.campaign.stage import Stage
from kit.campaign.verdict import compute_verdict
from tests.campaign.synthetic_run import MM_TEMPERATURE, TEMPERATURE, write_run

FORMS = {"swapped": "with its first two candidates exchanged"}


def exchange_first_two(engine: str, phase: str, number: int, request: str, question: str, logits: list[float]) -> list[float]:
    """A fault of the native engine alone."""
    return [logits[1], logits[0], *logits[2:]] if engine == "native" else logits


@pytest.fixture
def failed(tmp_path: Path) -> Stage:
    """Stage 10 of a made-up run whose native engine mixes up two candidates."""
    path = tmp_path / "run"
    profile = write_run(path, change=exchange_first_two)
    run = read_run(path)
    return Stage("10_evidence", Run(path, profile, path / "profile.toml", run.protocol, "made-up"), {}, False)


def compared(path: Path) -> dict[str, Any]:
    """What `diagnose` gives, from a library made of the run's own reference."""
    run = read_run(path)
    plain = {
        (request, name): record.logits
        for request, exchange in run.engines["reference"].measured(1).items()
        for name, record in exchange.questions.items()
    }
    library = {"plain": plain, "swapped": {key: (x[1], x[0], *x[2:]) for key, x in plain.items()}}
    modalities = {case.id: case.modality for case in run.protocol.cases}
    declared = Temperatures(TEMPERATURE, MM_TEMPERATURE)
    return document([*of_run(run, ["native"])], library, FORMS, modalities, declared, "0" * 64)


def test_a_failed_engine_is_diagnosed(failed: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = compute_verdict(failed.path)
    assert evidence.failed_engines(verdict, "reference") == ["native"]
    monkeypatch.setattr(evidence, "diagnose", lambda profile, cases, found: compared(failed.path))
    monkeypatch.setattr(Stage, "configure", lambda self: {})
    (said,) = evidence.diagnose_stage(failed, verdict)
    assert said.startswith("native answers as the reference does with its first two candidates exchanged: 0 logits away")
    assert evidence.sentences(failed.path) == [said]
    made = json.loads((failed.path / evidence.FILE).read_text())
    assert made["format"] == "kit-diagnosis/1"
    assert made["engines"]["native"]["nearest"]["form"] == "swapped"


def test_a_passing_run_has_none_and_drops_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "run"
    profile = write_run(path)
    stage = Stage("10_evidence", Run(path, profile, path / "profile.toml", read_run(path).protocol, "made-up"), {}, False)
    (path / evidence.FILE).write_text("{}")
    assert evidence.diagnose_stage(stage, compute_verdict(path)) == []
    assert not (path / evidence.FILE).exists()
    assert evidence.sentences(path) == []


def test_a_reference_that_cannot_be_loaded_is_said(failed: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> dict[str, Any]:
        raise RuntimeError("no device")

    monkeypatch.setattr(evidence, "diagnose", absent)
    monkeypatch.setattr(Stage, "configure", lambda self: {})
    (said,) = evidence.diagnose_stage(failed, compute_verdict(failed.path))
    assert said == "no diagnosis: the reference cannot be run here: RuntimeError: no device"


def test_an_engine_without_answers_is_said(failed: Stage) -> None:
    verdict = {"gates": [{"gate": "winner", "engine": "graph", "passed": False}]}
    for file in (failed.path / "records" / "graph").iterdir():
        file.unlink()
    (said,) = evidence.diagnose_stage(failed, verdict)
    assert said == "no diagnosis: no engine with a failed gate left answers"


def test_what_cannot_be_compared_is_listed(failed: Stage) -> None:
    cases = failed.run.protocol.cases
    good = read_run(failed.path).engines["native"].measured(1)
    responses = {case.id: good[case.id].response for case in cases[1:]}
    candidate = of_responses("native", cases, responses, {cases[0].id: "remote gave no answer within 5 s"})
    assert len(candidate.missing) == len(cases[0].questions)
    assert candidate.missing[0] == f"{cases[0].id}/{cases[0].questions[0].id}: remote gave no answer within 5 s"


def test_an_engine_that_is_only_wrong_as_the_reference_is_has_nothing_to_explain() -> None:
    verdict = {"gates": [{"gate": "accuracy", "engine": name, "passed": False} for name in ("reference", "native")]}
    assert evidence.failed_engines(verdict, "reference") == []
