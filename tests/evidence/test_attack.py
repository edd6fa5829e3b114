"""kit attack on a small bundle: a seeded sample is refused, what must pass passes, and the runner notices what is wrong.

The whole catalogue over a recorded run is one command (`kit attack BUNDLE`) and takes minutes; here 60 of it are drawn.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.evidence import manifest
from kit.evidence.attack import families, report, runner
from kit.evidence.attack.mutation import Mutation
from kit.evidence.attack.runner import AttackError, Audited
from kit.evidence.attack.suspect import Content, Suspect, clean_copy
from kit.evidence.audit.rules import FAULTS
from kit.profile import PROJECT_ROOT
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_generated_check import write_floor
from tests.evidence.test_planted_check import table_of


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with everything that can be put into a run beside its stages."""
    path = make_bundle(tmp_path_factory.mktemp("attacked"), generated=60)
    write_floor(path)
    (path / FAULTS).write_text(json.dumps(table_of(path)))
    bundle = Tamper(path)
    bundle.describe_again()
    bundle.reseal()
    return path


@pytest.fixture(scope="module")
def catalogue(sealed: Path) -> list[Mutation]:
    return families.catalogue(Content(sealed), seed=0)


@pytest.fixture(scope="module")
def attack(sealed: Path) -> runner.Attack:
    return runner.attack(sealed, sample=60, seed=20261130)


# ---------------------------------------------------------------- the catalogue


def test_families_offer_what_an_attack_must_try(catalogue: list[Mutation]) -> None:
    inside = [mutation for mutation in catalogue if not mutation.needs_anchor]
    assert len(inside) >= 300
    assert sum(mutation.sealing == "resealed" for mutation in inside) >= 100
    assert set(Counter(mutation.family for mutation in catalogue)) == set(families.FAMILIES)


def test_what_only_an_anchor_refuses_is_little_and_says_why(catalogue: list[Mutation]) -> None:
    anchored = [mutation for mutation in catalogue if mutation.needs_anchor]
    assert 0 < len(anchored) <= 16
    assert all(mutation.why and "digest" in mutation.anchors for mutation in anchored)


def test_a_seed_draws_the_same_catalogue_again_and_another_seed_another(sealed: Path) -> None:
    first, again, other = (
        [mutation.id for mutation in families.catalogue(Content(sealed), seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_every_kind_of_file_gets_a_bit_turned(sealed: Path, catalogue: list[Mutation]) -> None:
    turned = {file for mutation in catalogue if mutation.family == "flips" for file in mutation.files}
    documents = {name for name in manifest.list_files(sealed) if "/" not in name}
    assert documents <= turned
    for folder in ("records/bodies/", "records/rows/", "notebooks/", "stages/", "figures/", "logs/", "protocol/"):
        assert any(name.startswith(folder) for name in turned), folder


# ---------------------------------------------------------------- an attack


def test_a_sample_is_refused_by_name_and_expectation(attack: runner.Attack) -> None:
    assert len(attack.outcomes) == 60
    assert [f"{outcome.mutation.id}: {outcome.fault}" for outcome in attack.survivors] == []


def test_the_last_line_counts_what_was_refused_apart_from_what_needs_an_anchor(attack: runner.Attack) -> None:
    line = attack.line()
    assert line["mutations"] + len(line["needs_anchor"]) == 60
    assert line["mutations"] == line["refused"]
    assert 0 < line["resealed"] < line["mutations"]


def test_outcomes_are_written_one_by_one(attack: runner.Attack, tmp_path: Path) -> None:
    report.write(attack, tmp_path / "attack.json")
    document = json.loads((tmp_path / "attack.json").read_text())
    assert document["format"] == "kit-attack/1"
    assert len(document["outcomes"]) == 60
    assert all(entry["problem"] for entry in document["outcomes"] if not entry["needs_anchor"])
    assert "refused" in "\n".join(report.lines(attack))


def test_nothing_reaches_the_bundle_that_is_attacked(sealed: Path, attack: runner.Attack) -> None:
    assert manifest.verify_sums(sealed) == []
    assert attack.digest == runner.digest_of(sealed)


def test_a_bundle_that_does_not_pass_is_not_attacked(sealed: Path, tmp_path: Path) -> None:
    broken = clean_copy(sealed, tmp_path / "broken")
    (broken / "counters.json").write_text("{}")
    with pytest.raises(AttackError, match="does not pass as it is"):
        runner.attack(broken, sample=1)


def test_a_family_nobody_knows_is_named(sealed: Path) -> None:
    with pytest.raises(AttackError, match="no family magic"):
        runner.attack(sealed, only=["magic"])


# ---------------------------------------------------------------- while it lasts


def test_whoever_waits_is_told_of_each_outcome_and_how_many_there_will_be(sealed: Path) -> None:
    told: list[tuple[int, int]] = []
    runner.attack(sealed, sample=2, progress=lambda outcomes, total: told.append((len(outcomes), total)))
    assert told == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("numbers", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)])
def test_an_attack_that_is_stopped_leaves_no_folder_behind(
    sealed: Path, tmp_path: Path, numbers: tuple[signal.Signals, ...]
) -> None:
    command = [sys.executable, "-m", "kit", "attack", str(sealed), "--family", "archives"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT_ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        while "mutations to try" not in (line := process.stderr.readline()):
            assert line, "it ended before the first mutation"
        assert [folder.name.startswith("kit-attack-") for folder in tmp_path.iterdir()] == [True]
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.1)
        said, shown = process.stderr.read(), process.stdout.read()
    assert list(tmp_path.iterdir()) == []
    assert shown == ""
    if process.returncode != -signal.SIGTERM:  # which ends at once what had tidied up before the second signal came
        assert (process.returncode, said) == (130, "kit attack: interrupted\n")
    else:
        assert len(numbers) == 2


# ---------------------------------------------------------------- what counts as refused


def outcome(mutation: Mutation, sealed: Path, tmp_path: Path) -> runner.Outcome:
    clean = clean_copy(sealed, tmp_path / "clean")
    return runner.attempt(clean, runner.digest_of(clean), mutation, tmp_path / "suspect")


def test_a_deed_that_the_audit_lets_through_survives(sealed: Path, tmp_path: Path) -> None:
    figure = next(name for name in manifest.list_files(sealed) if name.startswith("figures/"))
    deed = Mutation("test", "another picture", lambda suspect: suspect.write(figure, b"0"), (figure,), "resealed")
    assert outcome(deed, sealed, tmp_path).fault == "passed the audit"


def test_a_deed_that_changes_nothing_is_told_from_one_that_is_let_through(sealed: Path, tmp_path: Path) -> None:
    idle = Mutation("test", "nothing done", lambda suspect: None, ("run.json",))
    assert outcome(idle, sealed, tmp_path).fault == "has the digest of the untouched bundle, so nothing was done"


def test_a_refusal_that_names_another_file_does_not_count(sealed: Path, tmp_path: Path) -> None:
    deed = Mutation("test", "a file removed", lambda suspect: suspect.remove("counters.json"), ("drift.json",))
    assert "no problem names drift.json" in outcome(deed, sealed, tmp_path).fault


def test_an_anchored_forgery_that_the_audit_refuses_is_no_forgery_of_that_kind(sealed: Path, tmp_path: Path) -> None:
    deed = Mutation(
        "test", "a file removed", lambda suspect: suspect.remove("counters.json"), ("counters.json",), anchors=("digest",), why="-"
    )  # fmt: skip
    assert outcome(deed, sealed, tmp_path).fault.startswith("refused: ")


def test_a_deed_that_cannot_be_done_is_no_success(sealed: Path, tmp_path: Path) -> None:
    deed = Mutation("test", "a file that is not there", lambda suspect: suspect.remove("nothing.json"), ("nothing.json",))
    assert outcome(deed, sealed, tmp_path).fault.startswith("could not be done: FileNotFoundError")


def refusal(problems: list[str], **changes: object) -> Audited:
    facts = {"exit_code": 1, "seconds": 1.0, "peak_bytes": 1, "document": {"problems": problems}, "noise": ""}
    return Audited(**(facts | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("audited", "fault"),
    [
        (refusal(["sums: run.json: has SHA-256 1, listed is 2"]), ""),
        (refusal(["sums: run.json: "]), "does not say what was expected"),
        (refusal([], noise="Traceback (most recent call last):\nKeyError: 1"), "a traceback: KeyError: 1"),
        (refusal([], exit_code=-9, document={}), "no verdict: exit code -9"),
        (refusal(["sums: run.json: is missing"], peak_bytes=3 << 30), "took 3221225472 bytes"),
        (refusal([], exit_code=0), "passed the audit"),
    ],
)
def test_a_refusal_is_quiet_small_and_clear(audited: Audited, fault: str) -> None:
    mutation = Mutation("test", "any", lambda suspect: None, ("run.json",))
    assert runner.judged(mutation, audited)[0].startswith(fault)
    assert bool(runner.judged(mutation, audited)[0]) == bool(fault)


def test_a_copy_shares_files_until_they_are_written(sealed: Path, tmp_path: Path) -> None:
    clean = clean_copy(sealed, tmp_path / "clean")
    suspect = Suspect(clean, tmp_path / "suspect")
    assert (suspect.path / "run.json").stat().st_ino == (clean / "run.json").stat().st_ino
    suspect.edit("run.json", lambda document: document.update(id="other"))
    assert json.loads((clean / "run.json").read_text())["id"] != "other"
    assert suspect.written == {"run.json"}


def test_a_clean_copy_shares_nothing_with_the_bundle(sealed: Path, tmp_path: Path) -> None:
    clean = clean_copy(sealed, tmp_path / "clean")
    assert all(file.stat().st_nlink == 1 for file in clean.rglob("*") if file.is_file())


def test_a_deed_that_reached_the_clean_copy_ends_the_attack(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written_through(suspect: Suspect) -> None:
        with (suspect.path / "run.json").open("ab") as file:
            file.write(b" ")

    reached = Mutation("files", "written through a link", written_through, ("run.json",))
    monkeypatch.setitem(families.FAMILIES, "files", lambda clean, chance: iter([reached]))
    with pytest.raises(AttackError, match="a deed reached the clean copy"):
        runner.attack(sealed, only=["files"])
    assert manifest.verify_sums(sealed) == []


def test_what_was_read_of_a_suspect_is_forgotten_when_a_file_changes(sealed: Path, tmp_path: Path) -> None:
    suspect = Suspect(clean_copy(sealed, tmp_path / "clean"), tmp_path / "suspect")
    assert suspect.as_read() is suspect.as_read()
    changes: list[Callable[[], object]] = [
        lambda: suspect.put("run.json", b'{"id":"other"}'),
        lambda: suspect.rename("run.json", "stages/run.json"),
        lambda: suspect.remove("stages/run.json"),
    ]
    for change in changes:
        before = suspect.as_read()
        change()
        assert suspect.as_read() is not before
    assert not suspect.as_read().exists("run.json")
