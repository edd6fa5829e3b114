"""ro-crate-metadata.json holds to the specification's rules, and the rules can be broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import audit, crate, manifest
from tests.evidence.crate_rules import METADATA, violations
from tests.evidence.make_bundle import make_bundle


def write(run: Path) -> dict[str, dict[str, Any]]:
    """Describe a folder anew; its entities by identifier."""
    (run / METADATA).write_bytes(crate.metadata(run, manifest.list_files(run)))
    return entities(run)


def entities(run: Path) -> dict[str, dict[str, Any]]:
    return {entity["@id"]: entity for entity in json.loads((run / METADATA).read_text())["@graph"]}


def test_a_bundle_breaks_no_rule(sealed: Path) -> None:
    assert violations(sealed) == []


def test_nor_does_one_from_a_gpu(tmp_path: Path) -> None:
    assert violations(make_bundle(tmp_path, device="cuda")) == []


def test_keys_are_sorted_and_the_same_folder_gives_the_same_bytes(bundle: Path) -> None:
    text = (bundle / METADATA).read_text()
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert crate.metadata(bundle, manifest.list_files(bundle)) == text.encode()


def test_one_action_for_the_run_and_one_for_each_stage(sealed: Path) -> None:
    actions = [entity for entity in entities(sealed).values() if entity["@type"] == "CreateAction"]
    stages = sorted(path.stem for path in (sealed / "notebooks").glob("*.ipynb"))
    assert [action["@id"] for action in actions] == ["#run", *(f"#stage-{stage}" for stage in stages)]
    assert {"@id": "verdict.json"} in actions[0]["result"]


def test_a_stage_that_did_not_finish_failed_and_so_did_the_run(bundle: Path) -> None:
    (bundle / "stages" / "08_drift.json").unlink()
    found = write(bundle)
    assert violations(bundle) == []
    for identity in ("#stage-08_drift", "#run"):
        assert found[identity]["actionStatus"] == {"@id": "http://schema.org/FailedActionStatus"}
    assert found["#run"]["error"] == "not finished: 08_drift"
    assert found["#stage-01_preflight"]["actionStatus"] == {"@id": "http://schema.org/CompletedActionStatus"}


def test_a_run_that_never_began_a_stage_failed(bundle: Path) -> None:
    shutil.rmtree(bundle / "notebooks")
    assert write(bundle)["#run"]["error"] == "not finished: every stage"
    assert violations(bundle) == []


@pytest.mark.parametrize(
    ("name", "identity"),
    [("a b.log", "a%20b.log"), ("100%.log", "100%25.log"), ("a#b?.log", "a%23b%3F.log"), ("urn:x.log", "urn%3Ax.log"), ("bild-ü.log", "bild-ü.log")],
)
def test_a_file_of_any_name_is_a_valid_reference(bundle: Path, name: str, identity: str) -> None:
    (bundle / "attempts").mkdir()
    (bundle / "attempts" / name).write_text("it failed")
    assert f"attempts/{identity}" in write(bundle)
    assert violations(bundle) == []


def test_no_person_is_made_up(sealed: Path) -> None:
    keys = {key for entity in entities(sealed).values() for key in entity}
    assert not keys & {"agent", "author", "creator", "publisher"}


def test_every_file_a_run_makes_has_a_description(sealed: Path) -> None:
    undescribed = [name for name, entity in entities(sealed).items() if "no description" in entity.get("description", "")]
    assert undescribed == []


# ---------------------------------------------------------------- the rules themselves


Graph = dict[str, dict[str, Any]]
BREAKS: list[tuple[str, Callable[[Graph], object], str]] = [
    ("no root", lambda g: g.pop("./"), "no root Dataset"),
    ("no licence", lambda g: g["./"].pop("license"), "no license"),
    ("a licence in words only", lambda g: g["https://spdx.org/licenses/Apache-2.0"].pop("name"), "license is not an entity"),
    ("a date in words", lambda g: g["./"].update(datePublished="yesterday"), "not one ISO 8601 date"),
    ("two dates", lambda g: g["./"].update(datePublished=["2026-01-31", "2026-02-01"]), "not one ISO 8601 date"),
    ("another specification", lambda g: g[METADATA].update(conformsTo={"@id": "https://w3id.org/ro/crate/1.1"}), "no descriptor"),
    ("a profile that is none", lambda g: g[crate.PROCESS_RUN].update({"@type": "CreativeWork"}), "not described as a Profile"),
    ("no profile", lambda g: g["./"].pop("conformsTo"), "does not conform"),
    ("a file nobody lists", lambda g: g["./"]["hasPart"].remove({"@id": "run.json"}), "run.json: is no part of ./"),
    ("a file that is not there", lambda g: g["run.json"].update({"@id": "gone.json"}), "not the path of a file"),
    ("a file out of the crate", lambda g: g["run.json"].update({"@id": "../run.json"}), "not the path of a file"),
    ("another size", lambda g: g["run.json"].update(contentSize="1"), "contentSize '1'"),
    ("another digest", lambda g: g["run.json"].update(sha256="0" * 64), "sha256 is not the file's"),
    ("no description", lambda g: g["run.json"].pop("description"), "run.json: has no description"),
    ("a space", lambda g: g["run.json"].update({"@id": "run file.json"}), "not a URI reference"),
    ("an action without software", lambda g: g["#run"].pop("instrument"), "instrument is no described software"),
    ("software without a version", lambda g: g["#kit"].pop("version"), "software without version"),
    ("an action nobody mentions", lambda g: g["./"]["mentions"].remove({"@id": "#run"}), "#run: is not mentioned"),
    ("an error of a success", lambda g: g["#run"].update(error="x"), "only to one"),
    ("a status of its own", lambda g: g["#run"].update(actionStatus={"@id": "#done"}), "actionStatus #done"),
    ("a time in words", lambda g: g["#run"].update(endTime="noon"), "endTime 'noon'"),
    ("a nested entity", lambda g: g["#run"].update(agent={"@type": "Person", "name": "A"}), "nested"),
    ("an array of one", lambda g: g["#run"].update(instrument=[{"@id": "#kit"}]), "array of one"),
    ("a word of its own", lambda g: g["#run"].update(colour="red"), "colour is not in the context"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "expected"), [case[1:] for case in BREAKS], ids=[case[0] for case in BREAKS])
def test_a_broken_rule_is_seen(bundle: Path, edit: Callable[[Graph], object], expected: str) -> None:
    graph = entities(bundle)
    edit(graph)
    document = json.loads((bundle / METADATA).read_text()) | {"@graph": list(graph.values())}
    (bundle / METADATA).write_text(json.dumps(document))
    assert any(expected in violation for violation in violations(bundle)), violations(bundle)


def test_two_entities_of_one_name_are_seen(bundle: Path) -> None:
    document = json.loads((bundle / METADATA).read_text())
    document["@graph"].append(document["@graph"][0])
    (bundle / METADATA).write_text(json.dumps(document))
    assert violations(bundle) == [f"{METADATA} is described 2 times"]


def test_another_context_is_seen(bundle: Path) -> None:
    document = json.loads((bundle / METADATA).read_text()) | {"@context": "https://schema.org"}
    (bundle / METADATA).write_text(json.dumps(document))
    assert "by reference" in violations(bundle)[0]


# ---------------------------------------------------------------- what the audit makes of it


LIES: list[tuple[str, Callable[[Graph], object], str]] = [
    ("another size", lambda g: g["run.json"].update(contentSize="1"), 'on run.json contentSize: found "1"'),
    ("another digest", lambda g: g["run.json"].update(sha256="0" * 64), "on run.json sha256: found"),
    ("no digest", lambda g: g["run.json"].pop("sha256"), "on run.json sha256: found null"),
    ("another name", lambda g: g["run.json"].update(name="walk.json"), 'on run.json name: found "walk.json"'),
    ("a failed run that completed", lambda g: g["#run"].update(actionStatus={"@id": crate.FAILED}), "#run actionStatus: found"),
    ("a later start", lambda g: g["#stage-08_drift"].update(startTime="2026-01-31T13:00:00"), "#stage-08_drift startTime: found"),
    ("an earlier end", lambda g: g["#run"].update(endTime="2026-01-31T11:00:00"), "#run endTime: found"),
    ("an older date", lambda g: g["./"].update(datePublished="2020-01-01"), "datePublished: found"),
    ("a stage that was not", lambda g: g.update({"#x": {"@id": "#x", "@type": "CreateAction"}}), "actions that are described"),
    ("an author", lambda g: g["./"].update(author={"@id": "#kit"}), './" keys: found ["author"]'),
    ("a person", lambda g: g.update({"#ada": {"@id": "#ada", "@type": "Person", "name": "Ada"}}), "entities beyond those of a run"),
    ("no licence entity", lambda g: g.pop(crate.LICENSE), "entities that are not described"),
    ("another licence", lambda g: g["./"].update(license={"@id": "https://example.org"}), "./ license: found"),
    ("another run", lambda g: g["./"].update(name="Evidence of run nine"), "./ name: found"),
    ("another claim", lambda g: g["./"].update(description="Claim exact, all of it"), "./ description: is"),
    ("more than the claim", lambda g: g["./"].update(description=g["./"]["description"] + " Certified."), "./ description: is"),
    ("another specification", lambda g: g[METADATA].update(conformsTo={"@id": "https://example.org"}), "descriptor: found"),
    ("another tool", lambda g: g["#run"].update(instrument={"@id": "#notebook-08_drift"}), "#run instrument: found"),
    ("another version", lambda g: g["#kit"].update(version="9.9"), '#kit version: found "9.9"'),
    ("an error of a success", lambda g: g["#run"].update(error="x"), "#run has an error: found true"),
    ("a result that is not there", lambda g: g["#run"]["result"].append({"@id": "x"}), '"#run" result: found ["x"]'),
    ("a stage not mentioned", lambda g: g["./"]["mentions"].pop(), "actions that are mentioned"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "expected"), [case[1:] for case in LIES], ids=[case[0] for case in LIES])
def test_a_resealed_lie_is_refused(bundle: Path, edit: Callable[[Graph], object], expected: str) -> None:
    graph = entities(bundle)
    edit(graph)
    document = json.loads((bundle / METADATA).read_text()) | {"@graph": list(graph.values())}
    (bundle / METADATA).write_text(json.dumps(document))
    manifest.write_sums(bundle)
    problems = audit.judge(str(bundle))["problems"]
    assert problems
    assert all(problem.startswith("crate: ro-crate-metadata.json ") for problem in problems)
    assert any(expected in problem for problem in problems), problems


def test_an_entity_described_twice_is_refused(bundle: Path) -> None:
    document = json.loads((bundle / METADATA).read_text())
    document["@graph"].append(document["@graph"][-1])
    (bundle / METADATA).write_text(json.dumps(document))
    manifest.write_sums(bundle)
    assert audit.judge(str(bundle))["problems"] == ["crate: ro-crate-metadata.json: describes one thing twice"]
