"""BF16 steps and the smallest shift the gates can see."""

import itertools
import math

import pytest

from kit.campaign.sensitivity import (
    MAX_STEPS,
    Detectable,
    changed_steps,
    detectable,
    fails_a_gate,
    has_room,
)
from kit.contract.answer import softmax
from kit.evidence.floats import bf16_spacing
from kit.profile import Gates

GATES = Gates()


def test_changes_are_counted_in_steps_of_the_larger_magnitude() -> None:
    # At 16..32 a step is 1/8, at 4..8 it is 1/32; the pair's step is that of its larger member.
    assert changed_steps([20.0, 5.0], [20.125, 5.0]) == 1.0
    assert changed_steps([20.0, 5.0], [20.0, 5.03125]) == 0.25
    assert changed_steps([6.0, 5.0, 7.0], [6.0, 5.0, 7.0]) == 0.0


def test_a_shift_common_to_all_logits_is_no_change() -> None:
    assert changed_steps([4.0, 5.0, 6.0], [4.5, 5.5, 6.5]) == 0.0


@pytest.mark.parametrize(
    ("logits", "temperature", "kind"),
    [
        ([2.0, 2.0], 1.25, "choice"),
        ([2.0, 1.75], 1.25, "noul"),
        ([7.5, -3.0, 0.25, 0.0], 1.348, "choice"),
        ([1.0, 1.5, 6.0, -2.0, 0.125], 1.395, "score"),
        ([6.5, 6.4375, -1.0], 0.7, "score"),
    ],
)
def test_bisection_finds_what_trying_every_step_finds(logits, temperature, kind) -> None:
    before = softmax(logits, temperature)

    def seen(n: int, i: int, sign: int) -> bool:
        moved = list(logits)
        moved[i] += sign * n * bf16_spacing(logits[i])
        return fails_a_gate(before, softmax(moved, temperature), kind, GATES)

    moves = list(itertools.product(range(len(logits)), (1, -1)))
    expected = next(((n, i) for n in range(1, 3000) for i, sign in moves if seen(n, i, sign)), None)
    found = detectable(logits, temperature, kind, GATES)
    assert expected is not None
    assert (found.steps, found.logit) == (expected[0], expected[0] * bf16_spacing(logits[expected[1]]))


def test_one_step_is_seen_at_even_odds_between_large_logits_and_many_are_needed_for_a_sure_answer() -> None:
    assert detectable([20.0, 20.0], 1.348, "choice", GATES).steps == 1
    sure = detectable([20.0, 9.0], 1.348, "choice", GATES)
    assert sure.steps is not None
    assert sure.steps > 20


def test_nothing_may_be_visible() -> None:
    # Logits so small that 4096 of their own steps move no probability.
    assert detectable([1e-30, 0.0], 1.0, "choice", GATES) == Detectable(None, None)
    assert MAX_STEPS == 4096


def test_a_changed_winner_counts_only_from_the_margin_on() -> None:
    def flips(before: list[float], after: list[float]) -> bool:
        return fails_a_gate(before, after, "choice", Gates(probability=1, confidence=1))

    assert not flips([0.52, 0.48], [0.49, 0.51])
    assert flips([0.53, 0.47], [0.49, 0.51])
    assert not flips([0.5, 0.5], [0.5, 0.5]), "at a tie the first one wins on both sides"


def test_a_drift_of_exactly_the_bound_is_allowed() -> None:
    assert not fails_a_gate([0.6, 0.4], [0.62, 0.38], "noul", GATES)
    assert fails_a_gate([0.6, 0.4], [0.6201, 0.3799], "noul", GATES)
    assert math.isclose(GATES.probability, 0.02)


def test_a_row_has_room_unless_it_says_otherwise() -> None:
    assert has_room({"max_steps": 3.0})
    assert has_room({"room": True})
    assert not has_room({"room": False})
