"""The floor kept with the repository is what its rows say, and what the pages say of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.campaign.floor import document
from kit.profile import PROJECT_ROOT, load_profile

KEPT = PROJECT_ROOT / "evidence" / "floor" / "h200-27b-synthetic.json"


@pytest.fixture(scope="module")
def floor() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def test_it_was_measured_with_the_profile_there_is_on_enough_questions(floor: dict[str, Any]) -> None:
    assert floor["profile_sha256"] == load_profile("params/h200-27b-synthetic.toml").sha256()
    assert sum(row["source"] == "generated" for row in floor["rows"]) == 600
    assert sum(row["source"] == "protocol" for row in floor["rows"]) == 49


def test_every_form_in_it_is_proved_harmless_and_measured(floor: dict[str, Any]) -> None:
    assert [form["name"] for form in floor["forms"]] == ["row0", "padded", "draw"]
    for form in floor["forms"]:
        assert form["measured"]
        assert form["proof"]["holds"]
        assert form["proof"]["largest"] < form["proof"]["bound"] == 1e-9


def test_its_figures_are_those_of_its_rows(floor: dict[str, Any]) -> None:
    summary = {name: document.summarise(floor["rows"], name, floor["temperatures"]) for name in floor["summary"]}
    assert summary == floor["summary"]
    assert document.band(summary) == floor["band"]


def test_the_log_shows_its_figures(floor: dict[str, Any]) -> None:
    log = (PROJECT_ROOT / "docs" / "performance-log.md").read_text(encoding="utf-8")
    table = log.partition("## The reference against itself at 27B")[2].partition("\n## ")[0]
    for groups in floor["summary"].values():
        for group in ("text", "image"):
            figures = groups[group]["probability"]
            assert f"{figures['p99']['value']:.4f} [{figures['p99']['low']:.4f}, {figures['p99']['high']:.4f}]" in table
            assert f"{figures['max']['value']:.4f} | {groups[group]['flips']} |" in table
