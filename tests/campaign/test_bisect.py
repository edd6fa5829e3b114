"""`kit bisect`: which request, which engines, which bound; what it prints and how it exits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.campaign import bisect
from kit.campaign.bisect import Asked, exit_code, find_request, loaded, parse_bound, run
from kit.campaign.layer_report import sentences, show
from kit.campaign.layers import Side
from kit.profile import PROJECT_ROOT, Profile
from tests.engine.requests import text

REQUEST = "route-choice-2"


def bisected(profile: Profile, capsys: pytest.CaptureFixture[str], **asked: Any) -> tuple[dict[str, Any], str]:
    given = {"request": REQUEST, "engine": "native", "against": "reference"} | asked
    files = {name: given.pop(name) for name in ("plot", "json") if name in given}
    return run(profile, Asked(**given), **files), capsys.readouterr().out


class TestOutcome:
    def test_two_exact_engines_differ_in_no_bit(self, profile: Profile, capsys: pytest.CaptureFixture[str]) -> None:
        line, out = bisected(profile, capsys, engine="graph")
        assert exit_code(line) == 0
        assert (line["bound"], line["over"], line["different"], line["first_over"]) == ("bits", 0, 0, None)
        assert "graph against reference" in out
        assert "no bit differs" in out

    def test_rounding_is_within_its_bound_and_over_a_tight_one(
        self, profile: Profile, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        line, out = bisected(profile, capsys, against="oracle")
        assert (exit_code(line), line["bound"], line["over"]) == (0, "rounding", 0)
        assert "all are within the bound" in out
        plot, figures = tmp_path / "map.png", tmp_path / "layers.json"
        line, out = bisected(profile, capsys, against="oracle", bound="0.001", plot=plot, json=figures)
        assert exit_code(line) == 1
        assert line["first_over"] == "layer.00.mixer"
        assert "first over its bound is layer.00.mixer" in out
        assert plot.read_bytes().startswith(b"\x89PNG")
        document = json.loads(figures.read_text())
        assert document["format"] == "kit-layers/1"
        assert document["pairs"][0]["prompts"][0]["request"] == REQUEST

    def test_another_dtype_is_another_side(self, profile: Profile, capsys: pytest.CaptureFixture[str]) -> None:
        line, _ = bisected(profile, capsys, engine="native@float32", against="native")
        assert (line["bound"], line["over"]) == ("rounding", 0)
        line, _ = bisected(profile, capsys, engine="native@float32", against="native", bound="bits")
        assert line["first_over"] == "embedding"  # other dtypes share no bits

    @pytest.mark.parametrize(
        ("asked", "problem"),
        [
            ({"request": "nowhere"}, "no request 'nowhere'.*route-choice-2"),
            ({"question": "nothing"}, "no question 'nothing' in this request, which has"),
            ({"engine": "remote"}, "no engine 'remote' to walk: expected reference, native, graph, oracle"),
            ({"engine": "oracle@float32"}, "no engine 'oracle@float32'"),
            ({"engine": "native@int8"}, "no engine 'native@int8'"),
            ({"engine": "reference"}, "both reference"),
            ({"bound": "tight"}, "--bound tight: expected auto, bits, rounding, or a relative RMS"),
            ({"bound": "nan"}, "--bound nan: expected"),
            ({"against": "oracle", "keep": "digest"}, "digests show whether bits differ"),
        ],
    )
    def test_what_cannot_be_judged_says_why(
        self, profile: Profile, capsys: pytest.CaptureFixture[str], asked: dict[str, Any], problem: str
    ) -> None:
        line, _ = bisected(profile, capsys, **asked)
        assert exit_code(line) == 2
        assert re.search(problem, line["problem"])


class TestRequests:
    def test_of_the_protocol_of_a_file_or_generated(self, profile: Profile, tmp_path: Path) -> None:
        assert b"questions" in find_request(profile, REQUEST)
        (tmp_path / "mine.json").write_bytes(text(3))
        assert find_request(profile, str(tmp_path / "mine.json")) == text(3)
        assert find_request(profile, "image-0001") != find_request(profile, "text-0001")

    def test_one_question_or_all(self, profile: Profile) -> None:
        with loaded(profile, ["native", "oracle"]) as (ours, _):
            prepared = ours.engine.prepare(text(3))
        assert len(bisect.chosen_question(prepared, "").questions) == 3
        assert [item.question.id for item in bisect.chosen_question(prepared, "angry").questions] == ["angry"]


class TestBounds:
    def test_by_name_or_number(self) -> None:
        bf16, wide, truth = (Side(name, None, name) for name in ("bfloat16", "float32", "oracle"))
        assert parse_bound("auto", bf16, bf16)(["embedding"]).name == "bits"
        assert parse_bound("auto", bf16, wide)(["embedding"]).name == "rounding"
        assert parse_bound("auto", bf16, truth)(["embedding"]).name == "rounding"
        assert parse_bound("bits", bf16, truth)(["embedding"]).name == "bits"
        assert parse_bound("1e-3", bf16, bf16)(["embedding"]).limits == {"embedding": 1e-3}


PROMPT = {
    "request": "r", "question": "q", "modality": "text", "tokens": 9, "first_over": "layer.00.mixer",
    "stages": ["embedding", "layer.00.mixer"], "elements": [4, 4], "different": [0, 3], "relative_rms": [0.0, 0.25],
    "max_steps": [0.0, 12.0], "limit": [None, None], "over": [False, True], "problems": {},
    "histograms": {"layer.00.mixer": [1, 0, 0, 0, 0, 0, 3, 0, 0]},
}  # fmt: skip
PAIR = {
    "engine": "a", "against": "b", "bound": "bits", "reason": "no bit may differ", "over": 1,
    "worst": {"embedding": 0.0, "layer.00.mixer": 0.25}, "prompts": [PROMPT],
}  # fmt: skip


class TestReport:
    def test_the_finding_in_a_sentence(self) -> None:
        assert sentences(PAIR)[1] == (
            "r / q (9 tokens): first over its bound is layer.00.mixer: 3 of 4 values differ, relative RMS 0.25, up to 12 "
            "BF16 steps; 1 of 2 stages are."
        )

    def test_the_table_marks_equal_and_over(self, capsys: pytest.CaptureFixture[str]) -> None:
        show(PAIR)
        out = capsys.readouterr().out
        assert "0.25 !" in out
        assert "=" in out
        assert "to 16" in out


def test_the_command_ends_with_one_json_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kit", "bisect", "params/cpu-tiny.toml", "--request", REQUEST, "--engine", "native",
         "--against", "oracle", "--bound", "1e-4"],
        capture_output=True, text=True, timeout=240, cwd=PROJECT_ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["first_over"] == "layer.00.mixer"
