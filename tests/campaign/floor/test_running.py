"""`kit floor`: what it refuses before anything is loaded, and when it is no success."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kit.campaign import draws
from kit.campaign.floor import running
from kit.campaign.floor.document import FILE
from kit.campaign.floor.running import FloorError
from kit.engine import autotune
from kit.profile import PROJECT_ROOT, Profile


def test_too_few_prompts_are_refused() -> None:
    with pytest.raises(FloorError, match="5 prompts: a floor needs at least 6"):
        running.run("params/cpu-tiny.toml", 5)


def test_a_profile_without_a_reference_has_no_floor(tmp_path: Path) -> None:
    text = (PROJECT_ROOT / "params" / "cpu-tiny-remote.toml").read_text()
    assert 'engines = ["reference", "remote"]' in text
    text = text.replace('engines = ["reference", "remote"]', 'engines = ["remote"]\nreference = ""')
    (tmp_path / "remote.toml").write_text(text)
    with pytest.raises(FloorError, match="has no reference engine"):
        running.run(str(tmp_path / "remote.toml"))


@pytest.mark.parametrize(
    ("measured", "code"),
    [({"row0", "padded", "instructions"}, 0), ({"row0", "instructions"}, 0), ({"row0", "padded"}, 1), (set(), 1)],
)
def test_only_padding_may_be_missing(measured: set[str], code: int) -> None:
    forms: list[dict[str, Any]] = [{"name": name, "measured": name in measured} for name in ("row0", "padded", "instructions")]
    assert running.exit_code({"forms": forms}) == code


@contextmanager
def _made(profile_path: str, count: int) -> Iterator[list[dict[str, Any]]]:
    yield [{"digest": f"drawn {number}"} for number in range(count)]


@pytest.mark.parametrize(
    ("first", "second", "used"),
    [
        (None, None, {"drawn 0", "drawn 1"}),
        ({"digest": "of the run"}, None, {"of the run", "drawn 0"}),
        ({"digest": "of the run"}, {"digest": "given"}, {"of the run", "given"}),
    ],
)
def test_only_missing_winners_are_drawn(
    monkeypatch: pytest.MonkeyPatch, first: dict[str, Any] | None, second: dict[str, Any] | None, used: set[str]
) -> None:
    monkeypatch.setattr(draws, "drawn", _made)
    with running.two_draws("profile.toml", first, second) as ledgers:
        assert len(ledgers) == 2
        assert {ledger["digest"] for ledger in ledgers} == used
        assert first is None or ledgers[0] == first


def test_the_winners_of_a_run_are_those_its_reference_ran_with(tmp_path: Path) -> None:
    kept = tmp_path / FILE
    assert running._ledger_beside(None) is running._ledger_beside(kept) is None
    winners: list[dict[str, Any]] = []
    ledger = {"format": autotune.FORMAT, "winners": winners, "digest": autotune.digest(winners)}
    kept.parent.mkdir()
    (kept.parent / "autotune.json").write_text(json.dumps(ledger))
    assert running._ledger_beside(kept) == ledger


@pytest.mark.slow
def test_on_a_cpu_three_forms_are_proved_and_measured(tmp_path: Path, profile: Profile) -> None:
    """A batch moves nothing here; padding and other instructions move rows a little, and the oracle by 1e-15."""
    floor = running.run("params/cpu-tiny.toml", 12, out=tmp_path / "floor.json", protocol=False)
    assert json.loads((tmp_path / "floor.json").read_text()) == floor
    assert running.exit_code(floor) == 0
    assert {form["name"]: form["proof"]["holds"] for form in floor["forms"]} == dict.fromkeys(("row0", "padded", "instructions"), True)
    assert all(form["proof"]["prompts"] == 12 for form in floor["forms"])
    for form, groups in floor["summary"].items():
        assert {name: found["questions"] for name, found in groups.items()} == {"text": 8, "image": 4}
        largest = max(found["hidden"]["max"]["value"] for found in groups.values())
        assert largest < 0.05
        if form == "padded":
            assert largest > 0.001
