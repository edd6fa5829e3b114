"""The catalogue description: the files there are, as they are, and one action for the run and for each stage."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, List
from urllib.parse import unquote

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import CRATE, SENTINEL, UNLISTED, Json
from kit.evidence.audit.values import sha256

RUN_ACTION = "#run"


def check_crate(bundle: Bundle) -> None:
    """The catalogue description lists exactly the files there are, and one action a stage with its outcome."""
    entities = {entity["@id"]: entity for entity in bundle.json(CRATE)["@graph"]}
    if len(entities) != len(bundle.json(CRATE)["@graph"]):
        bundle.fail(CRATE, "describes one thing twice")
    identities = {unquote(part["@id"]): part["@id"] for part in references(entities["./"]["hasPart"])}
    present = bundle.files()[0] - {*UNLISTED, CRATE}
    for name in sorted(set(identities) - present):
        bundle.fail(name, "is described in %s but missing" % CRATE)
    for name in sorted(present - set(identities)):
        bundle.fail(name, "is not described in %s" % CRATE)
    for stage in bundle.stages():
        finished = bundle.exists("stages/%s.json" % stage)
        action = entities.get("#stage-%s" % stage, {})
        bundle.expect("%s action of %s" % (CRATE, stage), action.get("actionStatus"), ending(finished))
    if RUN_ACTION in entities or "generated" in bundle.profile:  # older bundles describe less
        sums = set(bundle.read("SHA256SUMS").decode("utf-8", "replace").split("\n"))
        for name in sorted(present & set(identities)):
            if "%s  %s" % (sha256(bundle.read(name)), name) in sums:  # else check_sums has said so
                compare_file(bundle, name, entities.get(identities[name], {}))
        compare_actions(bundle, entities)


def references(value: Any) -> List[Json]:
    """What a property refers to; a single reference stands alone."""
    return value if isinstance(value, list) else [value]


def ending(finished: bool) -> Json:
    return {"@id": "http://schema.org/%sActionStatus" % ("Completed" if finished else "Failed")}


def compare_file(bundle: Bundle, name: str, entity: Json) -> None:
    """Type, size and digest of one file as the catalogue has them."""
    data, where = bundle.read(name), "%s on %s" % (CRATE, name)
    bundle.expect("%s @type" % where, entity.get("@type"), "File")
    bundle.expect("%s name" % where, entity.get("name"), name)
    bundle.expect("%s contentSize" % where, entity.get("contentSize"), str(len(data)))
    bundle.expect("%s sha256" % where, entity.get("sha256"), sha256(data))


def compare_actions(bundle: Bundle, entities: Dict[str, Json]) -> None:
    """The run and the stages that were begun: mentioned, with the times and endings that the notebooks have."""
    begun = sorted(name[10:-6] for name in bundle.files()[0] if name.startswith("notebooks/"))
    expected = {}
    for stage in begun:
        result = "stages/%s.json" % stage
        finished = bundle.exists(result) and bundle.json(result).get("sentinel") == SENTINEL
        times = bundle.json("notebooks/%s.ipynb" % stage)["metadata"].get("papermill", {})
        expected["#stage-%s" % stage] = (finished, moment(times.get("start_time")), moment(times.get("end_time")))
    ends = [end for _, _, end in expected.values() if end]
    finished = bool(expected) and all(finished for finished, _, _ in expected.values())
    started = moment(bundle.json("run.json")["started_utc"])
    expected[RUN_ACTION] = (finished, started, max(ends) if ends else None)
    found = {name for name, entity in entities.items() if entity["@type"] == "CreateAction"}
    mentioned = {reference["@id"] for reference in references(entities["./"]["mentions"])}
    for what, names in (("described", found), ("mentioned", mentioned)):
        bundle.expect("%s actions that are %s" % (CRATE, what), sorted(names), sorted(expected))
    for name, (finished, start, end) in expected.items():
        action = entities.get(name, {})
        for key, value in (("actionStatus", ending(finished)), ("startTime", start), ("endTime", end)):
            bundle.expect("%s %s %s" % (CRATE, name, key), action.get(key), value)
    bundle.expect("%s datePublished" % CRATE, entities["./"]["datePublished"], max(ends) if ends else started)


def moment(text: Any) -> Any:
    """A time to the millisecond, as the catalogue has it; None where there is none."""
    if not text:
        return None
    read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return read.isoformat(timespec="milliseconds") if read.tzinfo else text
