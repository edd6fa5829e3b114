"""Ladders: every mark stands where its logit is, rungs are the BF16 numbers, and the lesson says what one is worth."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

from kit.campaign import ladder as ladders
from kit.campaign.drift import compute_drift
from kit.campaign.ladder import Ladder, lesson, one_question
from kit.campaign.reading import probabilities_frame, read_run
from kit.campaign.sensitivity import detectable
from kit.campaign.stage_figures import most_sensitive
from kit.profile import PROJECT_ROOT, Gates
from tests.campaign.synthetic_run import write_run
from tests.campaign.test_figures import title

PUBLISHED = PROJECT_ROOT / "evidence" / "published" / "h200-27b-synthetic"
WIDE = Ladder("a / b", "choice", ("x", "y", "z"), (20.875, 20.375, 19.5), {"graph": (20.875, 20.375, 19.5)}, 1.3)
FINE = Ladder("a / b", "choice", ("x", "y", "z"), (6.0, 4.0, 0.25), {"graph": (6.0, 4.0, 0.25)}, 1.3)


def heights(figure: object, label: str) -> list[float]:
    (axis,) = figure.axes  # type: ignore[attr-defined]
    (line,) = [line for line in axis.lines if line.get_label() == label]
    return [float(y) for y in line.get_ydata()]


def test_wide_rungs_are_drawn_where_the_logits_are() -> None:
    assert WIDE.readable()
    assert "reference's rung" in title(one_question(WIDE))
    assert heights(one_question(WIDE), "reference") == [20.875]


def test_narrow_rungs_are_drawn_as_steps_from_the_reference() -> None:
    assert not FINE.readable()
    figure = one_question(FINE)
    assert heights(figure, "reference") == heights(figure, "graph") == [0.0]
    assert figure.axes[0].get_ylabel() == "BF16 steps from the reference"


def test_a_moved_logit_is_told_in_steps() -> None:
    moved = dataclasses.replace(WIDE, engines={"native": (21.0, 20.375, 19.5), "graph": WIDE.reference})
    assert title(one_question(moved)).endswith("the largest move is 1 step")
    assert heights(one_question(moved), "native") == [21.0]
    far = dataclasses.replace(FINE, engines={"native": (6.0, 4.0, 9.0)})
    figure = one_question(far)
    assert title(figure).endswith(f"the largest move is {8.75 / 2**-9:g} steps")
    assert any("+4480 steps" in text.get_text() for text in figure.axes[0].texts)


def test_the_oracle_stands_between_rungs() -> None:
    figure = one_question(dataclasses.replace(WIDE, oracle=(20.91, 20.3, 19.5)))
    assert heights(figure, "oracle, FP64") == [20.91]
    assert title(one_question(dataclasses.replace(FINE, oracle=(6.001, 4.0, 0.25), engines={}))).endswith("reference alone")


def test_candidates_far_below_the_winner_are_left_out() -> None:
    many = tuple(30 - i / 4 for i in range(32))
    names = tuple(f"a candidate with a long id {i}" for i in range(32))
    shown = one_question(Ladder("many", "choice", names, many, {"native": many})).axes[0].get_xticklabels()
    assert len(shown) == ladders.MOST
    assert all(len(label.get_text()) <= ladders.LONGEST_NAME for label in shown)
    assert Ladder("far", "noul", ("yes", "no"), (27.0, 3.0), {}).shown() == [0, 1]


def test_odd_logits_are_drawn_all_the_same() -> None:
    for values in ((0.0, 0.0), (-0.0, 1e-30), (1e30, -1e30), (5.0, 5.0)):
        title(one_question(Ladder("odd", "noul", ("yes", "no"), values, {"native": values})))


def test_the_lesson_of_the_published_bundle_is_true() -> None:
    run = read_run(PUBLISHED)
    told = ladders.of_run(run, *ladders.LESSON)
    assert set(told.engines) == {"native", "graph"}
    assert told.changed() == 0
    assert detectable(told.reference, told.temperature, told.type, Gates()).steps == 1
    figure = lesson(told, [ladders.of_run(run, *where) for where in ladders.BESIDE])
    assert "stand on the same rungs" in title(figure)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert "1/8 apart" in titles[0]
    assert "the gate of 0.02 fails" in titles[1]
    assert "sees 1 rung on one question\n    and needs 19 on another" in titles[2]


def test_the_picture_of_the_readme_is_drawn(tmp_path: Path) -> None:
    assert ladders.main(str(PUBLISHED), str(tmp_path / "ladder.png")) == 0
    assert (tmp_path / "ladder.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_shows_its_most_sensitive_question(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    frame, drift = probabilities_frame(read_run(tmp_path / "run")), compute_drift(tmp_path / "run")
    assert "reference's rung" in title(most_sensitive(frame, drift, "reference"))
    assert "No logits" in title(most_sensitive(frame, {"rows": []}, "reference"))
    assert math.isfinite(min(row["probability_drift"] for row in drift["rows"]))
