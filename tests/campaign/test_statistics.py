"""Medians, quantiles, and intervals of ratios that widen with what changes between blocks."""

from __future__ import annotations

import random

import pytest

from kit.campaign.statistics import median, quantile, ratio_of_medians, resample


def test_quantiles_interpolate_between_neighbours() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0, 2.0], 0.5) == median([2.0, 1.0]) == 1.5
    assert quantile([0.0, 10.0], 0.95) == 9.5
    assert quantile([7.0], 0.95) == 7.0
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_a_ratio_of_steady_times_has_no_width() -> None:
    assert ratio_of_medians([[2.0, 2.0]] * 5, [[4.0, 4.0]] * 5) == {"ratio": 0.5, "low": 0.5, "high": 0.5}


def test_drift_that_both_sides_share_cancels_and_other_drift_widens() -> None:
    shared = ratio_of_medians([[1.0 + b] for b in range(6)], [[2.0 + 2 * b] for b in range(6)])
    assert shared == {"ratio": 0.5, "low": 0.5, "high": 0.5}
    apart = ratio_of_medians([[1.0 + b] for b in range(6)], [[7.0 - b] for b in range(6)])
    assert apart["low"] < apart["ratio"] < apart["high"]


def test_the_same_samples_give_the_same_interval() -> None:
    ours, theirs = [[1.0, 1.2], [1.1, 1.3], [0.9, 1.0], [1.2, 1.1], [1.0, 1.0]], [[2.0, 2.1]] * 5
    first, second = ratio_of_medians(ours, theirs), ratio_of_medians(ours, theirs)
    assert first == second
    assert 0.4 < first["low"] < first["ratio"] < first["high"] < 0.7


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([[1.0]], [[1.0], [2.0]])])
def test_unequal_or_no_blocks_are_refused(ours: list[list[float]], theirs: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="expected as many"):
        ratio_of_medians(ours, theirs)


def test_a_resample_draws_as_many_places_as_there_are_with_replacement() -> None:
    drawn = [resample(random.Random(1), 5) for _ in range(2)]
    assert drawn[0] == drawn[1]
    places = [place for number in range(200) for place in resample(random.Random(number), 5)]
    assert set(places) == set(range(5))
    assert any(len(set(resample(random.Random(number), 5))) < 5 for number in range(10))
