"""`kit floor`: what it refuses before anything is loaded, and when it is no success."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.floor import running
from kit.campaign.floor.running import FloorError
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
