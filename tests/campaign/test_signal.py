"""Signal against noise on the default profile: what is measured, and that the numbers mean what they say."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from kit.campaign import signal
from kit.campaign.protocol import Protocol, load_protocol
from kit.campaign.signal import measure_signal, summarise
from kit.engine.reference import ReferenceEngine
from kit.profile import Profile

FEW = {"text": 2, "image": 2}


@pytest.fixture(scope="module")
def protocol(profile: Profile) -> Protocol:
    return load_protocol(profile.protocol_path())


@pytest.fixture(scope="module")
def measured(official: ReferenceEngine, protocol: Protocol) -> dict[str, Any]:
    return measure_signal(official, protocol, FEW)


def test_every_effect_moves_rows_and_logits(measured: dict[str, Any]) -> None:
    assert [q["modality"] for q in measured["questions"]] == ["text", "text", "image", "image"]
    assert ["image" in q for q in measured["questions"]] == [False, False, True, True]
    for question in measured["questions"]:
        for effect in {"swap", "adapter", "image"} & question.keys():
            assert question[effect]["row"] > 0.01, (question["question"], effect)
            assert question[effect]["steps"] >= 1


def test_the_row_alone_is_what_the_engine_answers_with(
    official: ReferenceEngine, protocol: Protocol, measured: dict[str, Any]
) -> None:
    first = measured["questions"][0]
    case = next(case for case in protocol.cases if case.id == first["request"])
    (answered,) = [q for q in official.decide(official.prepare(case.body)).questions if q.question_id == first["question"]]
    assert first["logits"] == [min(answered.logits), max(answered.logits)]


def test_the_model_is_left_as_it_was(official: ReferenceEngine, measured: dict[str, Any]) -> None:
    assert official.describe()["adapter"]["disabled"] == 0


def test_measuring_again_gives_the_same_numbers(
    official: ReferenceEngine, protocol: Protocol, measured: dict[str, Any]
) -> None:
    assert measure_signal(official, protocol, FEW) == measured


def test_swapped_tokens_are_two_of_the_text(official: ReferenceEngine, protocol: Protocol) -> None:
    prepared = official.prepare(protocol.cases[0].body)
    before = torch.tensor([prepared.questions[0].input_ids])
    after = signal._swapped(official, before)
    assert int((before != after).sum()) == 2
    assert sorted(before[0].tolist()) == sorted(after[0].tolist())


def test_only_the_first_image_is_inverted() -> None:
    pixels = torch.randn(16 + 8, 1536)
    inputs = {"pixel_values": pixels, "image_grid_thw": torch.tensor([[1, 4, 4], [1, 2, 4]])}
    changed = signal._negative_of_the_first(inputs)
    assert torch.equal(changed[:16], -pixels[:16])
    assert torch.equal(changed[16:], pixels[16:])


def question(floor: float, swap: float, steps: float) -> dict[str, Any]:
    return {
        "floor": {"row": floor, "steps": steps},
        "swap": {"row": swap, "steps": 6.0},
        "adapter": {"row": 0.5, "steps": 8.0},
        "probability": 0.5 + swap,
        "logits": [9.0, 20.0],
    }


def test_ratios_are_of_medians_and_means() -> None:
    summary = summarise([question(0.01, 0.1, 0.0), question(0.02, 0.2, 1.0), question(0.03, 0.4, 2.0)])
    assert math.isclose(summary["ratio"]["swap"]["row"], 10.0)
    assert summary["ratio"]["swap"]["steps"] == 6.0
    assert "image" not in summary["ratio"]
    assert summary["logits"] == [9.0, 20.0]
    assert summary["probability"] == pytest.approx([0.6, 0.7, 0.9])


def test_the_table_has_a_line_for_each_change() -> None:
    table = signal.table({"summary": summarise([question(0.01, 0.1, 1.0)])})
    assert list(table.index) == ["floor", "swap", "adapter"]
    assert table.loc["swap", "row, median %"] == 10.0
    assert table.loc["swap", "row, times the floor"] == pytest.approx(10.0)


def test_without_noise_there_is_no_ratio() -> None:
    """On a CPU a batch of two changes nothing."""
    assert summarise([question(0.0, 0.1, 0.0)])["ratio"]["swap"] == {"row": None, "steps": None}
    with pytest.raises(ValueError, match="nothing to summarise"):
        summarise([])
