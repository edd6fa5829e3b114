"""Verdict cells: fixed width, and no more than their facts."""

from kit.campaign.display import WIDTH, verdict_text


def test_lines_are_aligned_and_end_in_the_outcome():
    lines = verdict_text("08 drift", {"rows": 3, "largest": 0.0, "equal": True, "missing": "none"}, True).splitlines()
    assert lines[0] == "08 drift"
    assert {len(line) for line in lines[1:]} == {WIDTH}
    assert [line.split()[-1] for line in lines[2:6]] == ["3", "0.000000", "yes", "none"]
    assert lines[-1].endswith("PASS")


def test_a_failure_is_not_to_be_overlooked():
    assert verdict_text("x", {}, False).endswith("FAIL")
