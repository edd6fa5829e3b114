"""`kit oracle`: how far engines are from the truth on a protocol, and what may be concluded from that."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
import torch

from kit import checkpoint
from kit import engine as engines
from kit.campaign.oracle_report import line, measure, sentences, summarise, table
from kit.campaign.protocol import Case, protocol_of
from kit.campaign.run_folder import RunError
from kit.campaign.sensitivity import margin
from kit.contract.answer import softmax
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from kit.profile import Profile


@pytest.fixture(scope="module")
def cases(profile: Profile) -> tuple[Case, ...]:
    """One text and one image request of the protocol, and the text again."""
    short = sorted(protocol_of(profile).cases, key=lambda case: len(case.body))
    chosen = [next(case for case in short if case.modality == kind) for kind in ("text", "image")]
    return (*chosen, dataclasses.replace(chosen[0], id="again"))


@pytest.fixture(scope="module")
def document(profile: Profile, cases: tuple[Case, ...]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(measure(profile, cases, "native")))
    return found


class TestMeasure:
    def test_bf16_is_a_few_percent_from_the_truth(self, document: dict[str, Any]) -> None:
        for row in document["questions"]:
            assert 0.001 < row["engines"]["reference"]["hidden"] < 0.05

    def test_a_bitwise_equal_candidate_has_the_references_errors(self, document: dict[str, Any]) -> None:
        for row in document["questions"]:
            assert row["engines"]["native"] == row["engines"]["reference"]
        assert document["summary"]["hidden_ratio"]["upper"] == 1.0

    def test_a_request_sent_again_is_one_content(self, document: dict[str, Any]) -> None:
        assert document["summary"]["hidden_ratio"]["contents"] == 2

    def test_margins_are_those_of_the_requests_own_temperature(self, profile: Profile, document: dict[str, Any]) -> None:
        calibration = checkpoint.locate(profile).calibration
        assert calibration.temperature != calibration.mm_temperature
        for row in document["questions"]:
            temperature = calibration.for_images(row["modality"] == "image")
            assert row["margin"] == margin(softmax(row["logits"], temperature))

    def test_a_worse_candidate_shows(self, profile: Profile, cases: tuple[Case, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        """A final norm that is off by 5%: more than BF16 does to a row."""
        real = engines.load_beside

        def off_by_five_percent(name: str, profile: Profile, official: ReferenceEngine) -> NativeEngine:
            engine = real(name, profile, official)
            engine.language.norm = engine.language.norm + (0.05 * (1 + engine.language.norm.float())).to(torch.bfloat16)
            return engine

        monkeypatch.setattr(engines, "load_beside", off_by_five_percent)
        summary = measure(profile, cases[:1], "native")["summary"]
        assert summary["hidden_ratio"]["lower"] > 1.5
        assert any("the mean error ratio may be" in problem for problem in summary["not_faithful"])

    def test_without_a_reference_a_candidate_has_to_be_named(self, profile: Profile, cases: tuple[Case, ...]) -> None:
        alone = dataclasses.replace(profile, campaign=dataclasses.replace(profile.campaign, engines=("native",), reference=""))
        with pytest.raises(RunError, match="--candidate native or graph"):
            measure(alone, cases)
        summary = measure(alone, cases[:1], "native")["summary"]
        assert list(summary["engines"]) == ["native"]
        assert "hidden_ratio" not in summary


class TestWords:
    def test_so_few_questions_do_not_carry_class_faithful(self, document: dict[str, Any]) -> None:
        assert any("the class needs 600" in text for text in sentences(document))

    def test_a_line_a_question(self, document: dict[str, Any]) -> None:
        assert table(document).row_count == len(document["questions"])
        assert line(document)["questions"] == len(document["questions"])
        assert "\n" not in json.dumps(line(document))

    def test_winners_that_are_not_the_oracles_are_counted(self, document: dict[str, Any]) -> None:
        rows = json.loads(json.dumps(document["questions"]))
        rows[0]["engines"]["native"]["same_winner"] = False
        assert summarise(rows, ("reference", "native"))["engines"]["native"]["other_winners"] == 1
