"""The table of planted faults kept with the repository: whole, by the rules of today, and what README says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.campaign.planted.document import FORMAT, RULES, exit_code, summarise
from kit.campaign.planted.tiers import COLUMNS
from kit.profile import PROJECT_ROOT

KEPT = PROJECT_ROOT / "evidence" / "faults" / "cpu-tiny.json"


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(KEPT.read_text())
    return document


def test_its_sums_follow_from_its_rows(table: dict[str, Any]) -> None:
    assert (table["format"], table["quick"], table["rules"], table["columns"]) == (FORMAT, False, RULES, list(COLUMNS))
    assert table["summary"] == summarise(table["faults"], table["controls"])
    assert exit_code(table["summary"]) == 0


def test_the_page_says_what_it_says(table: dict[str, Any]) -> None:
    page, found = (PROJECT_ROOT / "README.md").read_text(), table["summary"]
    for tier in found["tiers"].values():
        assert f"| {tier['faults']} of {found['faults']} | {tier['doses']} of {found['doses']} " in page
    assert f"plants {found['faults']} mistakes that engines really make, at {found['doses']} doses, and makes {found['controls']} " in page
