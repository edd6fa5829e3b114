"""Matching: every counterfactual is told from every other by probabilities alone, and noise is not explained away."""

from __future__ import annotations

import math

import pytest

from kit.campaign.diagnosis.matching import Finding, Temperatures, find, rules, words
from tests.campaign.diagnosis.made_up import (
    DECLARED,
    FORMS,
    KEYS,
    LIBRARY,
    MODALITIES,
    PLAIN,
    Answers,
    served,
)


def finding(candidate: Answers) -> Finding:
    return find(candidate, LIBRARY, MODALITIES, DECLARED)


def named(candidate: Answers) -> tuple[str, str, str]:
    found = finding(candidate)
    return found.outcome, found.nearest.form, found.nearest.rule


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_each_form_is_named_as_itself(form: str, noise: float) -> None:
    assert named(served(LIBRARY[form], noise=noise)) == ("explained", form, "declared")


@pytest.mark.parametrize("rule", rules(DECLARED))
def test_each_rule_of_temperatures_is_named(rule: str) -> None:
    used, _ = rules(DECLARED)[rule]
    assert named(served(PLAIN, used)) == ("explained", "plain", rule)
    assert named(served(LIBRARY["off"], used)) == ("explained", "off", rule)


def test_other_temperatures_are_measured() -> None:
    found = finding(served(PLAIN, Temperatures(2.0, 3.0)))
    assert (found.outcome, found.nearest.rule) == ("explained", "fitted")
    assert found.nearest.temperatures.text == pytest.approx(2.0, abs=1e-9)
    assert words(found.nearest, FORMS, DECLARED) == (
        "with temperatures 2 for text and 3 for images in place of 1.25 and 1.5"
    )


def test_the_plain_reference_is_the_same_whatever_its_common_offset() -> None:
    assert named(served(PLAIN)) == ("same", "plain", "declared")
    raised = {key: tuple(value + 7 for value in values) for key, values in PLAIN.items()}
    assert named(served(raised)) == ("same", "plain", "declared")


@pytest.mark.parametrize("seed", range(100, 140))
def test_noise_is_not_explained(seed: int) -> None:
    noise = (0.01, 0.1, 1.0)[seed % 3]
    assert finding(served(PLAIN, noise=noise, seed=seed)).outcome == "unexplained"


def test_a_change_that_touches_few_questions_is_judged_on_those() -> None:
    """Rounding in all the others does not hide it."""
    assert named(served(LIBRARY["images"], noise=0.15, seed=105))[:2] == ("explained", "images")


def test_what_the_requests_cannot_tell_is_said() -> None:
    text = {key: values for key, values in served(PLAIN, Temperatures(1.5, 1.5)).items() if MODALITIES[key[0]] == "text"}
    found = finding(text)
    assert found.outcome == "explained"
    assert {found.nearest.rule, *(match.rule for match in found.same)} == {"image", "swapped"}


def test_three_questions_are_too_few_and_a_second_change_does_not_make_up_for_them() -> None:
    images = [key for key in KEYS if MODALITIES[key[0]] == "image"][:3]
    text = [key for key in KEYS if MODALITIES[key[0]] == "text"]
    assert finding({key: served(LIBRARY["images"])[key] for key in (*text, *images)}).outcome == "unexplained"
    few = {key: values for key, values in served(LIBRARY["off"]).items() if key in KEYS[:3]}
    assert finding(few).outcome == "unexplained"


def test_probabilities_that_are_none_are_left_out() -> None:
    candidate: Answers = served(LIBRARY["off"])
    candidate[KEYS[0]] = (math.nan, 0.5, 0.25, 0.25)
    candidate[KEYS[1]] = (1.0, 0.0, 0.0, 0.0)
    found = finding(candidate)
    assert (found.questions, found.nearest.form) == (len(KEYS) - 2, "off")
    with pytest.raises(ValueError, match="no question"):
        finding({KEYS[0]: (math.nan, 1.0, 0.0, 0.0)})


def test_words_join_a_form_and_a_rule() -> None:
    used, _ = rules(DECLARED)["swapped"]
    found = finding(served(LIBRARY["off"], used))
    assert words(found.nearest, FORMS, DECLARED) == "with its adapter off and with text and image temperature swapped"
