"""Temperatures and confidence, on logits whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kit.checkpoint.training import calibration


def drawn(temperature: float, count: int = 20_000, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Logits that are `temperature` times too sure, and labels drawn by what they should say."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(0, 2, (count, 5))
    honest[: count // 2, 3:] = -np.inf  # questions of three candidates
    shares = calibration.probabilities(honest, 1.0)
    right = (shares.cumsum(-1) > rng.random((count, 1))).argmax(-1)
    return honest * temperature, right


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_made_them_is_found(temperature: float) -> None:
    assert calibration.fit(*drawn(temperature)) == pytest.approx(temperature, rel=0.03)


def test_the_error_falls_to_nearly_nothing_at_the_fitted_temperature() -> None:
    logits, right = drawn(3.0)
    assert calibration.error(logits, right, 1.0) > 0.1
    assert calibration.error(logits, right, calibration.fit(logits, right)) < 0.015


def test_the_error_is_the_gap_between_accuracy_and_confidence() -> None:
    logits = np.log(np.array([[0.8, 0.2]] * 10))
    right = np.array([0] * 5 + [1] * 5)
    assert calibration.error(logits, right, 1.0) == pytest.approx(0.3)


def test_the_threshold_is_the_least_confidence_that_can_be_trusted() -> None:
    confidence = np.array([0.99, 0.95, 0.9, 0.6, 0.5])
    hits = np.array([True, True, True, False, True])
    assert calibration.threshold(confidence, hits) == 0.9
    assert calibration.threshold(confidence, ~hits) == 1.0


def test_answers_of_one_confidence_are_trusted_together_or_not_at_all() -> None:
    hits = np.array([True, True, False])
    assert calibration.threshold(np.array([0.99, 0.9, 0.9]), hits) == 0.99
    assert calibration.threshold(np.array([1.0, 1.0, 1.0]), hits, trust=0.6) == 1.0
    assert calibration.threshold(np.array([0.9, 0.9, 0.9]), hits) == 1.0


def test_both_kinds_of_request_get_their_own_temperature() -> None:
    text, text_right = drawn(2.0, seed=1)
    image, image_right = drawn(0.7, seed=2)
    images = np.arange(len(text) + len(image)) >= len(text)
    found = calibration.fitted(np.concatenate((text, image)), np.concatenate((text_right, image_right)), images)
    assert found.temperature == pytest.approx(2.0, rel=0.05)
    assert found.mm_temperature == pytest.approx(0.7, rel=0.05)
    assert found.after < 0.02 < found.before
    assert set(found.document()) == {"format", "temperature", "mm_temperature", "threshold"}


def test_without_images_their_temperature_is_that_of_text() -> None:
    logits, right = drawn(2.0)
    found = calibration.fitted(logits, right, np.zeros(len(logits), dtype=bool))
    assert found.mm_temperature == found.temperature


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no sample"):
        calibration.fit(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
