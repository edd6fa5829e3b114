"""Confidence against being right: bins, and the calibration error over them."""

import pytest

from kit.evidence.reliability import bin_of, reliability


def test_confidence_that_is_right_as_often_as_it_says_has_no_error() -> None:
    found = reliability([(0.75, True)] * 3 + [(0.75, False)])
    assert found["ece"] == 0.0
    assert found["bins"] == [{"over": 0.7, "to": 0.8, "questions": 4, "confidence": 0.75, "right": 3}]


def test_the_error_is_weighted_by_the_answers_of_a_bin() -> None:
    found = reliability([(1.0, False), (0.55, True), (0.55, True), (0.55, False)])
    assert found["ece"] == pytest.approx((1.0 + abs(1.65 - 2)) / 4)
    assert [item["questions"] for item in found["bins"]] == [3, 1]


@pytest.mark.parametrize(("confidence", "place"), [(0.0, 0), (0.1, 0), (0.11, 1), (0.5, 4), (0.95, 9), (1.0, 9)])
def test_a_bin_holds_its_upper_end(confidence: float, place: int) -> None:
    assert bin_of(confidence) == place


def test_refuses_to_judge_nothing() -> None:
    with pytest.raises(ValueError, match="no answers"):
        reliability([])
