"""Gates over generated questions: each can fail, and only profiles that declare questions have them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.generated import lines
from kit.campaign.generated.gates import generated_gates
from kit.campaign.reading import read_run
from kit.profile import Generated
from tests.campaign.generated import made_up
from tests.campaign.synthetic_run import write_run


def gates(folder: Path, claim: str = "exact", questions: int = 60) -> dict[str, Any]:
    """Gate name -> gate, of a made-up run whose profile declares generated questions."""
    run = read_run(folder)
    profile = dataclasses.replace(run.profile, claim=claim, generated=Generated(questions, 1))  # type: ignore[arg-type]
    return {gate.gate: gate for gate in generated_gates(dataclasses.replace(run, profile=profile))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path / "run")
    return tmp_path / "run"


def last_step(number: int, logits: tuple[float, ...]) -> tuple[float, ...]:
    """One BF16 step of one logit of one question."""
    return logits if number != 7 else (logits[0] + 2**-6, *logits[1:])


def test_a_profile_without_generated_questions_has_no_gate(folder: Path) -> None:
    assert gates(folder, questions=0) == {}


def test_equal_sides_pass(folder: Path) -> None:
    made_up.write(folder, 60)
    found = gates(folder)
    assert list(found) == ["generated", "generated_hidden_bitwise", "generated_logits_bitwise", "generated_flips"]
    assert all(gate.passed for gate in found.values())
    assert found["generated"].value == found["generated"].bound == 60


def test_questions_that_were_not_reached_fail(folder: Path) -> None:
    made_up.write(folder, 60, reached=59)
    gate = gates(folder)["generated"]
    assert not gate.passed
    assert gate.detail == "59 of 60 declared questions were answered"


def test_no_lines_at_all_fail_every_gate(folder: Path) -> None:
    found = gates(folder)
    assert len(found) == 4
    assert not any(gate.passed for gate in found.values())


def test_another_request_than_the_seed_makes_fails(folder: Path) -> None:
    made_up.write(folder, 60, seed=2)
    assert "text-0000 is not the request that seed 1 makes" in gates(folder)["generated"].detail


def test_one_step_of_one_logit_fails_an_exact_claim(folder: Path) -> None:
    made_up.write(folder, 60, change=last_step)
    found = gates(folder)
    assert (found["generated_hidden_bitwise"].value, found["generated_logits_bitwise"].value) == (1, 1)
    assert not found["generated_logits_bitwise"].passed


def test_a_changed_winner_fails_an_exact_claim(folder: Path) -> None:
    made_up.write(folder, 60, change=lambda number, logits: logits[::-1] if number == 3 else logits)
    assert gates(folder)["generated_flips"].value == 1


def test_claim_baseline_promises_nothing_but_that_the_questions_were_asked(folder: Path) -> None:
    made_up.write(folder, 60, change=last_step)
    assert {name: gate.passed for name, gate in gates(folder, "baseline").items()} == {"generated": True}


@pytest.mark.parametrize(("error", "passed"), [(0.0205, True), (0.023, False)])
def test_claim_faithful_rests_on_the_ratio_of_errors(folder: Path, error: float, passed: bool) -> None:
    made_up.write(folder, 600, change=lambda number, logits: (logits[0] + 2**-5, *logits[1:]), error=error)
    gate = gates(folder, "faithful", 600)["oracle"]
    assert gate.passed is passed
    assert gate.value == pytest.approx(error / 0.02, abs=0.01)
    assert gate.bound == 1.10


def test_claim_faithful_needs_six_hundred_questions(folder: Path) -> None:
    made_up.write(folder, 60)
    gate = gates(folder, "faithful")["oracle"]
    assert not gate.passed
    assert "60 prompts, the class needs 600" in gate.detail


def test_claim_faithful_needs_the_oracle(folder: Path) -> None:
    made_up.write(folder, 60)
    file = folder / lines.FILE
    header, *rest = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in [header, *({**line, "oracle": None} for line in rest)]))
    assert "the oracle answered no question" in gates(folder, "faithful")["oracle"].detail
