"""The catalogue description: the files there are, as they are, and one action for the run and for each stage."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, List, Set
from urllib.parse import unquote

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import CRATE, SENTINEL, UNLISTED, Json
from kit.evidence.audit.values import sha256, short

RUN_ACTION, KIT = "#run", "#kit"
SPECIFICATION, PROCESS_RUN = "https://w3id.org/ro/crate/1.3", "https://w3id.org/ro/wfrun/process/0.6"
LICENSE = "https://spdx.org/licenses/Apache-2.0"
# What entities may say. None of it names a person: a bundle has names taken out.
CRATE_KEYS = {
    "@id", "@type", "about", "actionStatus", "conformsTo", "contentSize", "datePublished", "description", "encodingFormat", "endTime",
    "error", "hasPart", "instrument", "isPartOf", "license", "mentions", "name", "object", "result", "sha256", "startTime",
    "url", "version",
}  # fmt: skip
UNREAD_TEXTS = "descriptions of files in %s (for people; nothing is derived from them)" % CRATE


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
        compare_frame(bundle, entities, set(identities.values()))
        bundle.leave(UNREAD_TEXTS)


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
        tool = {"@id": KIT if name == RUN_ACTION else name.replace("#stage-", "#notebook-", 1)}
        facts = {"actionStatus": ending(finished), "startTime": start, "endTime": end, "instrument": tool}
        for key, value in facts.items():
            bundle.expect("%s %s %s" % (CRATE, name, key), action.get(key), value)
        bundle.expect("%s %s has an error" % (CRATE, name), "error" in action, not finished)
    bundle.expect("%s datePublished" % CRATE, entities["./"]["datePublished"], max(ends) if ends else started)


def compare_frame(bundle: Bundle, entities: Dict[str, Json], files: Set[str]) -> None:
    """What is not a file or an action: the descriptor, the root, what they refer to, and nothing else."""
    run, verdict, root = bundle.json("run.json"), bundle.json("verdict.json"), entities["./"]
    actions = {name for name, entity in entities.items() if entity["@type"] == "CreateAction"}
    tools = {KIT, *(name.replace("#stage-", "#notebook-", 1) for name in actions - {RUN_ACTION})}
    endings = {str(entities[name].get("actionStatus", {}).get("@id")) for name in actions}
    expected = {CRATE, "./", PROCESS_RUN, LICENSE, *files, *actions, *tools, *endings}
    bundle.expect("%s entities beyond those of a run" % CRATE, sorted(set(entities) - expected), [])
    bundle.expect("%s entities that are not described" % CRATE, sorted(expected - set(entities)), [])
    bundle.expect("%s @context" % CRATE, bundle.json(CRATE).get("@context"), SPECIFICATION + "/context")
    descriptor = {name: value for name, value in entities[CRATE].items() if name not in ("description", "name")}
    about = {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": SPECIFICATION}}
    bundle.expect("%s descriptor" % CRATE, descriptor, about)
    stated = {"@type": "Dataset", "license": {"@id": LICENSE}, "conformsTo": {"@id": PROCESS_RUN}}
    for key, value in dict(stated, name="Evidence of run %s" % run["id"]).items():
        bundle.expect("%s ./ %s" % (CRATE, key), root.get(key), value)
    claim = "Claim %s of profile %s, verdict %s" % (verdict["claim"], run["profile"], verdict["verdict"])
    missing = " Not covered: %s." % "; ".join(verdict["not_covered"]) if verdict["not_covered"] else ""
    description = "%s. Scope: %s.%s" % (claim, verdict["scope"], missing)
    if root.get("description") != description:
        bundle.fail("%s ./ description" % CRATE, "is %s, expected %s" % (short(root.get("description")), short(description)))
    for tool in sorted(tools & set(entities)):
        bundle.expect("%s %s version" % (CRATE, tool), entities[tool].get("version"), run["kit_version"])
    for name, entity in entities.items():
        bundle.expect("%s %s keys" % (CRATE, short(name)), sorted(set(entity) - CRATE_KEYS), [])
        for key in ("object", "result", "instrument", "isPartOf", "url"):
            told = [part["@id"] for part in references(entity.get(key, []))]
            bundle.expect("%s %s %s" % (CRATE, short(name), key), sorted(set(told) - set(entities)), [])


def moment(text: Any) -> Any:
    """A time to the millisecond, as the catalogue has it; None where there is none."""
    if not text:
        return None
    read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return read.isoformat(timespec="milliseconds") if read.tzinfo else text
