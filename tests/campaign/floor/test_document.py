"""floor.json from answers: what a change is, groups apart, intervals that resample contents."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.floor import document, report
from kit.campaign.floor.asking import Answer, Question
from kit.campaign.floor.proof import Proof
from kit.campaign.reading import RecordsError
from kit.campaign.sensitivity import changed_steps
from kit.campaign.statistics import quantile
from kit.evidence.records import write_json
from kit.profile import Profile

TEMPERATURES = {"text": 1.0, "image": 2.0}


def bf16(values: list[float]) -> bytes:
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def questions() -> list[Question]:
    generated = [
        Question(f"{modality}-{i:04d}", "q", 0, modality, "generated", f"{modality}-content-{i // 2}", b"{}")
        for modality in ("text", "image")
        for i in range(20)
    ]
    return [*generated, Question("frozen", "q", 0, "text", "protocol", "frozen", b"{}")]


def answers(moved: float = 0.0) -> list[Answer]:
    chance, found = random.Random(1), []
    for number in range(41):
        logits = [chance.randrange(-64, 64) / 32 for _ in range(4)]
        shift = moved * (number % 20)
        found.append(Answer((logits[0] + shift, *logits[1:]), bf16([1.0, 2.0 + shift, 0.0, 0.0])))
    return found


@pytest.fixture
def floor(profile: Profile) -> dict[str, Any]:
    rows = document.rows_of(questions(), answers(), {"row0": answers(), "padded": answers(2**-5)}, profile)
    proofs = {"row0": Proof(60, 3e-16), "padded": Proof(60, 2e-15)}
    return document.document(profile, "0" * 64, TEMPERATURES, rows, proofs, {"row0": "a batch", "padded": "padding"})


def test_groups_are_apart_and_the_protocol_by_itself(floor: dict[str, Any]) -> None:
    groups = floor["summary"]["padded"]
    assert {name: found["questions"] for name, found in groups.items()} == {"text": 20, "image": 20, "protocol": 1}
    assert {name: found["contents"] for name, found in groups.items()} == {"text": 10, "image": 10, "protocol": 1}


def test_no_change_is_zero_with_certainty(floor: dict[str, Any]) -> None:
    for measure in document.MEASURES:
        values = floor["summary"]["row0"]["text"][measure]
        assert {tuple(found.values()) for found in values.values()} == {(0.0, 0.0, 0.0)}


def test_a_change_is_measured_in_rows_steps_and_probabilities(floor: dict[str, Any]) -> None:
    found = floor["summary"]["padded"]["text"]
    alone, moved = answers()[:20], answers(2**-5)[:20]
    steps = [changed_steps(a.logits, b.logits) for a, b in zip(alone, moved, strict=True)]
    assert found["steps"]["p50"]["value"] == quantile(steps, 0.5)
    assert found["steps"]["max"]["value"] == max(steps)
    assert found["hidden"]["max"]["value"] == pytest.approx(19 * 2**-5 / 5**0.5)
    assert 0 < found["probability"]["max"]["value"] < 0.2
    assert floor["band"]["image"]["probability"] < floor["band"]["text"]["probability"]  # another temperature


def test_intervals_hold_the_value_and_depend_on_nothing_but_the_rows(floor: dict[str, Any]) -> None:
    for found in floor["summary"]["padded"]["image"]["hidden"].values():
        assert found["low"] <= found["value"] <= found["high"]
    assert document.summarise(floor["rows"], "padded", TEMPERATURES) == floor["summary"]["padded"]


def test_contents_are_resampled_whole() -> None:
    """Two questions of one content always come together, so their median is one of two values."""
    contents = ["a", "a", "b", "b"]
    draws = document.resampled(contents)
    assert all(sum(counts.values()) == 2 for counts in draws)
    values = {document.weighted([(0.0, "a"), (0.0, "a"), (1.0, "b"), (1.0, "b")], counts)["p50"] for counts in draws}
    assert values == {0.0, 0.5, 1.0}


def test_a_form_that_is_not_harmless_is_named_and_not_measured(profile: Profile) -> None:
    rows = document.rows_of(questions(), answers(), {"row0": answers()}, profile)
    proofs = {"row0": Proof(60, 3e-16), "padded": Proof(60, 2e-3)}
    found = document.document(profile, "0" * 64, TEMPERATURES, rows, proofs, dict.fromkeys(proofs, "detail"))
    assert [(form["name"], form["proof"]["holds"], form["measured"]) for form in found["forms"]] == [
        ("row0", True, True),
        ("padded", False, False),
    ]
    assert list(found["summary"]) == ["row0"]


def test_a_proof_on_nothing_does_not_hold() -> None:
    assert not Proof(0, 0.0).holds
    assert not Proof(60, 1e-9).holds


def test_the_table_and_the_last_line(floor: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    report.show(floor)
    text = capsys.readouterr().out
    assert "padded: padding; moves the oracle by 2.0e-15" in text
    assert "1 protocol" in text
    line = report.line(floor)
    assert line["questions"] == 41
    assert line["harmless"] == line["forms"] == ["row0", "padded"]
    json.dumps(line, allow_nan=False)


def test_the_band_of_a_run(floor: dict[str, Any], tmp_path: Path) -> None:
    assert document.band_of(tmp_path) is None
    (tmp_path / "records").mkdir()
    write_json(tmp_path / document.FILE, floor)
    assert document.band_of(tmp_path) == floor["band"]
    write_json(tmp_path / document.FILE, floor | {"format": "kit-floor/9"})
    with pytest.raises(RecordsError, match="kit-floor/9"):
        document.band_of(tmp_path)
