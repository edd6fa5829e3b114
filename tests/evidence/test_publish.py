"""Publishing a bundle, and the bundles that are published."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit.evidence import auditing, ledger, publish
from kit.evidence.manifest import list_files
from kit.evidence.package import PackageError
from tests.evidence.make_bundle import make_bundle

BUNDLES = sorted(path for path in publish.PUBLISHED.glob("*") if path.is_dir())


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("publish"))


@pytest.fixture
def known(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(auditing, "unknown_auditor", lambda folder: "")
    return bundle


def test_a_passing_bundle_is_copied_whole(known: Path, tmp_path: Path) -> None:
    target = publish.publish(known, "made-up", tmp_path)
    assert list_files(target) == list_files(known)
    assert auditing.audit_bundle(target)["audit"] == "pass"


def test_nothing_published_is_replaced(known: Path, tmp_path: Path) -> None:
    publish.publish(known, "made-up", tmp_path)
    with pytest.raises(PackageError, match="never replaced"):
        publish.publish(known, "made-up", tmp_path)


@pytest.mark.parametrize("name", ["", "../out", "A", "a/b", ".hidden", "con..x", "a.."])
def test_a_name_is_a_plain_folder_name(known: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(PackageError, match="is no name for published evidence"):
        publish.publish(known, name, tmp_path)


def test_a_link_is_no_place_for_a_bundle(known: Path, tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "made-up").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PackageError, match="made-up is a link"):
        publish.publish(known, "made-up", tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_what_a_killed_publish_left_is_removed_by_the_next(known: Path, tmp_path: Path) -> None:
    published = tmp_path / "published"
    (published / ".publishing-killed").mkdir(parents=True)
    (published / ".publishing-killed" / "run.json").write_text("{}")
    (published / "mine").mkdir()
    (published / ".publishing-link").symlink_to(published / "mine")
    publish.publish(known, "made-up", tmp_path)
    assert sorted(path.name for path in published.iterdir()) == [".publishing-link", "made-up", "mine"]


def test_too_large_is_refused_and_the_largest_files_named(
    known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "MAX_BYTES", 1000)
    with pytest.raises(PackageError, match="more than 1,000; largest: "):
        publish.publish(known, "made-up", tmp_path)


def test_a_bundle_that_fails_its_audit_is_not_published(known: Path, tmp_path: Path) -> None:
    copy = publish.publish(known, "good", tmp_path)
    (copy / "verdict.json").write_text("{}")
    with pytest.raises(PackageError, match=r"does not pass its audit \(fail\)"):
        publish.publish(copy, "bad", tmp_path)
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == ["good"]


def test_a_run_that_was_never_sealed_is_not_published(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(PackageError, match="is not sealed"):
        publish.publish(tmp_path / "run", "made-up", tmp_path)


def test_a_published_bundle_gets_its_row(known: Path, tmp_path: Path) -> None:
    publish.publish(known, "first", tmp_path)
    publish.publish(known, "second", tmp_path, supersedes="first", claim="its latencies: the clock was wrong")
    rows = ledger.read(tmp_path)
    assert [(row["name"], row["supersedes"], row["superseded_claim"]) for row in rows] == [
        ("first", None, ""), ("second", "first", "its latencies: the clock was wrong")
    ]  # fmt: skip
    assert ledger.check(tmp_path) == []


@pytest.mark.parametrize(
    ("supersedes", "claim", "message"),
    [("nobody", "all of it", "nobody is not in the ledger"), ("first", " ", "go together"), ("", "all of it", "go together")],
)
def test_what_supersedes_says_what_and_which_claim(
    known: Path, tmp_path: Path, supersedes: str, claim: str, message: str
) -> None:
    publish.publish(known, "first", tmp_path)
    with pytest.raises(ledger.LedgerError, match=message):
        publish.publish(known, "second", tmp_path, supersedes=supersedes, claim=claim)
    assert sorted(path.name for path in (tmp_path / "published").iterdir()) == ["first"]
    assert len(ledger.read(tmp_path)) == 1


def test_the_name_of_a_bundle_that_is_gone_is_not_used_again(known: Path, tmp_path: Path) -> None:
    shutil.rmtree(publish.publish(known, "first", tmp_path))
    with pytest.raises(ledger.LedgerError, match="a name is never used again"):
        publish.publish(known, "first", tmp_path)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum (coreutils) is not installed")
@pytest.mark.parametrize("folder", BUNDLES, ids=[path.name for path in BUNDLES])
def test_coreutils_checks_every_published_bundle(folder: Path, tmp_path: Path) -> None:
    command = ["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "verdict.json").write_text("{}")
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "verdict.json: FAILED\n")


@pytest.mark.parametrize("folder", BUNDLES, ids=[path.name for path in BUNDLES])
def test_every_published_bundle_passes_the_kits_audit_and_its_own(folder: Path) -> None:
    assert auditing.audit_bundle(folder)["problems"] == []
    done = subprocess.run([sys.executable, "-I", folder / "audit.py", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert sum((folder / name).stat().st_size for name in list_files(folder)) <= publish.MAX_BYTES
