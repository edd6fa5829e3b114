"""Frozen answers of another CPU: judged in BF16 steps, and by the bounds of the field only where a question has room."""

import math
from pathlib import Path

import pytest

from kit.campaign.drift import compute_drift
from kit.campaign.sensitivity import ROOM_STEPS, changed_steps, steps_from_answer
from kit.campaign.verdict import compute_verdict
from kit.contract.answer import softmax
from kit.evidence.floats import bf16_spacing
from kit.profile import ProfileError, load_profile
from tests.campaign.synthetic_run import FrozenBy, bf16, profile_toml, write_run
from tests.campaign.test_drift import move

NARROW = ("text-pair", "z-known")  # of the made-up questions one that four steps of one logit already show on
MOST = 8


def another_cpu(steps: int) -> FrozenBy:
    """The first logit of one question was frozen so many of its BF16 steps from where it stands here."""

    def frozen(request: str, question: str, logits: list[float]) -> list[float]:
        if (request, question) != NARROW:
            return logits
        return [bf16(logits[0] + steps * bf16_spacing(logits[0])), *logits[1:]]

    return frozen


def gates(verdict: dict, name: str) -> list[dict]:
    return [gate for gate in verdict["gates"] if gate["gate"] == name]


class TestSteps:
    def test_an_answer_says_its_logits_up_to_a_constant(self) -> None:
        reference, candidate = [3.0, 5.0, 4.0], [3.0, 5.03125, 4.0625]
        found = steps_from_answer(softmax(reference, 1.3), [value + 0.5 for value in candidate], 1.3)
        assert found == pytest.approx(changed_steps(reference, candidate))

    def test_the_same_logits_are_no_step_off(self) -> None:
        logits = [7.25, -1.5, 0.125]
        assert steps_from_answer(softmax(logits, 0.7), logits, 0.7) == 0.0

    def test_a_probability_of_zero_says_nothing(self) -> None:
        assert steps_from_answer([1.0, 0.0], [900.0, 0.0], 1.0) is None


class TestRows:
    def test_frozen_rows_carry_steps_and_room_where_the_profile_asks(self, tmp_path: Path) -> None:
        write_run(tmp_path / "run", frozen_steps=MOST)
        for row in compute_drift(tmp_path / "run")["rows"]:
            assert row["max_steps"] == 0.0
            if row["against"] == "frozen":
                assert row["room"] == (row["detectable_steps"] is None or row["detectable_steps"] > ROOM_STEPS)
            else:
                assert "room" not in row

    def test_otherwise_they_do_not(self, tmp_path: Path) -> None:
        write_run(tmp_path / "run")
        frozen = [row for row in compute_drift(tmp_path / "run")["rows"] if row["against"] == "frozen"]
        assert {row["max_steps"] for row in frozen} == {None}
        assert not any("room" in row for row in frozen)


class TestGates:
    def test_a_question_without_room_may_be_a_few_steps_off_and_is_named(self, tmp_path: Path) -> None:
        write_run(tmp_path / "run", frozen_steps=MOST, frozen_by=another_cpu(MOST))
        row = next(
            row for row in compute_drift(tmp_path / "run")["rows"]
            if row["against"] == "frozen" and (row["request"], row["question"]) == NARROW
        )  # fmt: skip
        assert row["probability_drift"] > 0.02
        assert not row["room"]
        verdict = compute_verdict(tmp_path / "run")
        assert verdict["verdict"] == "pass"
        for gate in gates(verdict, "frozen_steps"):
            assert 0 < gate["value"] <= MOST + 1e-6
            assert "text-pair/z-known" in gate["detail"].partition("without room for the other bounds: ")[2]

    def test_without_the_rule_the_same_is_refused(self, tmp_path: Path) -> None:
        write_run(tmp_path / "run", frozen_by=another_cpu(MOST))
        assert "probability" in compute_verdict(tmp_path / "run")["failures"]

    def test_more_steps_than_declared_fail_and_no_margin_excuses_them(self, tmp_path: Path) -> None:
        write_run(tmp_path / "run", frozen_steps=1, frozen_by=another_cpu(2 * MOST))
        assert "frozen_steps" in compute_verdict(tmp_path / "run")["failures"]

    def test_the_fresh_comparison_stays_about_bits(self, tmp_path: Path) -> None:
        write_run(tmp_path / "run", frozen_steps=MOST, change=move("native", *NARROW, 0.03125))
        assert {"hidden_bitwise", "logits_bitwise"} <= set(compute_verdict(tmp_path / "run")["failures"])


def test_only_an_exact_claim_may_judge_frozen_answers_in_steps(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(profile_toml(engines=("reference", "native"), passes=2, claim="baseline", reference="reference", frozen_steps=4))
    with pytest.raises(ProfileError, match=r"protocol.frozen_steps is 4, expected 0"):
        load_profile(file)


def test_steps_are_finite_numbers(tmp_path: Path) -> None:
    write_run(tmp_path / "run", frozen_steps=2)
    assert all(math.isfinite(row["max_steps"]) for row in compute_drift(tmp_path / "run")["rows"])
