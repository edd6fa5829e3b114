"""The auditor on frozen answers in steps: rows and gates computed again, room that was made up is named."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from kit.evidence.attack import families, runner
from kit.evidence.attack.suspect import Content, clean_copy
from tests.campaign.test_frozen_steps import MOST, another_cpu
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of another CPU: one question without room is a few steps off the frozen answers."""
    return make_bundle(tmp_path_factory.mktemp("steps"), frozen_steps=MOST, frozen_by=another_cpu(MOST))


def test_a_bundle_of_another_cpu_passes_within_the_declared_steps(made: Path) -> None:
    assert audit_problems(made) == []
    gates = json.loads((made / "verdict.json").read_text())["gates"]
    assert [gate["engine"] for gate in gates if gate["gate"] == "frozen_steps"] == ["reference", "native", "graph"]


def test_a_bundle_over_the_declared_steps_fails(tmp_path: Path) -> None:
    path = make_bundle(tmp_path, frozen_steps=1, frozen_by=another_cpu(2 * MOST))
    assert any("gate frozen_steps graph frozen: failed" in problem for problem in audit_problems(path))


@pytest.mark.parametrize(("column", "value"), [("room", False), ("max_steps", 3.5), ("detectable_steps", 1000)])
def test_a_figure_made_up_is_named(made: Path, tmp_path: Path, column: str, value: object) -> None:
    tamper = Tamper(shutil.copytree(made, tmp_path / "bundle"))
    place = next(i for i, r in enumerate(json.loads((made / "drift.json").read_text())["rows"]) if r["against"] == "frozen" and r["room"])
    tamper.json("drift.json", lambda d: d["rows"][place].update({column: value}))
    tamper.reseal()
    assert any(f"{column}: is" in problem for problem in audit_problems(tamper.path))


def test_a_rule_added_afterwards_is_refused(sealed: Path, tmp_path: Path) -> None:
    tamper = Tamper(shutil.copytree(sealed, tmp_path / "bundle"))
    tamper.json("profile.json", lambda d: d["protocol"].update(frozen_steps=4096))
    tamper.reseal()
    found = audit_problems(tamper.path)
    assert "profile_toml: profile.toml protocol frozen_steps: declares 0, profile.json has 4096" in found
    assert any("room: is null, recomputed" in problem for problem in found)


ATTACKED = ("figures", "gates", "profile", "consistent")
WEAKER = "consistent/a weaker claim declared, where gates that only the stronger one has go with it"


def test_every_attack_on_frozen_answers_in_steps_ends_as_it_must(made: Path, sealed: Path, tmp_path: Path) -> None:
    """What a bundle without such a rule is not offered: a figure, a gate or the declared number edited, the rest re-sealed."""
    others = {mutation.id for mutation in families.catalogue(Content(sealed), 1, ATTACKED)} - {WEAKER}
    offered = [mutation for mutation in families.catalogue(Content(made), 1, ATTACKED) if mutation.id not in others]
    assert {mutation.family for mutation in offered} == set(ATTACKED)
    assert [mutation.id for mutation in offered if mutation.needs_anchor] == [
        WEAKER, "consistent/frozen answers allowed to be off by twice the steps",
    ]  # fmt: skip
    clean = clean_copy(made, tmp_path / "clean")
    ends = [runner.attempt(clean, runner.digest_of(clean), mutation, tmp_path / "suspect") for mutation in offered]
    assert [f"{outcome.mutation.id}: {outcome.fault}" for outcome in ends if outcome.fault] == []


@pytest.mark.parametrize("family", ["figures", "gates", "profile"])
def test_left_as_done_they_are_refused_too(made: Path, tmp_path: Path, family: str) -> None:
    mutation = next(m for m in families.catalogue(Content(made), 1, [family]) if "steps off the frozen" in m.id or "room" in m.id)
    clean = clean_copy(made, tmp_path / "clean")
    plain = dataclasses.replace(mutation, sealing="plain")
    assert runner.attempt(clean, runner.digest_of(clean), plain, tmp_path / "suspect").fault == ""
