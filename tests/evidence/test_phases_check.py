"""What the auditor makes of the phases of a session: what is left out says why, and what says why is left out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence.audit.phases import phase_of
from tests.evidence.make_bundle import Tamper
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[dict[str, Any]], object]
NAME, SAMPLES = "performance.json", "records/performance_samples.json"


@pytest.fixture
def tamper(on_gpu: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(on_gpu, tmp_path / "bundle"))


def problems(path: Path) -> list[str]:
    return [problem for problem in audit_problems(path) if problem.startswith("phases: ")]


def test_a_session_that_says_what_it_left_out_is_no_problem(on_gpu: Path) -> None:
    assert problems(on_gpu) == []


def without(phase: str) -> Edit:
    """Samples in which nothing of this phase is."""
    return lambda d: d.update(entries=[entry for entry in d["entries"] if phase_of(entry) != phase])


def measured(edit: Edit) -> Edit:
    return lambda d: edit(d["measured"])


def listed(phase: str) -> Edit:
    return measured(lambda m: m["not_measured"].append({"phase": phase, "reason": "no time"}))


def unbegun(phase: str) -> Edit:
    return measured(lambda m: (m["not_measured"].append({"phase": phase, "reason": "no time"}), m["seconds"].pop(phase)))


def took(phase: str, seconds: float) -> Edit:
    return measured(lambda m: m["seconds"].update({phase: seconds}))


@pytest.mark.parametrize(
    ("name", "edit", "problem"),
    [
        (SAMPLES, without("compiled"), f'has no reason for "compiled", expected one, as nothing is in {SAMPLES}'),
        (SAMPLES, without("http"), 'has no reason for "http", expected one'),
        (SAMPLES, without("images-4"), 'has no reason for "images-4", expected one'),
        (SAMPLES, without("text 8192"), 'has no reason for "text 8192", expected one'),
        (NAME, measured(lambda m: m.pop("adapter_swap")), 'has no reason for "adapter swap", expected one, as nothing is in performance.json'),
        (NAME, listed("images-4"), f'lists "images-4", expected no reason, as it is in {SAMPLES}'),
        (NAME, listed("text 98"), 'lists "text 98", expected no reason'),
        (NAME, listed("profile"), 'lists "profile", expected no reason, as it is in performance.json measured profile'),
        (NAME, unbegun("merged"), 'lists "merged", expected no reason'),
        (NAME, took("adapter swap", 0.0), "seconds adapter swap: is 0.0, expected more than none"),
        (NAME, took("text 98", 0.0), "seconds text 98: is 0.0, expected the "),
        (NAME, took("http", 0.2), f"or more that its samples in {SAMPLES} took"),
    ],
)  # fmt: skip
def test_an_edited_phase_is_found(tamper: Tamper, name: str, edit: Edit, problem: str) -> None:
    tamper.json(name, edit)
    tamper.reseal()
    assert any(problem in text for text in problems(tamper.path)), problems(tamper.path)[:10]


def test_a_phase_of_several_rounds_may_fail_after_some(tamper: Tamper) -> None:
    tamper.json(NAME, listed("merged"))
    tamper.reseal()
    assert problems(tamper.path) == []
