"""kit-faults/1: sums that follow from the rows, tables and picture of it, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.campaign.planted import table
from kit.campaign.planted.catalogue import FAULTS
from kit.campaign.planted.controls import CONTROLS, Control
from kit.campaign.planted.document import control_row, document, dose_row, exit_code, fault_row, summarise
from kit.campaign.planted.fault import Fault
from kit.campaign.planted.figure import fault_table, png
from kit.campaign.planted.local import OpError
from kit.campaign.planted.tiers import Findings
from kit.campaign.planted.trials import Trial

FAULT = Fault("scaled", "weights", "weights too large", lambda site, dose: None)  # type: ignore[arg-type, return-value]
SMALL = Control("order", "another order", lambda stock: ())


def trial(*seen: str) -> Trial:
    findings = Findings()
    for name, column in findings.columns.items():
        column.add(name in seen, "request/question", 1.0)
    return Trial(findings, OpError("project", 4, float("inf")) if "ops" in seen else None, "layer.00.mixer")


def made(*doses: tuple[str, Trial], controls: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    rows = [dose_row(label, found, None) for label, found in doses]
    return document({"profile": "tiny"}, [fault_row(FAULT, rows)] if rows else [], controls)


def test_the_smallest_dose_of_each_tier() -> None:
    found = made(("1.01", trial("bitwise")), ("1.1", trial("bitwise", "rows")), ("1.5", trial("bitwise", "rows", "gates")))
    (fault,) = found["faults"]
    assert fault["smallest"] == {"bits": "1.01", "truth": "1.1", "http": "1.5"}
    assert found["summary"]["missed"] == {"bits": [], "truth": ["scaled (1.01)"], "http": ["scaled (1.01)", "scaled (1.1)"]}
    assert found["summary"]["caught"] == 1
    assert exit_code(found["summary"]) == 0


def test_a_fault_that_only_bits_see_is_not_caught() -> None:
    summary = made(("", trial("bitwise")))["summary"]
    assert (summary["faults"], summary["caught"], exit_code(summary)) == (1, 0, 1)


def test_what_http_misses_does_not_fail_the_table() -> None:
    assert exit_code(made(("", trial("bitwise", "ops")))["summary"]) == 0


def test_a_control_that_is_seen_is_a_false_alarm() -> None:
    row = control_row(SMALL, trial("lattice"))
    assert row["alarms"] == ["http"]
    summary = made(("", trial("bitwise", "steps")), controls=(row,))["summary"]
    assert (summary["controls"], summary["false_alarms"], exit_code(summary)) == (1, 1, 1)


@pytest.mark.parametrize(("seen", "alarms"), [(("bitwise",), []), (("bitwise", "rows"), ["truth"]), (("ops",), ["truth"])])
def test_a_change_of_rounding_may_move_bits_and_nothing_else(seen: tuple[str, ...], alarms: list[str]) -> None:
    control = Control("halves", "sums in halves", lambda stock: (), rounding=True)
    assert control_row(control, trial(*seen))["alarms"] == alarms


def test_nothing_to_judge_is_no_pass() -> None:
    assert exit_code(summarise([], [])) == 2


def test_it_is_json_without_infinities() -> None:
    found = made(("", trial("bitwise", "ops")))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["faults"][0]["doses"][0]["op"] == {"op": "project", "call": 5, "score": None}


def test_tables_name_what_saw_it_and_what_did_not(capsys: pytest.CaptureFixture[str]) -> None:
    found = made(("1.01", trial("bitwise", "ops")), controls=(control_row(SMALL, trial()),))
    table.show(found)
    said = capsys.readouterr().out
    assert "scaled" in said
    assert "layer.00.mixer" in said
    assert "Probabilities over HTTP: 0 of 1 faults" in said
    assert "Not seen by HTTP: scaled (1.01)" in said


def test_the_picture_is_a_png() -> None:
    assert png(made(("a", trial("bitwise")), ("b", trial("gates"))))[:8] == b"\x89PNG\r\n\x1a\n"


def test_heads_of_the_picture_keep_apart_however_few_the_faults() -> None:
    figure = fault_table(made(("a", trial("bitwise"))))
    figure.canvas.draw()
    (axes,) = figure.axes
    title, heads = axes._left_title.get_window_extent(), [label.get_window_extent() for label in axes.get_xticklabels()]  # type: ignore[attr-defined]
    for group in (text.get_window_extent() for text in axes.texts):
        assert max(head.y1 for head in heads) <= group.y0
        assert group.y1 <= title.y0


class TestCatalogue:
    def test_there_are_enough_of_both_and_names_are_their_own(self) -> None:
        names = [fault.name for fault in FAULTS] + [control.name for control in CONTROLS]
        assert len(FAULTS) >= 24
        assert sum(not control.rounding for control in CONTROLS) >= 24
        assert len(set(names)) == len(names)

    def test_every_fault_says_what_shows_it(self) -> None:
        for fault in FAULTS:
            assert fault.shows
            assert fault.doses
            assert len({label for label, _ in fault.doses}) == len(fault.doses)
