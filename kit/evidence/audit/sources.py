"""The packed sources are those hashed before and after the run, and this auditor is made from them."""

from __future__ import annotations

import re
from typing import List

from kit.evidence.audit.joining import FOLDER, join
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.values import sha256

SINGLE = "kit/evidence/audit.py"
VERSION_OF = "kit/__init__.py"


def check_sources(bundle: Bundle) -> None:
    """The packed sources are, file by file, those hashed before and after the run."""
    document, sources = bundle.json("sources.json"), bundle.sources()
    bundle.expect("source.tar.gz", sha256(bundle.read("source.tar.gz")), document["archive_sha256"])
    before, after = document["before"], document["after"]
    if not before or not after:
        bundle.fail("sources.json", "lists no file")
    for name in changed_sources(bundle):
        bundle.fail(name, "changed during the run")
    for name in sorted(set(after) | set(sources)):
        if name not in sources:
            bundle.fail(name, "is in sources.json but not in source.tar.gz")
        elif name not in after:
            bundle.fail(name, "is in source.tar.gz but not in sources.json")
        elif sha256(sources[name]) != after[name]:
            bundle.fail(
                name, "in source.tar.gz has SHA-256 %s, listed is %s" % (sha256(sources[name]), after[name])
            )


def check_auditor(bundle: Bundle) -> None:
    """The bundle's audit.py is that of its packed sources: one file of them, or their sections joined."""
    sources, own = bundle.sources(), bundle.read("audit.py")
    if SINGLE in sources:  # bundles older than the sections
        packed = sources[SINGLE]
    else:
        named = {name: data for name, data in sources.items() if re.fullmatch(FOLDER + r"\w+\.py", name)}
        sections = {name[len(FOLDER) : -len(".py")]: data.decode("utf-8") for name, data in named.items()}
        packed = join(sections).encode("utf-8") if sections else b""
    if packed != own:
        bundle.fail("audit.py", "is not the one of the packed sources")


def check_kit(bundle: Bundle) -> None:
    """The run was made by the version of the kit that is packed."""
    source = bundle.sources().get(VERSION_OF)
    if source is None:
        bundle.leave("run.json kit_version (%s is not in the packed sources)" % VERSION_OF)
        return
    match = re.search(r'(?m)^__version__ = "([^"]*)"$', source.decode("utf-8", "replace"))
    bundle.expect("run.json kit_version", bundle.json("run.json")["kit_version"], match.group(1) if match else None)


def changed_sources(bundle: Bundle) -> List[str]:
    document = bundle.json("sources.json")
    before, after = document.get("before") or {}, document.get("after") or {}
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
