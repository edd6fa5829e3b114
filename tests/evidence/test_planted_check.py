"""What the auditor makes of a table of planted faults: sums follow, faults are caught, nothing harmless is seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.draws import sources_digest
from kit.campaign.planted.document import document, fault_row, summarise
from kit.campaign.planted.fault import Fault
from kit.evidence import audit
from kit.evidence.audit.rules import FAULTS
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_autotune_check import problems_of

Edit = Callable[[dict[str, Any]], object]
COLUMNS = ("bitwise", "steps", "rows", "ops", "answers", "inputs", "gates", "lattice", "repeats")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_bundle(tmp_path_factory.mktemp("planted"))
    (path / FAULTS).write_text(json.dumps(table_of(path)))
    Tamper(path).reseal()
    return path


@pytest.fixture
def tamper(sealed: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(sealed, tmp_path / "bundle"))


def table_of(path: Path) -> dict[str, Any]:
    """faults.json of a made-up run: 24 faults of which HTTP sees the larger dose, 24 controls and one of rounding."""
    run, sources, checkpoint = (json.loads((path / f"{name}.json").read_text()) for name in ("run", "sources", "checkpoint"))
    facts = {
        "profile": json.loads((path / "profile.json").read_text())["name"],
        "profile_sha256": run["profile_sha256"],
        "protocol_sha256": run["protocol_sha256"],
        "sources_sha256": sources_digest(sources["before"]),
        "checkpoint_digest": checkpoint["digest"],
        "steps_bound": {"text": 20.0, "image": 30.0},
        "left_out": [],
        "quick": False,
        "seconds": 1.0,
    }
    faults = [
        fault_row(
            Fault(f"fault-{number}", "ops", "a fault", lambda site, dose: None),  # type: ignore[arg-type, return-value]
            [dose("small", "bitwise", "ops"), dose("large", "bitwise", "rows", "gates")],
        )
        for number in range(24)
    ]
    controls = [control(f"control-{number}") for number in range(24)]
    return document(facts, faults, [*controls, control("halves", "bitwise", rounding=True)])


def outcome(*seen: str) -> dict[str, Any]:
    columns = {name: {"count": int(name in seen), "of": 9, "worst": 0.5, "first": "one" if name in seen else ""} for name in COLUMNS}
    tiers = {"bits": "bitwise" in seen, "truth": bool({"steps", "rows", "ops"} & set(seen)), "http": "gates" in seen}
    return {"tiers": tiers, "columns": columns, "op": None}


def dose(label: str, *seen: str) -> dict[str, Any]:
    return {"dose": label, **outcome(*seen), "stage": "layer.00.mixer", "also_over_http": None if "gates" in seen else []}


def control(name: str, *seen: str, rounding: bool = False) -> dict[str, Any]:
    asked = ["truth", "http"] if rounding else ["bits", "truth", "http"]
    return {"name": name, "summary": "", "rounding": rounding, **outcome(*seen), "asked": asked, "alarms": []}


def test_a_table_that_holds_passes(sealed: Path) -> None:
    assert problems_of(sealed, "planted") == []
    assert not [text for text in problems_of(sealed, "roles") if FAULTS in text]


def test_what_its_faults_did_is_the_runs_own_word(sealed: Path) -> None:
    assert any(text.startswith(FAULTS) for text in audit.judge(str(sealed))["not_derived"])


def counted_again(document: dict[str, Any]) -> None:
    document["summary"] = summarise(document["faults"], document["controls"])


def unseen(document: dict[str, Any]) -> None:
    """A fault that the oracle does not see at any dose, everything derived from it put right."""
    fault = document["faults"][3]
    for row in fault["doses"]:
        for name in ("steps", "rows", "ops"):
            row["columns"][name] = {"count": 0, "of": 9, "worst": 0.5, "first": ""}
        row["tiers"]["truth"] = False
    fault["seen"]["truth"], fault["smallest"]["truth"] = False, None
    counted_again(document)


def alarm(document: dict[str, Any]) -> None:
    control = document["controls"][0]
    control["columns"]["lattice"] = {"count": 1, "of": 9, "worst": None, "first": "one"}
    control["tiers"]["http"], control["alarms"] = True, ["http"]
    counted_again(document)


def hidden_alarm(document: dict[str, Any]) -> None:
    """Seen by bits, and called a change of rounding."""
    control = document["controls"][0]
    control["columns"]["bitwise"] = {"count": 1, "of": 9, "worst": None, "first": "one"}
    control["tiers"]["bits"] = True
    counted_again(document)


def fewer(name: str) -> Edit:
    def edit(document: dict[str, Any]) -> None:
        document[name].pop(0)
        counted_again(document)

    return edit


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (unseen, "caught: is 23, expected all 24 faults"),
        (alarm, "false_alarms: found 1, expected 0"),
        (hidden_alarm, 'control "control-0" alarms: found'),
        (fewer("faults"), "faults: are 23, expected at least 24"),
        (fewer("controls"), "controls: are 23, expected at least 24"),
        (lambda d: d["faults"][0]["doses"][0]["columns"]["gates"].update(count=1, first="one"), 'dose "small" tiers: found'),
        (lambda d: d["faults"][0]["doses"][0]["columns"]["ops"].update(count=10), "ops: counts 10, expected a whole number up to 9"),
        (lambda d: d["faults"][0]["doses"][0]["columns"]["ops"].update(first=""), 'names "" as the first of 1, expected'),
        (lambda d: d["faults"][0]["doses"][0]["columns"].pop("inputs"), "columns: found"),
        (lambda d: d["faults"][0]["smallest"].update(http="small"), "smallest: found"),
        (lambda d: d["faults"][0]["seen"].update(http=False), "seen: found"),
        (lambda d: d["faults"][0]["doses"].clear(), "has no doses"),
        (lambda d: d["controls"][0]["columns"]["gates"].update(of=0), "gates: compares nothing"),
        (lambda d: d["controls"][0].update(name="control-1"), "names: are not distinct"),
        (lambda d: d["summary"].update(caught=25), "summary caught: found 25, expected 24"),
        (lambda d: d["summary"]["missed"].update(http=[]), "summary missed: found"),
        (lambda d: d.update(quick=True), "quick: found true, expected false"),
        (lambda d: d.update(sources_sha256="0" * 64), "sources_sha256: found"),
        (lambda d: d.update(checkpoint_digest="1" * 64), "checkpoint_digest: found"),
    ],
)
def test_a_table_that_does_not_hold_is_found(tamper: Tamper, edit: Edit, problem: str) -> None:
    tamper.json(FAULTS, edit)
    tamper.reseal()
    found = problems_of(tamper.path, "planted")
    assert any(problem in text for text in found), found
