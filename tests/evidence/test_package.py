"""Sealing and packing: complete, clean, described, closed, and the same bytes every time."""

import json
import os
from pathlib import Path

import pytest

from kit.evidence import manifest, package
from kit.evidence.package import PackageError
from kit.evidence.records import sha256_file
from tests.evidence.make_bundle import NOBODY, complete, make_bundle, write_project, write_run


@pytest.fixture
def unsealed(tmp_path: Path) -> Path:
    run = tmp_path / "made-up-run"
    profile = write_run(run)
    write_project(tmp_path / "project", profile)
    complete(run, tmp_path / "project", profile)
    return run


def seal(run: Path) -> str:
    return package.seal(run, run.parent / "project", NOBODY)


def test_sealing_lists_everything_and_returns_the_digest_to_publish(unsealed: Path) -> None:
    digest = seal(unsealed)
    assert digest == sha256_file(unsealed / "SHA256SUMS")
    assert manifest.verify_sums(unsealed) == []
    names = {line.split("  ")[1] for line in (unsealed / "SHA256SUMS").read_text().splitlines()}
    assert names >= {"audit.py", "report.html", "ro-crate-metadata.json", "logs/native.log", "source.tar.gz"}
    assert "SHA256SUMS" not in names


def test_a_sealed_bundle_is_never_sealed_again(sealed: Path) -> None:
    with pytest.raises(PackageError, match="never written to again"):
        package.seal(sealed)


@pytest.mark.parametrize("name", ["run.json", "verdict.json"])
def test_nothing_to_seal(unsealed: Path, name: str) -> None:
    (unsealed / name).unlink()
    with pytest.raises(PackageError, match=f"no {name}"):
        seal(unsealed)


def test_logs_and_notebooks_lose_paths_and_names(unsealed: Path) -> None:
    file = unsealed / "notebooks" / "04_native_eager.ipynb"
    document = json.loads(file.read_text())
    document["cells"][2]["outputs"] = [
        {"output_type": "stream", "text": ["in \x1b[92m/home/nobody-here/x.py\n"]}
    ]
    file.write_text(json.dumps(document))
    seal(unsealed)
    assert (unsealed / "logs" / "native.log").read_text() == "started in ./kit\n"
    assert "nobody-here" not in file.read_text()
    assert "~/x.py" in file.read_text()


@pytest.mark.parametrize(
    "text", ["/home/nobody-here/data", "see no-such-host:8000", "/scratch/nobody-here/cache"]
)
def test_a_trace_in_a_record_stops_the_sealing(unsealed: Path, text: str) -> None:
    file = unsealed / "records" / "native" / "engine.json"
    document = json.loads(file.read_text())
    document["note"] = text
    file.write_text(json.dumps(document))
    with pytest.raises(PackageError, match=r"records/native/engine.json: ") as caught:
        seal(unsealed)
    assert "nobody-here" not in str(caught.value)  # the message must not repeat it
    assert not (unsealed / "SHA256SUMS").exists()


def test_a_secret_of_the_environment_stops_the_sealing(
    unsealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "abcdef0123456789")
    (unsealed / "records" / "drills.jsonl").open("a").write('{"note":"abcdef0123456789"}\n')
    with pytest.raises(PackageError, match="the value of HUB_TOKEN"):
        package.seal(unsealed, unsealed.parent / "project")


def test_leftovers_of_interrupted_writers_go(unsealed: Path) -> None:
    (unsealed / ".verdict.json.x1y2").write_text("{")
    (unsealed / "protocol" / "__pycache__").mkdir()
    (unsealed / "protocol" / "__pycache__" / "generate.cpython-311.pyc").write_bytes(b"\0")
    seal(unsealed)
    assert not (unsealed / ".verdict.json.x1y2").exists()
    assert not (unsealed / "protocol" / "__pycache__").exists()


def test_a_folder_nothing_was_put_into_goes(unsealed: Path) -> None:
    (unsealed / "attempts" / "deep" / "er").mkdir(parents=True)
    seal(unsealed)
    assert not (unsealed / "attempts").exists()


def test_a_source_changed_after_the_verdict_shows(unsealed: Path) -> None:
    from tests.evidence.test_tampering import audit_problems

    (unsealed.parent / "project" / "README.md").write_text("Changed between verdict and seal.\n")
    seal(unsealed)
    assert "sources: README.md: changed during the run" in audit_problems(unsealed)


def test_the_same_bundle_packs_to_the_same_bytes(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path)
    first = package.pack(bundle)
    assert first == tmp_path / "made-up-run.tar.gz"
    digest = sha256_file(first)
    for file in bundle.rglob("*"):
        if file.is_file():
            os.utime(file, (1, 1))
            file.chmod(0o600)
    assert sha256_file(package.pack(bundle, tmp_path / "again.tar.gz")) == digest


def test_a_changed_bundle_is_not_packed(bundle: Path, unsealed: Path) -> None:
    (bundle / "run.json").write_text("{}")
    with pytest.raises(PackageError, match=r"changed after it was sealed: run\.json"):
        package.pack(bundle)
    with pytest.raises(PackageError, match="not sealed"):
        package.pack(unsealed)


def test_the_crate_describes_every_stage(sealed: Path) -> None:
    document = json.loads((sealed / "ro-crate-metadata.json").read_text())
    assert document["@context"] == "https://w3id.org/ro/crate/1.3/context"
    entities = {entity["@id"]: entity for entity in document["@graph"]}
    assert len(entities) == len(document["@graph"])
    action = entities["#stage-03_reference"]
    assert action["@type"] == "CreateAction"
    assert action["actionStatus"] == {"@id": "http://schema.org/CompletedActionStatus"}
    assert action["startTime"] == "2026-01-31T12:03:00"
    for entity in document["@graph"]:
        for key in ("object", "result", "hasPart", "mentions"):
            assert all(part["@id"] in entities for part in entity.get(key, ())), (entity["@id"], key)
    assert entities["./"]["datePublished"] == "2026-01-31T12:12:59"
