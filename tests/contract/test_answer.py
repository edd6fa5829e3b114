"""Answers: softmax in float64, the fields of each type and their order, and what no answer is made of."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.contract.answer import AnswerError, Calibration, answer, response, response_bytes, softmax
from kit.contract.prompt import Question
from tests.contract.bodies import question

CHOICE = question(criteria={"left": 1, "right": 2, "up": 3})
SCORE = question(type="score", criteria=["low", "mid", "high"])
NOUL = question(type="noul")
logits = st.lists(st.floats(-60, 60, width=32), min_size=2, max_size=32)
temperatures = st.floats(0.05, 20)


def test_softmax_of_a_known_case() -> None:
    assert softmax([math.log(6.0), math.log(3.0), 0.0], 1.0) == pytest.approx([0.6, 0.3, 0.1], abs=1e-15)
    assert softmax([2.0, 0.0], 2.0) == [1 / (1 + math.exp(-1)), math.exp(-1) / (1 + math.exp(-1))]


@given(logits, temperatures)
def test_softmax_is_exp_over_fsum_with_the_maximum_subtracted(x: list[float], temperature: float) -> None:
    weights = [math.exp((value - max(x)) / temperature) for value in x]
    assert softmax(x, temperature) == [weight / math.fsum(weights) for weight in weights]


@given(logits, temperatures)
def test_probabilities_sum_to_one_and_keep_the_order_of_logits(x: list[float], temperature: float) -> None:
    p = softmax(x, temperature)
    assert abs(sum(map(Fraction, p), Fraction(-1))) < Fraction(1, 10**14)
    assert all(p[i] >= p[j] for i in range(len(x)) for j in range(len(x)) if x[i] >= x[j])
    assert p[x.index(max(x))] == max(p)


def test_extreme_logits_do_not_overflow() -> None:
    assert softmax([3.4e38, -3.4e38], 1.0) == [1.0, 0.0]
    assert softmax([1e308, -1e308], 0.5) == [1.0, 0.0]
    assert softmax([-1e30] * 4, 1e-300) == [0.25] * 4


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_is_no_answer(bad: float) -> None:
    with pytest.raises(AnswerError, match="1 of 3 label logits are not finite"):
        answer(CHOICE, [0.0, bad, 1.0], 1.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, math.nan])
def test_a_temperature_must_be_positive_and_finite(temperature: float) -> None:
    with pytest.raises(AnswerError, match="temperature is"):
        softmax([0.0, 1.0], temperature)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_as_many_logits_as_candidates(count: int) -> None:
    with pytest.raises(AnswerError, match=f"question 'q': {count} logits for 3 candidates"):
        answer(CHOICE, [0.0] * count, 1.0)
    with pytest.raises(AnswerError, match="0 of 0 label logits"):
        softmax([], 1.0)


def test_choice() -> None:
    p = softmax([0.0, 2.0, 1.0], 1.25)
    assert answer(CHOICE, [0.0, 2.0, 1.0], 1.25) == {
        "type": "choice",
        "choice": "right",
        "probabilities": {"left": p[0], "right": p[1], "up": p[2]},
        "confidence": p[1],
    }


def test_score_carries_the_mean_level() -> None:
    p = softmax([0.0, 2.0, 1.0], 1.0)
    given_answer = answer(SCORE, [0.0, 2.0, 1.0], 1.0)
    assert given_answer["expected_value"] == pytest.approx(p[1] + 2 * p[2], abs=1e-15)
    assert given_answer["probabilities"] == {"0": p[0], "1": p[1], "2": p[2]}


def test_noul_is_the_probability_of_yes_whoever_wins() -> None:
    given_answer = answer(NOUL, [0.0, 3.0], 1.0)
    assert given_answer["noul"] == given_answer["probabilities"]["yes"] == softmax([0.0, 3.0], 1.0)[0]
    assert given_answer["confidence"] == given_answer["probabilities"]["no"]


@pytest.mark.parametrize(
    ("compiled", "keys"),
    [
        (CHOICE, ["type", "choice", "probabilities", "confidence"]),
        (SCORE, ["type", "probabilities", "confidence", "expected_value"]),
        (NOUL, ["type", "noul", "probabilities", "confidence"]),
    ],
    ids=["choice", "score", "noul"],
)
def test_key_order_is_the_official_one(compiled: Question, keys: list[str]) -> None:
    assert list(answer(compiled, [1.0] * len(compiled.candidates), 1.0)) == keys


def test_the_first_maximum_wins_a_tie() -> None:
    assert answer(CHOICE, [1.0, 5.0, 5.0], 1.0)["choice"] == "right"
    assert answer(CHOICE, [0.5, 0.5, 0.5], 1.0)["choice"] == "left"


def test_the_image_temperature_is_for_requests_with_images() -> None:
    calibration = Calibration(temperature=1.25, mm_temperature=1.5, threshold=0.9)
    assert (calibration.for_images(False), calibration.for_images(True)) == (1.25, 1.5)


def test_response() -> None:
    answers = {"z": answer(NOUL, [0.0, 0.0], 1.0), "a": answer(CHOICE, [0.0, 0.0, 9.0], 1.0)}
    document = response("JEMM", answers, 205, 12.5)
    assert list(document) == ["model", "answers", "usage"]
    assert list(document["answers"]) == ["z", "a"]
    assert document["usage"] == {"input_tokens": 205, "output_tokens": 0, "latency_ms": 12.5}
    assert json.loads(response_bytes("JEMM", answers, 205, 12.5)) == document
    assert response_bytes("é", {}, 0, 0.5) == (
        '{"model":"é","answers":{},"usage":{"input_tokens":0,"output_tokens":0,"latency_ms":0.5}}'.encode()
    )
