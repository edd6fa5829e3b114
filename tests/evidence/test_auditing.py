"""`kit audit`: the kit's own checks, on folders and packed bundles, and only beside a published auditor."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from kit.evidence import audit, auditing, package, source_archive
from kit.evidence.records import sha256_bytes, sha256_file
from tests.evidence.make_bundle import Tamper


def last_line(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_current_auditor_is_a_known_one() -> None:
    """After a change of a section: python -m kit.evidence.audit_pin. One that was published is never removed."""
    digest = sha256_bytes(audit.joined().encode())
    assert auditing.known_auditors().get(digest) == str(audit.AUDIT_VERSION), f"audits.json lacks {digest}"


def test_a_folder(sealed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert auditing.run_audit(sealed) == 0
    assert last_line(capsys)["audit"] == "pass"


def test_a_packed_bundle(sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = package.pack(sealed, tmp_path / "bundle.tar.gz")
    assert auditing.run_audit(packed) == 0
    result = last_line(capsys)
    assert result["bundle_sha256"] == sha256_file(sealed / "SHA256SUMS")


def test_a_packed_folder_without_a_top(sealed: Path, tmp_path: Path) -> None:
    names = [file.relative_to(sealed).as_posix() for file in sealed.rglob("*") if file.is_file()]
    packed = tmp_path / "flat.tar.gz"
    packed.write_bytes(source_archive.pack_files(sealed, names))
    assert auditing.audit_bundle(packed)["audit"] == "pass"


def test_an_unknown_auditor_is_refused_unless_told_otherwise(
    tamper: Tamper, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tamper.path / "audit.py").open("a") as file:
        file.write("# a friendlier version\n")
    tamper.reseal()
    assert auditing.run_audit(tamper.path) == 2
    result = last_line(capsys)
    assert result["audit"] == "not-judged"
    assert "none that was ever published" in result["problems"][0]
    assert auditing.run_audit(tamper.path, trust_own=True) == 1  # the packed sources have another one
    assert last_line(capsys)["problems"] == ["auditor: audit.py: is not the one of the packed sources"]


def test_tampering_fails(tamper: Tamper) -> None:
    tamper.json("verdict.json", lambda d: d.update(max_probability_drift=0.5))
    assert auditing.audit_bundle(tamper.path)["audit"] == "fail"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_an_archive_are_not_unpacked(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("bundle/run.json")
    info.type, info.linkname = kind, "/etc/passwd"
    assert "not a plain file" in auditing.audit_bundle(archive_of(tmp_path, info, b""))["problems"][0]


def test_a_path_out_of_the_archive_is_not_unpacked(tmp_path: Path) -> None:
    info = tarfile.TarInfo("../outside.json")
    info.size = 2
    assert auditing.audit_bundle(archive_of(tmp_path, info, b"{}"))["audit"] == "not-judged"
    assert not (tmp_path.parent / "outside.json").exists()


def archive_of(folder: Path, info: tarfile.TarInfo, data: bytes) -> Path:
    path = folder / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["missing", "text.txt"])
def test_what_is_no_bundle(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.txt").write_text("not an archive")
    assert auditing.run_audit(tmp_path / name) == 2
    assert last_line(capsys)["audit"] == "not-judged"
