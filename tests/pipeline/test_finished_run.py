"""The finished cpu-tiny run that `make test` has just made (KIT_RUN names it): what it says, and that it cannot be bent.

Without KIT_RUN there is nothing to look at, and these tests fail rather than skip.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kit.campaign.diff import verb
from kit.campaign.notebook import declared_parameters
from kit.campaign.run_folder import run_path
from kit.evidence import publish
from kit.profile import PROJECT_ROOT, load_profile
from tests.evidence.crate_rules import METADATA, violations

OTHER_PYTHONS = sorted(
    {
        found
        for name in ("3.9", "3.10", "3.12", "3.13")
        for found in (
            shutil.which(f"python{name}"),
            *map(str, Path(os.environ.get("PYENV_ROOT", "/nonexistent")).glob(f"versions/{name}.*/bin/python")),
        )
        if found and subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode == 0
    }
)


@pytest.fixture(scope="module")
def bundle() -> Path:
    name = os.environ.get("KIT_RUN")
    assert name, "KIT_RUN is not set: run `make pipeline`"
    path = run_path(name)
    assert (path / "SHA256SUMS").exists(), f"{path.name} is not sealed"
    return path


@pytest.fixture(scope="module")
def verdict(bundle):
    return json.loads((bundle / "verdict.json").read_text())


def audit(folder: Path, python: str = sys.executable) -> tuple[int, dict]:
    """The bundle's own auditor, run as a stranger would: another process, nothing installed (-S -E)."""
    done = subprocess.run(
        [python, "-I", str(folder / "audit.py"), str(folder)], capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def seal_again(folder: Path) -> None:
    """What a careful forger does last: sizes and digests in the catalogue, and checksums, over the changed files."""
    crate = json.loads((folder / METADATA).read_text())
    for entity in crate["@graph"]:
        if "sha256" in entity and (folder / entity["name"]).is_file():
            data = (folder / entity["name"]).read_bytes()
            entity.update(contentSize=str(len(data)), sha256=hashlib.sha256(data).hexdigest())
    (folder / METADATA).write_text(json.dumps(crate))
    names = sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.name != "SHA256SUMS"
    )
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


class TestVerdict:
    def test_the_counts_of_the_campaign(self, verdict):
        assert verdict["verdict"] == "pass"
        assert verdict["counts"] == {
            "requests": 28, "questions": 49, "posts": 187, "ok": 183, "rejected": 4,
            "by_engine": {"reference": 58, "native": 62, "graph": 62, "frontend": 5},
        }  # fmt: skip

    def test_eager_and_graph_do_not_drift_at_all(self, verdict):
        assert verdict["max_probability_drift"] == 0.0
        assert set(verdict["drift"]) >= {"native/fresh", "graph/fresh"}

    def test_fresh_and_frozen_answers_were_judged(self, verdict):
        assert verdict["against"] == ["fresh", "frozen"]

    def test_graphs_were_captured_and_replayed_in_all_three_caches(self, bundle):
        counters = json.loads((bundle / "counters.json").read_text())["engines"]["graph"]["counters"]
        for cache in ("text", "multimodal", "vision"):
            assert counters[cache]["captures"] > 0
            assert counters[cache]["replays"] > 0
            assert counters[cache]["fallbacks"] == 0
        assert counters["text"]["invalidations"] + counters["multimodal"]["invalidations"] > 0

    def test_the_backend_is_named_for_what_it_is(self, bundle):
        assert json.loads((bundle / "records/graph/engine.json").read_text())["backend"] == "aten-replay"


class TestAudit:
    @pytest.mark.parametrize("python", [sys.executable, *OTHER_PYTHONS])
    def test_passes_with_nothing_but_python(self, bundle, python):
        code, result = audit(bundle, python)
        assert (code, result["audit"], result["problems"]) == (0, "pass", [])

    @pytest.mark.parametrize(
        "change",
        ["byte", "added", "removed", "renamed", "dropped", "duplicated", "reordered", "metric", "empty-corpus"],
    )
    @pytest.mark.parametrize("resealed", [False, True], ids=["sums-kept", "sums-recomputed"])
    def test_a_doctored_bundle_fails(self, bundle, tmp_path, change, resealed):
        copy = tmp_path / "copy"
        shutil.copytree(bundle, copy)
        CHANGES[change](copy)
        if resealed:
            seal_again(copy)
        code, result = audit(copy)
        assert code == 1
        assert result["audit"] == "fail"
        assert result["problem_count"] > 0

    def test_no_trace_of_this_machine(self, bundle):
        for path in bundle.rglob("*"):
            if path.is_file() and path.suffix in (".json", ".jsonl", ".ipynb", ".log", ".toml", ".html", ".txt"):
                text = path.read_text(encoding="utf-8")
                assert str(PROJECT_ROOT) not in text, path
                assert str(Path.home()) + "/" not in text, path


class TestStandards:
    def test_the_catalogue_description_breaks_no_rule_of_ro_crate(self, bundle):
        assert violations(bundle) == []

    @pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum (coreutils) is not installed")
    def test_coreutils_checks_it(self, bundle):
        command = ["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"]
        assert subprocess.run(command, cwd=bundle, capture_output=True, check=False).returncode == 0

    def test_it_is_the_same_as_itself(self, bundle, tmp_path):
        assert verb.run(bundle, bundle, out=tmp_path / "diff.json", trust_own=True) == 0
        document = json.loads((tmp_path / "diff.json").read_text())
        assert (document["changes"], document["lost"], document["unmatched"]) == ([], [], [])
        assert {row["engine"] for row in document["rows"]} == {"reference", "native", "graph"}


def _records(copy: Path) -> Path:
    return copy / "records/native/exchanges.jsonl"


def flip(copy: Path) -> None:
    body = next(iter(sorted((copy / "records/bodies").iterdir())))
    data = bytearray(body.read_bytes())
    data[len(data) // 2] ^= 1
    body.write_bytes(bytes(data))


def lines_of(change):
    def apply(copy: Path) -> None:
        lines = _records(copy).read_bytes().splitlines(keepends=True)
        _records(copy).write_bytes(b"".join(change(lines)))

    return apply


def edit_metric(copy: Path) -> None:
    drift = json.loads((copy / "drift.json").read_text())
    drift["rows"][0]["probability_drift"] = 0.001
    (copy / "drift.json").write_text(json.dumps(drift))


CHANGES = {
    "byte": flip,
    "added": lambda copy: (copy / "records/extra.json").write_text("{}"),
    "removed": lambda copy: (copy / "records/native/engine.json").unlink(),
    "renamed": lambda copy: (copy / "drift.json").rename(copy / "drifts.json"),
    "dropped": lines_of(lambda lines: [*lines[:10], *lines[11:]]),
    "duplicated": lines_of(lambda lines: [*lines[:10], lines[9], *lines[10:]]),
    "reordered": lines_of(lambda lines: [*lines[:9], lines[10], lines[9], *lines[11:]]),
    "metric": edit_metric,
    "empty-corpus": lambda copy: (copy / "protocol/corpus.jsonl").write_text(""),
}


class TestNotebooks:
    """nbval compares only cells that carry stored outputs; here it is made sure that there are some."""

    @pytest.mark.parametrize("path", sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
    def test_every_notebook_can_be_run_by_name_alone(self, path):
        profile = "params/cpu-tiny-remote.toml" if path.stem == "04_remote" else "params/cpu-tiny.toml"
        own = {
            "08_generated": {"budget_s": 0.0},
            "09_performance": {"budget_s": 330.0, "blocks": 6},
        }.get(path.stem, {})
        assert declared_parameters(path) == {"profile": profile, "run_dir": "", "rerun": False, **own}

    @pytest.mark.parametrize(
        "path",
        [p for p in sorted((PROJECT_ROOT / "notebooks").glob("*.ipynb")) if p.stem != "04_remote"],
        ids=lambda p: p.stem,
    )
    def test_the_verdict_cell_has_a_stored_pass(self, path):
        cells = json.loads(path.read_text())["cells"]
        checked = [cell for cell in cells if "nbval-check-output" in cell["metadata"].get("tags", [])]
        assert len(checked) == 1
        assert checked[0]["execution_count"]
        text = "".join(checked[0]["outputs"][0]["text"])
        assert text.rstrip().endswith("PASS")


PUBLISHED, DECIDER = "evidence/published/", "kit/checkpoint/decider/"
BOUNDS = {DECIDER: 18_000_000, PUBLISHED: publish.MAX_BYTES}  # bytes; of what is published, each bundle
BOUND_OF_THE_REST = 10_000_000


def part_of(name: str) -> str:
    """The part of the tracked tree a file belongs to: one published bundle, the trained checkpoint, or the rest."""
    if name.startswith(PUBLISHED):
        return "/".join(name.split("/")[:3])
    return DECIDER if name.startswith(DECIDER) else "the rest"


def test_every_part_of_the_tracked_tree_is_small():
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT_ROOT, capture_output=True, check=True
    ).stdout.decode().split("\0")[:-1]  # fmt: skip
    sizes = Counter()
    for name in names:
        sizes[part_of(name)] += (PROJECT_ROOT / name).stat().st_size if (PROJECT_ROOT / name).exists() else 0
    assert {DECIDER, "the rest"} < set(sizes)
    bounds = {part: next((b for start, b in BOUNDS.items() if part.startswith(start)), BOUND_OF_THE_REST) for part in sizes}
    grown = [f"{part} has {size:,} bytes, at most {bounds[part]:,}" for part, size in sizes.items() if size > bounds[part]]
    assert not grown, "; ".join(grown)


def test_the_profile_of_the_tests_is_the_one_that_ran(bundle):
    assert (bundle / "profile.json").read_bytes() == load_profile("params/cpu-tiny.toml").canonical()
