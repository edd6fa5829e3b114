"""The rules of RO-Crate 1.3 and Process Run Crate 0.6 that a validator must hold a bundle's crate to.

`violations(folder)` reads ro-crate-metadata.json as a stranger would and lists every rule it breaks: all that the
two specifications call MUST for an attached crate with files, actions and software, and of what they call SHOULD
the sizes, names and descriptions of files, and single values instead of arrays of one. Terms are those of the
specification's JSON-LD context that a bundle uses. Nothing here knows how the kit writes the document.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

METADATA = "ro-crate-metadata.json"
CONTEXT, SPECIFICATION = "https://w3id.org/ro/crate/1.3/context", "https://w3id.org/ro/crate/1.3"
PROCESS_RUN = "https://w3id.org/ro/wfrun/process/0.6"
ISO_8601 = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?(Z|[+-]\d{2}:\d{2})?)?")
REFERENCE = re.compile(r"[^\s\\<>\"{}|^`\x00-\x1f\x7f]+")
STATUSES = {f"http://schema.org/{kind}ActionStatus" for kind in ("Active", "Completed", "Failed", "Potential")}
TERMS = {
    "about", "actionStatus", "agent", "conformsTo", "contentSize", "datePublished", "description", "encodingFormat", "endTime",
    "error", "hasPart", "instrument", "isPartOf", "license", "mentions", "name", "object", "result", "sha256", "startTime",
    "url", "version",
}  # fmt: skip
TYPES = {"ActionStatusType", "CreateAction", "CreativeWork", "Dataset", "File", "Profile", "SoftwareApplication"}

Entity = dict[str, Any]


def violations(folder: Path) -> list[str]:
    """Every rule the crate in a folder breaks; empty for a valid one."""
    document = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    graph: list[Entity] = document["@graph"]
    by_id = {entity["@id"]: entity for entity in graph}
    return [
        *_structure(document, graph),
        *_descriptor_and_root(by_id),
        *_profiles(by_id),
        *_files(folder, graph, by_id),
        *_references(graph, by_id),
        *_actions(graph, by_id),
        *_software(graph),
    ]


def _structure(document: Entity, graph: list[Entity]) -> Iterator[str]:
    """JSON-LD in flattened and compacted form, with the context by reference and no identifier twice."""
    context = document.get("@context")
    if CONTEXT not in (context if isinstance(context, list) else [context]):
        yield f"@context is {context}, not {CONTEXT} by reference"
    for identity, count in Counter(entity["@id"] for entity in graph).items():
        if count > 1:
            yield f"{identity} is described {count} times"
        if not REFERENCE.fullmatch(identity) or re.search(r"%(?![0-9A-Fa-f]{2})", identity):
            yield f"{identity!r} is not a URI reference"
    for entity in graph:
        for key, value in entity.items():
            if key not in TERMS | {"@id", "@type"}:
                yield f"{entity['@id']}: {key} is not in the context"
            if isinstance(value, list) and len(value) == 1 and key != "@type":
                yield f"{entity['@id']}: {key} is an array of one"
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, list) or (isinstance(item, dict) and set(item) != {"@id"}):
                    yield f"{entity['@id']}: {key} is nested, not flattened"
        for kind in types(entity) - TYPES:
            yield f"{entity['@id']}: type {kind} is not in the context"


def _descriptor_and_root(by_id: dict[str, Entity]) -> Iterator[str]:
    descriptor = by_id.get(METADATA, {})
    if types(descriptor) != {"CreativeWork"} or descriptor.get("conformsTo") != {"@id": SPECIFICATION}:
        yield f"{METADATA}: is no descriptor that conforms to {SPECIFICATION}"
    about = descriptor.get("about", {}).get("@id")
    root = by_id.get(about, {})
    if about != "./" or "Dataset" not in types(root):
        yield f"{METADATA}: about is {about}, which is no root Dataset ./"
    for key in ("name", "description", "datePublished", "license"):
        if not root.get(key):
            yield f"./ has no {key}"
    if not isinstance(root.get("datePublished"), str) or not ISO_8601.fullmatch(root["datePublished"]):
        yield f"./ datePublished {root.get('datePublished')!r} is not one ISO 8601 date"
    license_ = by_id.get(root.get("license", {}).get("@id"), {})
    if "CreativeWork" not in types(license_) or not (license_.get("name") and license_.get("description")):
        yield "./ license is not an entity with name and description"


def _profiles(by_id: dict[str, Entity]) -> Iterator[str]:
    declared = [reference["@id"] for reference in listed(by_id.get("./", {}), "conformsTo")]
    if PROCESS_RUN not in declared:
        yield f"./ does not conform to {PROCESS_RUN}"
    for identity in declared:
        if not types(by_id.get(identity, {})) >= {"Profile", "CreativeWork"}:
            yield f"{identity}: is not described as a Profile and CreativeWork"


def _files(folder: Path, graph: list[Entity], by_id: dict[str, Entity]) -> Iterator[str]:
    """Files are linked from the root, present at their path, and as they are described."""
    parts = {reference["@id"] for reference in listed(by_id.get("./", {}), "hasPart")}
    for entity in graph:
        if "File" not in types(entity):
            continue
        identity = entity["@id"]
        path = folder / unquote(identity)
        if identity not in parts:
            yield f"{identity}: is no part of ./"
        if ".." in identity.split("/") or ":" in identity or identity.startswith(("/", "#")) or not path.is_file():
            yield f"{identity}: is not the path of a file in the crate"
            continue
        data = path.read_bytes()
        if entity.get("contentSize") != str(len(data)):
            yield f"{identity}: contentSize {entity.get('contentSize')!r}, the file has {len(data)}"
        if entity.get("sha256") != hashlib.sha256(data).hexdigest():
            yield f"{identity}: sha256 is not the file's"
        for key in ("name", "description", "encodingFormat"):
            if not isinstance(entity.get(key), str) or not entity[key]:
                yield f"{identity}: has no {key}"
    for identity in parts:
        if not types(by_id.get(identity, {})) & {"File", "Dataset"}:
            yield f"{identity}: is a part but not described as a data entity"


def _references(graph: list[Entity], by_id: dict[str, Entity]) -> Iterator[str]:
    """Whatever is referred to is described, but for the specification itself; whatever is described is referred to."""
    referred = {"./", METADATA}
    for entity in graph:
        for key in entity.keys() - {"@id", "@type"}:
            for item in listed(entity, key):
                if isinstance(item, dict) and "@id" in item:
                    referred.add(item["@id"])
                    if item["@id"] not in by_id and item["@id"] != SPECIFICATION:
                        yield f"{entity['@id']}: {key} refers to {item['@id']}, which is not described"
    for identity in by_id.keys() - referred:
        yield f"{identity}: nothing refers to it"


def _actions(graph: list[Entity], by_id: dict[str, Entity]) -> Iterator[str]:
    mentioned = {reference["@id"] for reference in listed(by_id.get("./", {}), "mentions")}
    actions = [entity for entity in graph if "CreateAction" in types(entity)]
    if not actions:
        yield "no CreateAction says what was executed"
    for action in actions:
        identity = action["@id"]
        instruments = listed(action, "instrument")
        if not instruments or not all("SoftwareApplication" in types(by_id.get(i["@id"], {})) for i in instruments):
            yield f"{identity}: its instrument is no described software"
        if identity not in mentioned:
            yield f"{identity}: is not mentioned by ./"
        if not listed(action, "result"):
            yield f"{identity}: creates nothing"
        for key in ("object", "result"):
            for item in listed(action, key):
                if not types(by_id.get(item["@id"], {})) & {"File", "Dataset"}:
                    yield f"{identity}: {key} {item['@id']} is no file"
        for key in {"startTime", "endTime"} & action.keys():
            if not ISO_8601.fullmatch(action[key]):
                yield f"{identity}: {key} {action[key]!r} is not ISO 8601"
        status = action.get("actionStatus", {}).get("@id")
        if status not in STATUSES:
            yield f"{identity}: actionStatus {status}"
        if ("error" in action) != (status == "http://schema.org/FailedActionStatus"):
            yield f"{identity}: an error belongs to a failed action, and only to one"


def _software(graph: list[Entity]) -> Iterator[str]:
    for entity in graph:
        if "SoftwareApplication" in types(entity):
            for key in {"name", "version", "url"} - entity.keys():
                yield f"{entity['@id']}: software without {key}"


def types(entity: Entity) -> set[str]:
    kind = entity.get("@type", ())
    return {kind} if isinstance(kind, str) else set(kind)


def listed(entity: Entity, key: str) -> list[Any]:
    value = entity.get(key, [])
    return value if isinstance(value, list) else [value]
