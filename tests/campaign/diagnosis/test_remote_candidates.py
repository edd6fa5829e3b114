"""Real faulty servers, diagnosed over HTTP from probabilities alone: each is named, and what is no known change is not.

The candidates are native engines with planted faults, which share no code with the forms: those are runs of the
reference. Five requests of the protocol are enough to tell all of them apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kit.campaign.diagnosis import candidates, running
from kit.campaign.diagnosis.candidates import AnswersError
from kit.campaign.planted.catalogue import FAULTS
from kit.campaign.planted.site import Site, Subject
from kit.campaign.protocol import Case, protocol_of
from kit.campaign.run_folder import RunError
from kit.contract.answer import Calibration
from kit.engine.remote import RemoteError
from tests.campaign.diagnosis.serving import served

if TYPE_CHECKING:
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

ASKED = ("severity-score-3", "images-2", "images-4", "waiting-room-jpeg", "signal-data-url")
BY_NAME = {fault.name: fault for fault in FAULTS}


@pytest.fixture(scope="module")
def cases(profile: Profile) -> list[Case]:
    return [case for case in protocol_of(profile).cases if case.id in ASKED]


@pytest.fixture(scope="module")
def site(profile: Profile, official: ReferenceEngine) -> Site:
    return Site(profile, official)


@pytest.fixture(scope="module")
def library(official: ReferenceEngine, cases: list[Case]) -> Iterator[None]:
    """The library is run once for all candidates of this module."""
    from kit.campaign.diagnosis import forms

    found = forms.library(official, cases)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "library", lambda engine, asked: found)
        yield


def diagnosed(subject: Subject, profile: Profile, official: ReferenceEngine, cases: list[Case]) -> dict[str, Any]:
    with served(subject) as url:
        candidate = candidates.of_remote(url, profile, cases)
    made = running.diagnose_with(official, cases, [candidate])
    entry: dict[str, Any] = made["engines"]["remote"]
    return entry


@pytest.mark.parametrize(
    ("fault", "dose", "form", "rule", "words"),
    [
        ("adapter-dropped", "off", "adapter-off", "declared", "with its adapter off"),
        ("adapter-alpha", "", "adapter-alpha", "declared", "with its adapter at scale 1 in place of alpha / rank"),
        ("adapter-merged", "all layers", "adapter-merged", "declared", "with its adapter merged into the base weights"),
        ("images-swapped", "", "images-reversed", "declared", "with its images in reverse order"),
        ("resized-otherwise", "bicubic", "resize-pillow", "declared", "with images resized by Pillow's bicubic filter"),
        ("thinking", "", "thinking", "declared", "with thinking enabled in its chat template"),
        ("one-blank-more", "", "blank-question", "declared", "with one blank more behind the question"),
        ("no-system-message", "", "no-system", "declared", "without its system message"),
        ("text-temperature", "", "plain", "text", "with the text temperature for images too"),
        ("no-temperature", "", "plain", "none", "without its temperatures"),
    ],
)
def test_a_known_mistake_is_named(
    fault: str, dose: str, form: str, rule: str, words: str,
    site: Site, profile: Profile, official: ReferenceEngine, cases: list[Case], library: None,
) -> None:  # fmt: skip
    planted = BY_NAME[fault]
    entry = diagnosed(planted.plant(site, dict(planted.doses)[dose]), profile, official, cases)
    assert (entry["outcome"], entry["nearest"]["form"], entry["nearest"]["rule"]) == ("explained", form, rule)
    assert entry["words"].startswith(f"remote answers as the reference does {words}")
    assert entry["nearest"]["equal"] == entry["questions"]


def test_two_mistakes_at_once(site: Site, profile: Profile, official: ReferenceEngine, cases: list[Case], library: None) -> None:
    planted = BY_NAME["adapter-dropped"]
    subject = planted.plant(site, dict(planted.doses)["off"])
    found = subject.engine.calibration  # type: ignore[union-attr]
    subject.engine.calibration = Calibration(found.mm_temperature, found.temperature)  # type: ignore[union-attr]
    entry = diagnosed(subject, profile, official, cases)
    assert "with its adapter off and with text and image temperature swapped" in entry["words"]


def test_a_faultless_server_answers_as_the_reference(
    site: Site, profile: Profile, official: ReferenceEngine, cases: list[Case], library: None
) -> None:
    entry = diagnosed(Subject(site.native()), profile, official, cases)
    assert entry["outcome"] == "same"
    assert entry["words"] == f"remote answers as the reference does, on all {entry['questions']} questions"


@pytest.mark.parametrize("fault", ["labels-off-by-one", "no-l2-norm", "conv-reversed"])
def test_what_is_no_known_change_is_not_explained_away(
    fault: str, site: Site, profile: Profile, official: ReferenceEngine, cases: list[Case], library: None
) -> None:
    entry = diagnosed(BY_NAME[fault].plant(site, None), profile, official, cases)
    assert entry["outcome"] == "unexplained"
    assert entry["words"].startswith("nothing in the library explains remote")


def test_answers_that_cannot_be_compared_are_told_with_the_rest(
    site: Site, official: ReferenceEngine, cases: list[Case], library: None
) -> None:
    subject = Subject(site.native())
    responses = {case.id: json.loads(subject.post(case.body).body) for case in cases[1:]}
    made = running.diagnose_with(official, cases, [candidates.of_responses("native", cases, responses)])
    (entry,) = made["engines"].values()
    assert entry["outcome"] == "same"
    assert f"{len(cases[0].questions)} answer" in entry["words"]
    assert f"could not be compared, first {cases[0].id}/" in entry["words"]
    assert running.exit_code(made) == 1


# ---------------------------------------------------------------- other ways to name a candidate


def test_answers_from_a_file(
    tmp_path: Path, site: Site, official: ReferenceEngine, cases: list[Case], library: None
) -> None:
    subject = BY_NAME["thinking"].plant(site, None)
    entries = [{"id": case.id, "response": json.loads(subject.post(case.body).body)} for case in cases]
    (tmp_path / "list.json").write_text(json.dumps(entries))
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, entries)) + "\n")
    for name in ("list.json", "lines.jsonl"):
        made = running.diagnose_with(official, cases, [candidates.of_file(tmp_path / name, cases)])
        assert running.line(made)["diagnosis"][name]["form"] == "thinking"
        assert running.exit_code(made) == 0
        running.show(made)
    (tmp_path / "bad.json").write_text('[{"response": {}}]')
    with pytest.raises(AnswersError, match="expected objects"):
        candidates.of_file(tmp_path / "bad.json", cases)
    with pytest.raises(AnswersError, match="no usable answer"):
        candidates.of_file(_written(tmp_path / "empty.json", "[]"), cases)


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_candidate_is_named_in_exactly_one_way() -> None:
    for asked in (running.Asked(), running.Asked(run="x", remote="http://127.0.0.1:1"), running.Asked(remote="http://x", engine="native")):
        with pytest.raises(AnswersError):
            running.run("params/cpu-tiny.toml", asked)


def test_a_run_that_there_is_not_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KIT_RUNS", str(tmp_path))
    with pytest.raises(RunError, match="no run 'nosuch'"):
        running.run("params/cpu-tiny.toml", running.Asked(run="nosuch"))


def test_a_server_that_is_not_there_is_said(profile: Profile, cases: list[Case]) -> None:
    with pytest.raises(AnswersError, match="cannot be reached"):
        candidates.of_remote("http://127.0.0.1:9", profile, cases[:1])
    with pytest.raises(RemoteError, match="no http"):
        candidates.of_remote("not a url", profile, cases)
