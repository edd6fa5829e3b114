"""A candidate judged against a corpus and answers that a user brings, in the published format, without a reference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.profile import PROJECT_ROOT
from tests.campaign.test_published import edit_answers, pins_of

OWN = PROJECT_ROOT / "evidence" / "protocol"
pytestmark = pytest.mark.timeout(600)  # half a minute, on a machine that has nothing else to do
NAMES = 5  # requests of our own protocol that stand in for a published corpus, images among them


@pytest.fixture
def brought(tmp_path: Path) -> Path:
    """corpus.jsonl and reference.json with answers of cpu-tiny's reference, and pins beside the folder."""
    lines = (OWN / "corpus.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    cases = {json.loads(line)["id"]: line for line in lines}
    images = [name for name, line in cases.items() if json.loads(line)["modality"] == "image"]
    chosen = [*[name for name in cases if name not in images][: NAMES - 2], *images[:2]]
    answers = [entry for entry in json.loads((OWN / "reference.json").read_text()) if entry["id"] in chosen]
    folder = tmp_path / "protocol"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(cases[name] for name in chosen), encoding="utf-8")
    (folder / "reference.json").write_text(json.dumps(answers, ensure_ascii=False))
    (tmp_path / "pins.json").write_text(json.dumps(pins_of(folder)))
    text = (PROJECT_ROOT / "params" / "jemm-27b-published.toml").read_text()
    tiny = (PROJECT_ROOT / "params" / "cpu-tiny.toml").read_text()
    checkpoint = tiny[tiny.index("[checkpoint]") : tiny.index("[model]")]
    text = text.replace(text[text.index("[checkpoint]") : text.index("[model]")], checkpoint)
    text = text.replace(".cache/jemm-protocol", str(folder)).replace("kit/campaign/published_protocol.json", str(tmp_path / "pins.json"))
    (tmp_path / "profile.toml").write_text(text.replace('device = "cuda"', 'device = "cpu"'))
    return folder


def run(tmp_path: Path) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "kit", "run", str(tmp_path / "profile.toml"), "--id", "published"],
        capture_output=True, text=True, timeout=580, cwd=PROJECT_ROOT, check=False,
        env={**os.environ, "KIT_RUNS": str(tmp_path / "runs")},
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}, done.stderr


def test_own_engines_pass_against_published_answers_alone(brought: Path, tmp_path: Path) -> None:
    code, line, said = run(tmp_path)
    assert (code, line["verdict"]) == (0, "pass"), (line, said)
    assert line["against"] == ["frozen"]
    assert set(line["by_engine"]) == {"native", "graph", "frontend"}
    verdict = json.loads((tmp_path / "runs" / "published" / "verdict.json").read_text())
    assert "no reference engine" in verdict["scope"]
    assert set(verdict["drift"]) == {"native/frozen", "graph/frozen"}
    assert line["max_probability_drift"] < 0.02


def test_answers_that_are_not_the_published_ones_start_nothing(brought: Path, tmp_path: Path) -> None:
    edit_answers(brought, lambda answers: answers[0]["response"]["usage"].update(input_tokens=1))
    code, line, said = run(tmp_path)
    assert (code, line["verdict"], line["error"]) == (2, "not-judged", "PinsError")
    assert not (tmp_path / "runs" / "published").exists()
    assert "is not the protocol pinned in pins.json" in said
