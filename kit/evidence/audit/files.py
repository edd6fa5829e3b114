"""Every file: listed, hashed, with a role, and of this run."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Dict, List

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import (
    CHECKPOINT_FILES,
    DOCUMENTS,
    GENERATED_DOCUMENTS,
    GENERATED_LINES,
    MAY_BE,
    MEASURED_DOCUMENTS,
    MOST_OF_SUMS,
    OPERATOR_DOCUMENTS,
    OPTIONAL_DOCUMENTS,
    PLAIN,
    UNLISTED,
    UnreadableError,
)
from kit.evidence.audit.values import safe_name, short


def check_sums(bundle: Bundle) -> None:
    """SHA256SUMS is well formed, and every file is listed, present, no link, and unchanged."""
    files, odd = bundle.files()
    for name in odd:
        bundle.fail(name, "is a link, a special file, or a folder that is empty, unreadable or too deep; expected plain files")
    listed = read_sums(bundle, "SHA256SUMS")
    present = files - set(UNLISTED)
    for name in sorted(set(listed) - present - set(odd)):
        bundle.fail(name, "is listed but missing")
    for name in sorted(present - set(listed)):
        bundle.fail(name, "is in the bundle but not listed")
    for name in sorted(present & set(listed)):
        found = bundle.digest(name)
        if found != listed[name]:
            bundle.fail(name, "has SHA-256 %s, listed is %s" % (found, listed[name]))


def read_sums(bundle: Bundle, where: str) -> Dict[str, str]:
    """Name -> digest of a checksum file; malformed, unsafe, repeated and unsorted lines are problems."""
    listed: Dict[str, str] = OrderedDict()
    data = bundle.read(where)
    if len(data) > MOST_OF_SUMS:
        raise UnreadableError("%s is larger than %d bytes, expected one line a file" % (where, MOST_OF_SUMS))
    *lines, rest = data.decode("utf-8", "replace").split("\n")
    if rest:
        bundle.fail(where, "ends in %s, expected a line end behind every line and nothing after it" % short(rest))
    for number, line in enumerate(lines, 1):
        match, at = re.fullmatch(r"([0-9a-f]{64})  (.+)", line), "%s line %d" % (where, number)
        if not match:
            bundle.fail(at, "malformed: %s, expected a digest, two spaces and a name" % short(line))
        elif not safe_name(match.group(2)):
            bundle.fail(at, "unsafe path %s" % short(match.group(2)))
        elif match.group(2) in listed:
            bundle.fail(at, "lists %s a second time" % match.group(2))
        else:
            listed[match.group(2)] = match.group(1)
    if not listed:
        bundle.fail(where, "lists nothing")
    if list(listed) != sorted(listed):
        bundle.fail(where, "is not sorted by name")
    if len({name.casefold() for name in listed}) != len(listed):
        bundle.fail(where, "has names that differ in upper and lower case only")
    return listed


def needed_files(bundle: Bundle) -> List[str]:
    """Every file this profile's bundle must have."""
    needed = [*DOCUMENTS, *PLAIN, *(OPERATOR_DOCUMENTS if bundle.operators else ())]
    for stage in bundle.stages():
        needed += ["stages/%s.json" % stage, "notebooks/%s.ipynb" % stage]
    for engine in bundle.engines:
        needed += ["records/%s/exchanges.jsonl" % engine, "records/%s/engine.json" % engine]
    needed += ["records/%s/worker.jsonl" % engine for engine in bundle.recorded_engines]
    needed += ["records/drills.jsonl"] if bundle.native else []
    needed += MEASURED_DOCUMENTS if bundle.measured else ()
    needed += (*GENERATED_DOCUMENTS, GENERATED_LINES) if bundle.generated else ()
    needed += CHECKPOINT_FILES
    return [name for name in needed if name not in CHECKPOINT_FILES or bundle.recorded_engines]


def check_roles(bundle: Bundle) -> None:
    """Every file has a role, and every role the profile needs has its file."""
    needed, present = set(needed_files(bundle)), bundle.files()[0] - set(UNLISTED)
    optional = (*MAY_BE, *map(re.escape, (*CHECKPOINT_FILES, *OPTIONAL_DOCUMENTS)))
    for name in sorted(needed - present):
        bundle.fail(name, "is missing")
    for name in sorted(present - needed):
        if not any(re.fullmatch(pattern, name) for pattern in optional):
            bundle.fail(name, "has no role in a bundle of this profile")


def check_formats(bundle: Bundle) -> None:
    """Every document and record says what it is, and belongs to this run."""
    for name, expected in {
        **DOCUMENTS,
        **OPERATOR_DOCUMENTS,
        **MEASURED_DOCUMENTS,
        **GENERATED_DOCUMENTS,
        **OPTIONAL_DOCUMENTS,
    }.items():
        if bundle.exists(name):
            bundle.expect("%s format" % name, bundle.json(name).get("format"), expected)
    run, headers = bundle.json("run.json")["id"], {}
    for engine in bundle.engines:
        headers["records/%s/exchanges.jsonl" % engine] = {
            "format": "kit-exchanges/1",
            "engine": engine,
            "run": run,
        }
    for engine in bundle.recorded_engines:
        model = bundle.profile["model"]["name"]
        headers["records/%s/worker.jsonl" % engine] = {
            "format": "kit-worker/2",
            "engine": engine,
            "model": model,
        }
    for name, header in headers.items():
        bundle.expect("%s header" % name, bundle.jsonl(name)[0], header)
