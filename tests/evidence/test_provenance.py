"""Sources as git would see them, packages against their own records, facts without names."""

import base64
import hashlib
import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kit.evidence import provenance
from kit.evidence.source_archive import unpack
from kit.profile import PROJECT_ROOT


@pytest.mark.skipif(
    not shutil.which("git") or not (PROJECT_ROOT / ".git").exists(), reason="not a git checkout"
)
def test_sources_are_what_git_does_not_ignore_of_the_projects_own() -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    present = {name for name in listed if name and (PROJECT_ROOT / name).is_file()}
    folders = tuple(f"{folder}/" for folder in provenance.SOURCES)
    own = {name for name in present if name.startswith(folders) and not name.endswith(provenance.TENSORS)}
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    at_root = {name for name in tracked.stdout.split("\0") if name and "/" not in name}
    assert set(provenance.source_files()) == own | at_root
    others = {name for name in present - own - at_root if name in tracked.stdout}
    assert {name.partition("/")[0] for name in others if not name.endswith(provenance.TENSORS)} <= {"evidence"}


def test_rules_need_no_git(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(
        "# comment\n.venv/\n*.egg-info/\nevidence/runs/\n__pycache__/\n*.tmp\n"
    )
    for name in (
        "kit/a.py", "kit/x.tmp", ".venv/lib.py", "kit.egg-info/PKG", "evidence/runs/1/run.json", "evidence/protocol/c.jsonl",
        "evidence/published/b/run.json", "kit/evidence/runs/kept.py", "kit/__pycache__/m.pyc", ".ci/run", "README.md",
        "run.log", "keys/KEY", "bundle.tar.gz", "evidence/LEDGER.md", "kit/checkpoint/decider/base/model.safetensors",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert provenance.source_files(tmp_path) == [
        ".ci/run", ".gitignore", "README.md", "evidence/protocol/c.jsonl", "kit/a.py", "kit/evidence/runs/kept.py",
    ]  # fmt: skip


def test_an_unknown_kind_of_rule_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n")
    with pytest.raises(ValueError, match=r"!keep\.log"):
        provenance.source_files(tmp_path)


@pytest.mark.parametrize("kind", ["OPENSSH ", "RSA ", ""])
def test_a_private_key_among_the_sources_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "mine").write_text(f"-----BEGIN {kind}PRIVATE KEY-----\nabc\n")
    with pytest.raises(provenance.PrivateKeyError, match=r"params/mine is a private key.*outside the project"):
        provenance.sources_before(tmp_path)


def test_before_and_after(tmp_path: Path) -> None:
    root, run = tmp_path / "project", tmp_path / "run"
    (root / "kit").mkdir(parents=True)
    run.mkdir()
    (root / "kit" / "a.py").write_text("1")
    (root / "kit" / "b.py").write_text("2")
    before = provenance.sources_before(root)["before"]
    same = provenance.sources_after(run, before, root)
    assert same["before"] == same["after"]
    assert provenance.changed_sources(before, same["after"]) == []
    (root / "kit" / "a.py").write_text("changed")
    (root / "kit" / "c.py").write_text("new")
    (root / "kit" / "b.py").unlink()
    document = provenance.sources_after(run, before, root)
    assert provenance.changed_sources(before, document["after"]) == ["kit/a.py", "kit/b.py", "kit/c.py"]
    archive = (run / "source.tar.gz").read_bytes()
    assert dict(unpack(archive)) == {"kit/a.py": b"changed", "kit/c.py": b"new"}
    assert document["archive_sha256"] == hashlib.sha256(archive).hexdigest()


# ---------------------------------------------------------------- packages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution `computes` with a RECORD, first on the path."""
    folder, info = tmp_path / "computes", tmp_path / "computes-1.0.dist-info"
    folder.mkdir()
    info.mkdir()
    (folder / "__init__.py").write_text("def forward(): ...\n")
    (folder / "kernel.so").write_bytes(b"\x7fELF")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: computes\nVersion: 1.0\n")
    rows = []
    for file in (folder / "__init__.py", folder / "kernel.so", info / "METADATA"):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        rows.append(f"{file.relative_to(tmp_path).as_posix()},sha256={digest},{file.stat().st_size}")
    rows += ["computes/__pycache__/__init__.cpython-311.pyc,,", "computes-1.0.dist-info/RECORD,,"]
    (info / "RECORD").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def check() -> dict:
    return provenance.check_package(["computes"])


def test_an_untouched_package_is_ok(package: Path) -> None:
    assert check() == {"version": "1.0", "status": "ok", "files": 3}


def test_changed_missing_and_added_code_is_named(package: Path) -> None:
    (package / "computes" / "__init__.py").write_text("def forward(): return 42\n")
    (package / "computes" / "kernel.so").unlink()
    (package / "computes" / "patch.py").write_text("")
    (package / "computes" / "notes.txt").write_text("not code")
    found = check()
    assert found["status"] == "changed"
    assert found["changed"] == ["computes/__init__.py", "computes/kernel.so", "computes/patch.py (added)"]


def test_distributions_that_share_a_folder_know_each_others_files(package: Path) -> None:
    """As FLA's two do: what one installed was not added to the other."""
    layers, info = package / "computes" / "layers.py", package / "computes_core-1.0.dist-info"
    layers.write_text("")
    assert check()["changed"] == ["computes/layers.py (added)"]
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: computes-core\nVersion: 1.0\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"").digest()).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"computes/layers.py,sha256={digest},0\n")
    assert provenance.check_package(["computes", "computes-core"])["status"] == "ok"


def test_without_a_record_nothing_is_claimed(package: Path) -> None:
    (package / "computes-1.0.dist-info" / "RECORD").unlink()
    assert check()["status"] == "not checked"


def test_an_editable_install_is_not_checked(package: Path) -> None:
    record = package / "computes-1.0.dist-info" / "RECORD"
    record.write_text(
        "\n".join(line for line in record.read_text().splitlines() if ".py," not in line) + "\n"
    )
    assert check()["status"] == "not checked"


def test_absent_is_absent() -> None:
    assert provenance.check_package(["no-such-distribution"]) == {"status": "absent"}


# ---------------------------------------------------------------- environment


def test_environment_names_nobody() -> None:
    document = provenance.environment({"threads": 1}, packages={})
    assert document["format"] == "kit-environment/1"
    assert document["python"] == ".".join(map(str, sys.version_info[:3]))
    assert document["versions"]["pytest"]
    assert {"system", "machine", "libc"} == set(document["platform"])
    assert document["unicodedata"]
    text = json.dumps(document)
    assert str(Path.home()) + "/" not in text
    assert str(PROJECT_ROOT) not in text
    assert len(socket.gethostname()) < 4 or socket.gethostname() not in text


def test_the_driver_is_read_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06  Wed Feb 26 02:03:47 UTC 2025\n"
    monkeypatch.setattr(provenance, "_read", lambda path: text)
    assert provenance.driver_version() == "570.124.06"
