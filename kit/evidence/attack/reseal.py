"""The forger's half of an attack: after a deed, put right everything that follows from it.

Covers: the order that things follow in; bodies and rows under their new digests, engine.json from the worker's record,
digests of profile, protocol, sources and label rows, the page for people, the catalogue description, and SHA256SUMS last.
What an auditor can recompute a forger can recompute as well, so the auditor's own functions do it. A document that the
deed itself wrote stays as written. What can no longer be derived, because the deed broke what it follows from, stays as
it was. Figures, gates and counts are `refigure`'s, answers from edited logits `reanswer`'s.

Does not cover: inventing records that were never made; that is what a deed does.
"""

from __future__ import annotations

import io
import tarfile

from kit.evidence import crate, report
from kit.evidence.attack.refigure import (
    CANNOT,
    counters,
    derived,
    drift,
    generated,
    operator_totals,
    performance,
    results,
    signal,
    verdict,
)
from kit.evidence.attack.suspect import Document, Suspect, canonical
from kit.evidence.attack.toml import as_toml
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import DRAWS, FAULTS, FLOOR
from kit.evidence.audit.values import digest_of
from kit.evidence.records import sha256_bytes
from kit.evidence.source_archive import pack, unpack

LARGEST = 64 << 20  # bytes of one source file
INPUTS = ("profile.json", "protocol/")
UNLISTED = ("SHA256SUMS", "SHA256SUMS.sig")


def reseal(suspect: Suspect) -> list[str]:
    """Put everything right that follows from a deed; names of what could not be derived any more."""
    suspect.forget()  # a deed may have changed files by other ways than the suspect's own
    left = []
    for step in STEPS:
        try:
            step(suspect)
        except CANNOT:
            left.append(step.__name__)
    return left


def name_by_digest(suspect: Suspect) -> None:
    """Bodies and rows that were edited in place get their new digest for a name, in every record."""
    for kind in ("bodies", "rows"):
        for name in [name for name in suspect.written if name.startswith(f"records/{kind}/") and suspect.has(name)]:
            old, new = name.rpartition("/")[2], sha256_bytes(suspect.read(name))
            if old != new:
                suspect.rename(name, f"records/{kind}/{new}")
                for engine in suspect.engines():
                    for record in (suspect.exchanges(engine), suspect.worker(engine)):
                        if suspect.has(record) and old.encode() in suspect.read(record):
                            suspect.substitute(record, old, new)


def drop_orphans(suspect: Suspect) -> None:
    """Bodies and rows that no record names any more."""
    records = b"".join(suspect.read(name) for name in suspect.names() if name.endswith(".jsonl"))
    for name in suspect.names():
        stored = name.startswith(("records/bodies/", "records/rows/")) and name not in suspect.written
        if stored and name.rpartition("/")[2].encode() not in records:
            suspect.remove(name)


def engine_facts(suspect: Suspect) -> None:
    """engine.json repeats what the worker said of itself."""
    for engine in suspect.engines(recorded=True):
        lines = suspect.lines(suspect.worker(engine))
        ready: Document = next((line for line in lines if line.get("kind") == "ready"), {})
        closed: Document = next((line for line in lines if line.get("kind") == "closed"), {})

        def change(document: Document, _: Bundle, ready: Document = ready, closed: Document = closed) -> None:
            document["describe"] = ready.get("describe", {})
            document["counters"] = closed.get("counters", {})
            document["memory"] = {"ready": ready.get("memory", {}), "closed": closed.get("memory", {})}

        derived(suspect, f"records/{engine}/engine.json", change)


def label_rows(suspect: Suspect) -> None:
    def change(document: Document, _: Bundle) -> None:
        head = document["label_head"]
        head["rows_sha256"] = sha256_bytes(suspect.read(head["file"]))

    derived(suspect, "checkpoint.json", change)


def protocol(suspect: Suspect) -> None:
    """The protocol's own list, the digest of it in run.json, and in the profile where that pins it."""
    sums = "protocol/SHA256SUMS"
    if sums not in suspect.written and suspect.has(sums):
        inside = {name.removeprefix("protocol/") for name in suspect.names() if name.startswith("protocol/")}
        listed = sorted(inside - {"SHA256SUMS"})
        text = "".join(f"{sha256_bytes(suspect.read(f'protocol/{name}'))}  {name}\n" for name in listed)
        if text.encode() != suspect.read(sums):
            suspect.put(sums, text.encode())
    digest = sha256_bytes(suspect.read(sums if suspect.has(sums) else "protocol/corpus.jsonl"))
    profile = suspect.json("profile.json")
    if profile["protocol"]["sha256"] not in ("", digest) and "profile.json" not in suspect.written:
        profile["protocol"]["sha256"] = digest
        suspect.write("profile.json", canonical(profile))
    derived(suspect, "run.json", lambda document, _: document.update(protocol_sha256=digest))


def profile(suspect: Suspect) -> None:
    """profile.toml says what profile.json says; run.json and every stage carry its digest."""
    document = suspect.json("profile.json")
    digest = sha256_bytes(suspect.read("profile.json"))
    if "profile.json" in suspect.written and "profile.toml" not in suspect.written:
        suspect.put("profile.toml", as_toml(document).encode())
    derived(suspect, "run.json", lambda d, _: d.update(profile_sha256=digest, profile=document["name"]))
    for name in suspect.names():
        if name.startswith("stages/"):
            derived(suspect, name, lambda d, _: d.update(profile_sha256=digest))


def packed_inputs(suspect: Suspect) -> None:
    """The packed sources hold the profile and the protocol that the run was given, so those follow too."""
    if "source.tar.gz" in suspect.written or not any(name.startswith(INPUTS) for name in suspect.written):
        return
    packed = dict(unpack(suspect.read("source.tar.gz")))
    folder = suspect.json("profile.json")["protocol"]["path"]
    given = suspect.json("stages/01_preflight.json")["parameters"]["profile"]
    inputs = {f"{folder}/{name.removeprefix('protocol/')}": name for name in suspect.names() if name.startswith("protocol/")}
    changed = {place: suspect.read(name) for place, name in {**inputs, given: "profile.toml"}.items() if place in packed}
    if any(packed[place] != data for place, data in changed.items()):
        suspect.write("source.tar.gz", pack({**packed, **changed}.items()))


def sources(suspect: Suspect) -> None:
    """sources.json lists what source.tar.gz now holds, and audit.py is the one in there."""
    if "source.tar.gz" not in suspect.written:
        return
    data = suspect.read("source.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        plain = [member for member in archive if member.isfile()]
        if any(member.size > LARGEST for member in plain):
            raise ValueError("a forger does not unpack his own bomb")
        files = {member.name: archive.extractfile(member) for member in plain}
        digests = {name: sha256_bytes(file.read()) for name, file in sorted(files.items()) if file}
    derived(
        suspect, "sources.json", lambda d, _: d.update(before=digests, after=digests, archive_sha256=sha256_bytes(data))
    )


def attached(suspect: Suspect) -> None:
    """What was put into the run beside its stages carries digests of profile, protocol and sources too."""
    run = suspect.json("run.json")
    known = {name: run[name] for name in ("profile_sha256", "protocol_sha256")}
    known["sources_sha256"] = digest_of(suspect.json("sources.json")["before"])
    for name in (DRAWS, FLOOR, FAULTS):
        derived(suspect, name, lambda d, _: d.update({key: value for key, value in known.items() if key in d}))


def page(suspect: Suspect) -> None:
    if "report.html" not in suspect.written:
        suspect.put("report.html", report.render(suspect.path).encode())


def catalogue(suspect: Suspect) -> None:
    if crate.METADATA not in suspect.written:
        listed = [name for name in suspect.names() if name not in UNLISTED]
        suspect.put(crate.METADATA, crate.metadata(suspect.path, listed))


def sums(suspect: Suspect) -> None:
    """SHA256SUMS over what there is now, in the kit's own form."""
    if "SHA256SUMS" not in suspect.written:
        listed = [name for name in suspect.names() if name not in UNLISTED]
        suspect.put(
            "SHA256SUMS", "".join(f"{sha256_bytes(suspect.read(name))}  {name}\n" for name in listed).encode()
        )


STEPS = (
    name_by_digest, drop_orphans, engine_facts, label_rows, protocol, profile, packed_inputs, sources, counters, drift, performance,
    operator_totals, signal, generated, attached, verdict, results, page, catalogue, sums,
)  # fmt: skip
