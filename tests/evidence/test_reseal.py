"""The re-sealer: what a forger puts right, so that refusals of re-sealed mutations mean something.

Each test edits one thing and shows that everything that follows from it agrees again; what the audit then still finds is
the edit itself, or nothing where nothing inside contradicts it.
"""

from pathlib import Path

import pytest

from kit.evidence import audit
from kit.evidence.attack.reanswer import answers_from_logits
from kit.evidence.attack.reseal import reseal
from kit.evidence.attack.suspect import Suspect, clean_copy, questions
from kit.evidence.attack.toml import as_toml
from tests.evidence.make_bundle import make_bundle


@pytest.fixture
def suspect(sealed: Path, tmp_path: Path) -> Suspect:
    return Suspect(clean_copy(sealed, tmp_path / "clean"), tmp_path / "suspect")


def problems(suspect: Suspect) -> list[str]:
    found: list[str] = audit.judge(str(suspect.path), 100_000)["problems"]
    return found


def test_a_bundle_nobody_touched_is_derived_as_it_is(suspect: Suspect) -> None:
    before = {name: suspect.read(name) for name in suspect.names()}
    assert reseal(suspect) == []
    assert problems(suspect) == []
    changed = {name for name in suspect.names() if suspect.read(name) != before[name]}
    assert changed <= {"report.html", "ro-crate-metadata.json", "SHA256SUMS"}


def test_so_is_one_with_generated_questions(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, generated=60)
    suspect = Suspect(clean_copy(bundle, tmp_path / "clean"), tmp_path / "suspect")
    assert reseal(suspect) == []
    assert problems(suspect) == []


def test_figures_follow_edited_answers(suspect: Suspect) -> None:
    """Other logits in one engine: drift, gates, verdict and stage results all tell them."""
    name = suspect.worker("native")
    old = questions(suspect.lines(name))[2]["logits"]
    suspect.substitute(name, f'"logits":"{old}"', f'"logits":"{old[8:16]}{old[:8]}{old[16:]}"')
    answers_from_logits(suspect, "native")
    reseal(suspect)
    verdict = suspect.json("verdict.json")
    assert verdict["verdict"] == "fail"
    assert suspect.json("stages/10_evidence.json")["result"]["verdict"] == "fail"
    left = {problem.split(":")[0] for problem in problems(suspect)}
    assert left <= {"verdict", "gates", "hidden_rows", "signal", "own_answers"}


def test_digests_follow_an_edited_profile(suspect: Suspect) -> None:
    suspect.edit("profile.json", lambda profile: profile.update(description="Another description."))
    reseal(suspect)
    assert "Another description." in suspect.read("profile.toml").decode()
    assert not any(problem.startswith(("identity", "profile_toml", "stages", "sums", "crate")) for problem in problems(suspect))


def test_what_the_deed_wrote_stays_as_it_was_written(suspect: Suspect) -> None:
    suspect.edit("drift.json", lambda drift: drift["rows"].pop())
    reseal(suspect)
    assert any("has no row" in problem for problem in problems(suspect))
    assert not any(problem.startswith("sums") for problem in problems(suspect))


def test_what_can_no_longer_be_derived_is_named_and_left(suspect: Suspect) -> None:
    suspect.write("protocol/corpus.jsonl", b"no JSON\n")
    assert {"drift", "verdict"} <= set(reseal(suspect))


def test_a_profile_is_written_as_toml() -> None:
    text = as_toml({"a": "x\"y", "n": 1.5, "on": True, "list": ["é", 2], "table": {"inner": {"k": 1}}})
    assert text == 'a = "x\\"y"\nn = 1.5\non = true\nlist = ["é", 2]\n\n[table]\ninner = { k = 1 }\n'
