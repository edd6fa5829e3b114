"""Hostile input: whatever a bundle holds, the auditor ends in a judgement that names it, in little time and memory.

Each bundle is judged as a stranger would: the one file, in a process of its own with 2 GiB and a minute.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import audit
from tests.evidence.make_bundle import Tamper

Deed = Callable[[Tamper], object]
MEMORY, SECONDS = 2 << 30, 60
WORKER = "records/native/worker.jsonl"


@pytest.fixture(scope="module")
def auditor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("auditor") / "audit.py"
    file.write_text(audit.joined())
    return file


def judged(auditor: Path, bundle: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-I", auditor, bundle], capture_output=True, text=True, timeout=SECONDS, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    assert done.stderr == ""
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == {"pass": 0, "fail": 1, "not-judged": 2}[result["audit"]]
    return result


def written(name: str, data: bytes) -> Deed:
    return lambda t: (t.path / name).write_bytes(data)


def appended(name: str, data: bytes) -> Deed:
    def deed(t: Tamper) -> None:
        with (t.path / name).open("ab") as file:
            file.write(data)

    return deed


def hole(t: Tamper) -> None:
    """Three gigabytes that take no room on the disk."""
    with (t.path / "logs" / "native.log").open("ab") as file:
        file.truncate(3 << 30)


def packed(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def claiming(size: int) -> bytes:
    """An archive whose only member claims a size it does not have."""
    info = tarfile.TarInfo("kit/large.py")
    info.size = size
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024)


def bomb(t: Tamper) -> None:
    with gzip.open(t.path / "source.tar.gz", "wb", compresslevel=1) as file:
        for _ in range(400):
            file.write(b"\0" * (1 << 20))


def pipe(t: Tamper) -> None:
    (t.path / "logs" / "native.log").unlink()
    os.mkfifo(t.path / "logs" / "native.log")


def deep_folder(t: Tamper) -> None:
    (t.path / "logs" / "/".join(["a"] * 60)).mkdir(parents=True)


def endless_passes(t: Tamper) -> None:
    document = json.loads((t.path / "profile.json").read_text())
    document["campaign"]["passes"] = 10**15
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    (t.path / "profile.json").write_text(text)


def many_candidates(t: Tamper) -> None:
    names = {f"c{n}": 1 / 20_000 for n in range(20_000)}

    def edit(response: dict[str, Any]) -> None:
        next(iter(response["answers"].values())).update(probabilities=names)

    for engine in ("reference", "native", "graph"):
        t.replace_body(engine, 3, edit)
    t.describe_again()
    t.reseal()


def parameters(text: str) -> Deed:
    def edit(document: dict[str, Any]) -> None:
        next(c for c in document["cells"] if "injected-parameters" in c["metadata"].get("tags", ()))["source"] = text

    return lambda t: t.json("notebooks/08_drift.ipynb", edit)


def many_logits(t: Tamper) -> None:
    for engine in ("reference", "native", "graph"):
        t.lines(f"records/{engine}/worker.jsonl", lambda x: next(q for q in x if q.get("sequence") == 3).update(logits="0000803f" * 20_000))
    t.describe_again()
    t.reseal()


CASES: list[tuple[str, Deed, str]] = [
    ("deep nesting in a document", written("drift.json", b"[" * 100_000 + b"]" * 100_000), "drift.json is nested too deeply"),
    ("nesting that a parser takes", written("verdict.json", b'{"profile":' + b"[" * 900 + b"]" * 900 + b"}"), "verdict.json"),
    ("a number of a million digits", written("counters.json", b'{"format":"kit-counters/1","engines":1' + b"0" * 1_000_000 + b"}"), "counters.json holds a number of 1000001 digits"),
    ("NaN", written("device.json", b'{"format":"kit-device/1","kind":NaN}'), "device.json holds NaN, which is no number"),
    ("three gigabytes", hole, "logs/native.log"),
    ("a million lines", appended(WORKER, b'{"kind":"question"}\n' * 1_000_000), f"{WORKER} has more than 250000 lines"),
    ("a million sums", appended("SHA256SUMS", (b"0" * 64 + b"  run.json\n") * 1_000_000), "SHA256SUMS is larger than"),
    ("an archive that unpacks to more", bomb, "source.tar.gz unpacks to more than"),
    ("a member of eight gigabytes", written("source.tar.gz", claiming(8 << 30)), "source.tar.gz"),
    ("members of one name", written("source.tar.gz", packed(("a.py", b"1"), ("a.py", b"2"))), 'source.tar.gz: "a.py" is no plain file of its own'),
    ("a member outside", written("source.tar.gz", packed(("../a.py", b"1"))), 'source.tar.gz: "../a.py" is no plain file'),
    ("no archive at all", written("source.tar.gz", b"\x1f\x8b\x08\0\0"), "source.tar.gz cannot be read"),
    ("sources nobody can parse", written("source.tar.gz", packed(("kit/kernels/table.py", b"(" * 100_000))), "source.tar.gz"),
    ("sections nobody can parse", written("source.tar.gz", packed(("kit/evidence/audit/running.py", b"-" * 200_000 + b"1"))), "source.tar.gz"),
    ("a pipe", pipe, "logs/native.log: is a link, a special file"),
    ("folders without end", deep_folder, "too deep"),
    ("an empty folder", lambda t: (t.path / "attempts").mkdir(), "attempts"),
    ("passes without end", endless_passes, "profile.json: passes is 1000000000000000, expected 1 to 100"),
    ("candidates without end", many_candidates, "route candidates: found"),
    ("logits without end", many_logits, "has 20000 logits, expected at most 32"),
    ("parameters nobody can parse", parameters("profile = " + "(" * 100_000), "notebooks/08_drift.ipynb"),
    ("a name that moves a terminal", lambda t: (t.path / "logs" / "\x1b[2J.log").write_text("x"), "has no role in a bundle"),
    ("a name that is no text", lambda t: (Path(os.fsdecode(os.fsencode(t.path / "logs") + b"/\xff.log"))).write_text("x"), "has no role in a bundle"),
]  # fmt: skip


@pytest.mark.parametrize(("deed", "message"), [pytest.param(d, m, id=n.replace(" ", "-")) for n, d, m in CASES])
def test_hostile_input_ends_in_a_judgement(auditor: Path, tamper: Tamper, deed: Deed, message: str) -> None:
    deed(tamper)
    result = judged(auditor, tamper.path)
    assert result["audit"] in ("fail", "not-judged")
    assert any(message in problem for problem in result["problems"]), "\n".join(result["problems"][:15])
