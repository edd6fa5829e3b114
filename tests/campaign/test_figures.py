"""Figures: drawn from a run's own data, titled with what to see, and never failing on odd data."""

from pathlib import Path

import pytest

from kit.campaign import figures
from kit.campaign.drift import compute_drift
from kit.campaign.reading import exchanges_frame, probabilities_frame, read_run
from tests.campaign.synthetic_run import write_run
from tests.campaign.test_drift import move


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    write_run(path := tmp_path_factory.mktemp("equal") / "run")
    return path


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    write_run(path := tmp_path_factory.mktemp("moved") / "run", change=move("native", "text-pair", "z-known", 0.5))
    return path


def title(figure) -> str:
    assert figure._repr_png_().startswith(b"\x89PNG")
    return figure.get_suptitle()


def test_drift_says_that_there_is_none(equal: Path) -> None:
    drift = compute_drift(equal)
    assert title(figures.drift_per_question(drift)).endswith("no question drifts at all")
    assert "frozen answers" in title(figures.drift_per_question(drift, "frozen"))


def test_a_noise_floor_is_drawn_behind_every_question_of_its_modality(equal: Path) -> None:
    drift = compute_drift(equal)
    band = {"text": {"probability": 0.004, "steps": 3.0}}
    figure = figures.drift_per_question(drift, floor=band)
    assert title(figure).endswith("no question drifts at all")
    rows = {(row["request"], row["question"]) for row in drift["rows"] if row["against"] == "fresh" and row["modality"] == "text"}
    for axis, end in zip(figure.axes, (0.004, 3.0), strict=True):
        (bars,) = [found for found in axis.containers if found.get_label() == "noise floor (p99)"]
        assert [bar.get_width() for bar in bars] == [end] * len(rows)
    without = figures.drift_per_question(drift)
    assert not any("noise floor" in str(found.get_label()) for axis in without.axes for found in axis.containers)


def test_drift_says_how_much_and_how_many_are_over_the_gate(moved: Path) -> None:
    text = title(figures.drift_per_question(compute_drift(moved)))
    assert "largest drift 0." in text
    assert text.endswith("1 over the gate")


def test_missing_answers_are_in_the_title(equal: Path) -> None:
    drift = compute_drift(equal)
    missing = [{"engine": "native", "against": "fresh", "request": "x", "question": "y", "reason": "no answer"}]
    assert title(figures.drift_per_question(drift | {"missing": missing})).endswith("1 answers are missing")


def test_probabilities_of_every_other_engine_beside_the_reference(moved: Path) -> None:
    figure = figures.probabilities(probabilities_frame(read_run(moved)))
    assert "largest difference 0." in title(figure)
    assert [axis.get_title(loc="left") for axis in figure.axes[:2]] == ["native: 23 candidates", "graph: 23 candidates"]


def test_detectable_shift_names_the_sharpest_and_the_bluntest_question(equal: Path) -> None:
    drift = compute_drift(equal)
    steps = [r["detectable_steps"] for r in drift["rows"] if r["engine"] == "native" and r["detectable_steps"]]
    assert f"from {min(steps)} to {max(steps)} BF16 steps" in title(figures.detectable_shift(drift))


def test_latency_has_a_strip_for_each_engine_and_modality(equal: Path) -> None:
    figure = figures.latency(exchanges_frame(read_run(equal)))
    assert title(figure).startswith("Latency per engine")
    assert len(figure.axes[0].get_yticks()) == 6
    assert "server reports" in figures.latency(exchanges_frame(read_run(equal)), value="latency_ms").axes[0].get_xlabel()


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    nothing = {"rows": [], "worst": {}}
    assert title(figures.drift_per_question(nothing)).endswith("nothing to compare")
    assert "no logits recorded" in title(figures.detectable_shift(nothing))
