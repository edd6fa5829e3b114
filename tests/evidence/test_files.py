"""Record files, checksums and archives: whole or not at all, strict when read, the same bytes every time."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kit.evidence import manifest, records, source_archive
from kit.evidence.records import JsonlWriter, RecordError

# ---------------------------------------------------------------- records


def test_an_atomic_write_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    records.write_atomic(file, b"old")
    records.write_atomic(file, b"new")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    records.write_atomic(file, b"old")

    def fails(source: object, target: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(records.os, "replace", fails)
    with pytest.raises(OSError, match="disk full"):
        records.write_atomic(file, b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_json_refuses_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        records.write_json(tmp_path / "a.json", {"x": float("nan")})
    assert not (tmp_path / "a.json").exists()


def test_lines_are_there_before_close(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "lines.jsonl"
    with JsonlWriter(file, {"format": "kit-test/1"}) as lines:
        lines.write({"n": 1, "text": "é"})
        assert file.read_text(encoding="utf-8") == '{"format":"kit-test/1"}\n{"n":1,"text":"é"}\n'
    header, rest = records.read_jsonl(file, "kit-test/1")
    assert (header["format"], rest) == ("kit-test/1", [{"n": 1, "text": "é"}])


def test_records_are_never_mixed(tmp_path: Path) -> None:
    JsonlWriter(tmp_path / "a.jsonl", {"format": "kit-test/1"}).close()
    with pytest.raises(FileExistsError):
        JsonlWriter(tmp_path / "a.jsonl", {"format": "kit-test/1"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format":"kit-test/1"}\n{"n":1', "cut off"),
        ('{"format":"kit-test/2"}\n', "expected 'kit-test/1'"),
        ("", "cut off|expected"),
        ('{"format":"kit-test/1"}\n[1]\n', "line 2"),
        ('{"format":"kit-test/1"}\n{nonsense}\n', "line 2"),
    ],
)
def test_damaged_lines_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(RecordError, match=message):
        records.read_jsonl(tmp_path / "a.jsonl", "kit-test/1")


def test_a_body_is_kept_once_under_its_digest(tmp_path: Path) -> None:
    first = records.store_body(tmp_path / "bodies", b"{}")
    assert records.store_body(tmp_path / "bodies", b"{}") == first == records.sha256_bytes(b"{}")
    assert (tmp_path / "bodies" / first).read_bytes() == b"{}"
    assert records.sha256_file(tmp_path / "bodies" / first) == first


# ---------------------------------------------------------------- SHA256SUMS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "bundle"
    (path / "sub").mkdir(parents=True)
    (path / "a b.txt").write_text("one")
    (path / "sub" / "c.txt").write_text("two")
    return path


def test_the_list_is_sorted_and_covers_everything_but_itself(folder: Path) -> None:
    text = manifest.write_sums(folder)
    assert [line.split("  ", 1)[1] for line in text.splitlines()] == ["a b.txt", "sub/c.txt"]
    assert manifest.write_sums(folder) == text
    (folder / "SHA256SUMS.sig").write_text("a signature made afterwards")
    assert manifest.verify_sums(folder) == []


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="no coreutils")
def test_coreutils_agrees(folder: Path) -> None:
    manifest.write_sums(folder)
    subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, check=True, capture_output=True
    )


def test_every_difference_is_named(folder: Path) -> None:
    manifest.write_sums(folder)
    (folder / "a b.txt").write_text("changed")
    (folder / "new.txt").write_text("new")
    (folder / "sub" / "c.txt").unlink()
    assert manifest.verify_sums(folder) == [
        "sub/c.txt: is listed but missing",
        "new.txt: is not listed",
        "a b.txt: its SHA-256 is not the listed one",
    ]


def test_links_and_odd_names_are_refused(folder: Path) -> None:
    os.symlink("a b.txt", folder / "link")
    with pytest.raises(manifest.ManifestError, match="link: is a link"):
        manifest.write_sums(folder)
    (folder / "link").unlink()
    (folder / "line\nbreak").write_text("")
    with pytest.raises(manifest.ManifestError, match="safe on every system"):
        manifest.write_sums(folder)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(manifest.ManifestError, match="empty"):
        manifest.write_sums(tmp_path)


# ---------------------------------------------------------------- archives


def test_an_archive_depends_on_names_and_content_alone(tmp_path: Path) -> None:
    for name in ("b.py", "a.py"):
        (tmp_path / name).write_text(name)
    first = source_archive.pack_files(tmp_path, ["b.py", "a.py"])
    os.utime(tmp_path / "a.py", (1, 1))
    (tmp_path / "a.py").chmod(0o700)
    assert source_archive.pack_files(tmp_path, ["a.py", "b.py"]) == first
    assert dict(source_archive.unpack(first)) == {"a.py": b"a.py", "b.py": b"b.py"}


def test_a_long_name_survives() -> None:
    name = "/".join(["folder"] * 30) + "/é.py"
    assert dict(source_archive.unpack(source_archive.pack([(name, b"x")]))) == {name: b"x"}


@pytest.mark.parametrize("data", [b"", b"not gzip", source_archive.pack([("a", b"x" * 5000)])[:-20]])
def test_damage_is_refused(data: bytes) -> None:
    with pytest.raises(source_archive.ArchiveError):
        source_archive.unpack(data, "damaged.tar.gz")


def test_documents_end_in_a_newline_and_keep_their_order(tmp_path: Path) -> None:
    records.write_json(tmp_path / "a.json", {"z": 1, "a": "é"})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert list(json.loads(text)) == ["z", "a"]
    assert "é" in text
