"""Several draws of the autotuner: what is compared, what the table says, and a whole experiment on the CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit.campaign import draws
from kit.campaign.protocol import load_protocol
from kit.campaign.run_folder import RunError, open_run
from kit.engine import autotune
from kit.engine.autotune import digest
from kit.profile import load_profile
from tests.campaign.synthetic_run import float32_hex

PROFILE = "params/cpu-tiny.toml"
FAST = {"kernel": "fla.sums.tiled", "key": [48], "config": {"kwargs": {"BK": 32}, "num_warps": 2}}
WIDE = FAST | {"config": {"kwargs": {"BK": 64}, "num_warps": 2}}


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(autotune, "_ledger", None)
    for name in ("TRITON_CACHE_DIR", *draws.NO_KEPT_TIMINGS):
        monkeypatch.setenv(name, "")


def side(hidden: str, *logits: float) -> dict[str, str]:
    return {"hidden": hidden, "logits": float32_hex(logits)}


def draw(winner: dict[str, Any], *rows: dict[str, str], native: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "digest": digest([winner]), "winners": [winner], "late": [],
        "rows": [
            {"request": "r", "question": str(n), "modality": "text", "reference": row, "native": native or row}
            for n, row in enumerate(rows)
        ],
    }  # fmt: skip


def document(*made: dict[str, Any]) -> dict[str, Any]:
    repeats = [{"request": "r", "engine": "native", "calls": 20, "different": 0}]
    found = {"draws": list(made), "temperatures": {"text": 1.0, "image": 2.0}, "repeats": repeats}
    return found | {"summary": draws.summarise(found)}


class TestSummary:
    def test_two_draws_that_agree(self) -> None:
        found = document(draw(FAST, side("a", 8.0, 9.0)), draw(FAST, side("a", 8.0, 9.0)))
        assert found["summary"]["distinct"] == 1
        assert found["summary"]["kernels"] == {}
        assert found["summary"]["between"] == [
            {"draws": [1, 2], "hidden": 0, "logits": 0, "flips": 0, "max_steps": 0.0, "max_probability": 0.0}
        ]
        assert draws.exit_code(found) == 0

    def test_what_two_draws_of_the_reference_differ_by(self) -> None:
        """One row that differs alone, one whose logits move by a step of 1/16, and one winner that flips."""
        found = document(
            draw(FAST, side("a", 8.0, 9.0), side("b", 8.0, 9.0), side("c", 9.0, 9.0625)),
            draw(WIDE, side("x", 8.0, 9.0), side("y", 8.0, 9.0625), side("c", 9.125, 9.0625)),
        )
        pair = found["summary"]["between"][0]
        assert (pair["hidden"], pair["logits"], pair["flips"], pair["max_steps"]) == (2, 2, 1, 2.0)
        assert pair["max_probability"] == pytest.approx(0.03122, abs=1e-4)
        assert found["summary"]["kernels"] == {"fla.sums.tiled": 2}
        assert draws.exit_code(found) == 0  # draws may differ; native may not

    def test_native_must_equal_the_reference_in_every_draw(self) -> None:
        same, other = side("a", 8.0, 9.0), side("z", 8.0, 9.0)
        found = document(draw(FAST, same), draw(WIDE, same, native=other))
        assert found["summary"]["native_different"] == [0, 1]
        assert draws.exit_code(found) == 1

    @pytest.mark.parametrize("fault", ["late", "repeat"])
    def test_late_tuning_and_other_bits_fail(self, fault: str) -> None:
        found = document(draw(FAST, side("a", 8.0, 9.0)))
        if fault == "late":
            found["draws"][0]["late"] = [WIDE]
        else:
            found["repeats"][0]["different"] = 1
        assert draws.exit_code(found | {"summary": draws.summarise(found)}) == 1

    def test_the_table_has_a_line_a_draw(self) -> None:
        lines = draws.table(document(draw(FAST, side("a", 8.0, 9.0)), draw(WIDE, side("b", 8.0, 9.0)))).splitlines()
        assert lines[2].split() == ["1", digest([FAST])[:12], "0", "of", "1"]
        assert lines[3].split() == ["2", digest([WIDE])[:12], "0", "of", "1", "1", "0", "0", "0", "0.000000"]
        assert lines[4:] == ["tiled: 2 choices", "0 of 20 repeated calls gave other bits"]


class TestCases:
    def test_the_first_of_each_kind_in_the_protocol_s_order(self) -> None:
        profile = load_profile(PROFILE)
        cases = load_protocol(profile.protocol_path()).cases
        chosen = draws.chosen_cases(cases, 2, 1)
        assert [case.modality for case in chosen] == ["text", "text", "image"]
        assert list(draws.chosen_cases(cases, None, None)) == list(cases)
        assert all(case.modality == "image" for case in draws.chosen_cases(cases, 0, None))

    def test_none_at_all_is_refused(self) -> None:
        with pytest.raises(RunError, match="no request is left"):
            draws.measure(PROFILE, 2, texts=0, images=0)


class TestExperiment:
    def test_a_draw_that_fails_is_told_with_its_reason(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        failing = tmp_path / "python"
        failing.write_text("#!/bin/sh\necho out of memory >&2\nexit 3\n")
        failing.chmod(0o755)
        monkeypatch.setattr(draws, "sys", SimpleNamespace(executable=str(failing), stderr=sys.stderr))
        with pytest.raises(draws.DrawFailedError, match="draw 1 ended with code 3: out of memory"):
            draws.measure(PROFILE, 2, texts=1, images=0)

    def test_a_sealed_run_takes_no_draws(self) -> None:
        (open_run(PROFILE, "a").path / "SHA256SUMS").write_text("")
        with pytest.raises(RunError, match="sealed"):
            draws.run(PROFILE, 2, run_id="a")

    def test_on_a_cpu_every_draw_is_the_empty_one_and_native_is_equal(self, tmp_path: Path) -> None:
        found = draws.run(PROFILE, 2, out=tmp_path / "draws.json", run_id="a", texts=1, images=0)
        assert found == json.loads((tmp_path / "draws.json").read_text())
        assert found == json.loads((tmp_path / "runs" / "a" / draws.FILE).read_text())
        summary = found["summary"]
        assert (summary["draws"], summary["distinct"], summary["native_different"]) == (2, 1, [0, 0])
        assert {repeat["engine"] for repeat in found["repeats"]} == {"reference", "native"}
        assert draws.exit_code(found) == 0
