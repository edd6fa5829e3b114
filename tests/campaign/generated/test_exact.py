"""Exact bounds and tests: known values, and what they refuse to say."""

from __future__ import annotations

import math

import pytest

from kit.campaign.generated.exact import at_most, mcnemar, upper_bound


@pytest.mark.parametrize(
    ("changed", "questions", "bound"),
    [
        (0, 49, 1 - 0.05 ** (1 / 49)),  # 5.93%: what 49 questions can say
        (0, 600, 1 - 0.05 ** (1 / 600)),
        (0, 3000, 0.000998),
        (1, 600, 0.007881),  # beta.ppf(0.95, 2, 599)
        (5, 100, 0.102253),  # beta.ppf(0.95, 6, 95)
        (3, 3, 1.0),
    ],
)
def test_upper_bound(changed: int, questions: int, bound: float) -> None:
    assert upper_bound(changed, questions) == pytest.approx(bound, abs=1e-6)


def test_at_the_bound_so_few_happen_one_time_in_twenty() -> None:
    for changed, questions in ((0, 600), (2, 600), (17, 3000)):
        assert at_most(changed, questions, upper_bound(changed, questions)) == pytest.approx(0.05, abs=1e-9)


def test_no_questions_have_no_rate() -> None:
    for changed, questions in ((0, 0), (2, 1), (-1, 5)):
        with pytest.raises(ValueError, match="expected a count"):
            upper_bound(changed, questions)


def test_binomial_sums() -> None:
    assert at_most(2, 4, 0.5) == pytest.approx(11 / 16)
    assert at_most(0, 10, 0.0) == 1.0
    assert at_most(9, 10, 1.0) == 0.0
    assert at_most(10, 10, 1.0) == 1.0


def test_mcnemar_needs_six_discordant_pairs() -> None:
    assert mcnemar(5, 0) is None
    assert mcnemar(6, 0) == pytest.approx(2 / 64)
    assert mcnemar(3, 3) == 1.0
    assert mcnemar(20, 5) == pytest.approx(2 * sum(math.comb(25, i) for i in range(6)) / 2**25)
