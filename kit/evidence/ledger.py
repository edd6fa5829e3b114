"""The ledger of published evidence: one row a bundle, appended when it is published and never rewritten.

Covers: `evidence/ledger.jsonl`, whose rows each carry the digest of the row before, so that an edited, dropped or
reordered row shows; the facts of a row, derived from its bundle; later verifications, which are rows of their own;
`record_missing`, `record_verification` and `check`. `evidence/LEDGER.md` is the same for people
(`kit.evidence.ledger_page`). Does not cover: a ledger whose every row was made anew, which the chain alone cannot
show: compare it with an earlier copy (`check(since=...)`), or with a digest of its last row that was quoted elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kit.evidence import auditing, ledger_page, manifest, signing
from kit.evidence.audit.rules import UnreadableError
from kit.evidence.exclusive import exclusively
from kit.evidence.records import RecordError, read_jsonl, sha256_file, sha256_json, write_atomic
from kit.profile import PROJECT_ROOT

EVIDENCE = PROJECT_ROOT / "evidence"
FORMAT = "kit-ledger/1"
FILE, PAGE, PUBLISHED = "ledger.jsonl", "LEDGER.md", "published"
FIRST = "0" * 64  # what the first row has for the digest of the row before
AUTHOR_RUN = "author-run"
LEVELS = {"recomputed": "recomputed by another", "rerun": "rerun on another device"}
KEYS = {
    "published": {"row", "previous", "kind", "recorded", "name", "facts", "verification", "supersedes", "superseded_claim"},
    "verified": {"row", "previous", "kind", "recorded", "name", "bundle_sha256", "verification", "how"},
}  # fmt: skip
FACTS = {
    "date", "profile", "class", "device", "versions", "scope", "not_covered", "verdict", "requests", "questions",
    "max_probability_drift", "bundle_sha256", "signed_by",
}  # fmt: skip
COMPUTING = ("torch", "transformers", "peft", "fla", "triton")

Row = dict[str, Any]


class LedgerError(ValueError):
    """The ledger cannot take this row, or cannot be read; the message says why."""


# ---------------------------------------------------------------- reading and writing


def read(evidence: Path = EVIDENCE) -> list[Row]:
    """All rows, first one first; none where there is no ledger yet. Raises LedgerError for a broken file."""
    file = evidence / FILE
    try:
        return read_jsonl(file, FORMAT)[1] if file.exists() else []
    except RecordError as error:
        raise LedgerError(str(error)) from error


def digest(row: Row) -> str:
    """SHA-256 of a row as canonical JSON: what the next one carries."""
    return sha256_json(row)


def write(rows: Sequence[Row], evidence: Path = EVIDENCE) -> None:
    """The record and the page of it. Rows that are there already must be the first of the new ones."""
    old = read(evidence)
    if list(rows[: len(old)]) != old:
        raise LedgerError(f"{FILE}: a row that is there would be rewritten; rows are only appended")
    lines = [{"format": FORMAT}, *rows]
    text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)
    write_atomic(evidence / FILE, text.encode())
    write_atomic(evidence / PAGE, ledger_page.render(rows, [digest(row) for row in rows]).encode())


def _chained(rows: Sequence[Row], kind: str, name: str, **more: Any) -> Row:
    return {
        "row": len(rows) + 1,
        "previous": digest(rows[-1]) if rows else FIRST,
        "kind": kind,
        "recorded": datetime.now(UTC).date().isoformat(),
        "name": name,
        **more,
    }


# ---------------------------------------------------------------- what a row says


def facts_of(bundle: Path) -> dict[str, Any]:
    """What the ledger says of a bundle, all of it from the bundle."""
    verdict, environment, run = (_json(bundle / f"{name}.json") for name in ("verdict", "environment", "run"))
    return {
        "date": run["started_utc"][:10],
        "profile": verdict["profile"],
        "class": verdict["claim"],
        "device": device_of(environment),
        "versions": versions_of(environment) | {"kit": run["kit_version"]},
        "scope": verdict["scope"],
        "not_covered": list(verdict["not_covered"]),
        "verdict": verdict["verdict"],
        "requests": verdict["counts"]["requests"],
        "questions": verdict["counts"]["questions"],
        "max_probability_drift": verdict["max_probability_drift"],
        "bundle_sha256": sha256_file(bundle / manifest.SUMS),
        "signed_by": signing.fingerprint_of(bundle),
    }


def device_of(environment: dict[str, Any]) -> str:
    """The accelerator and its driver, or the processor where there is none."""
    device, processor = environment.get("device", {}), environment.get("cpu", {})
    if device.get("kind") == "cuda":
        return f"{device['name']}, driver {device.get('driver') or 'not visible'}"
    return f"CPU: {processor.get('model', 'unknown')}"


def versions_of(environment: dict[str, Any]) -> dict[str, str]:
    """Python and what computes a forward, by name."""
    packages = environment.get("packages", {})
    found = {name: packages[name]["version"] for name in COMPUTING if packages.get(name, {}).get("version")}
    cuda = environment.get("device", {}).get("cuda")
    return {"python": environment["python"], **found} | ({"cuda": cuda} if cuda else {})


def published_row(rows: Sequence[Row], bundle: Path, name: str, supersedes: str = "", claim: str = "") -> Row:
    """The row that publishing a bundle appends. Raises LedgerError for what may not be superseded, or named so."""
    names = {row["name"] for row in rows if row["kind"] == "published"}
    if name in names:
        raise LedgerError(f"{name} has a row already, and a name is never used again: choose another one")
    if supersedes and supersedes not in names:
        raise LedgerError(f"{supersedes} is not in the ledger, so nothing can supersede it; there are: {', '.join(sorted(names)) or 'none'}")
    if bool(supersedes) != bool(claim.strip()):
        raise LedgerError("--supersedes NAME and --claim go together: say exactly which claim of NAME no longer holds, or is improved on")
    more = {"verification": AUTHOR_RUN, "supersedes": supersedes or None, "superseded_claim": claim.strip()}
    return _chained(rows, "published", name, facts=facts_of(bundle), **more)


# ---------------------------------------------------------------- verbs


def record_missing(evidence: Path = EVIDENCE) -> list[str]:
    """Append a row for every published bundle without one, oldest run first, and write the page. Returns their names."""
    with exclusively(evidence):
        rows = read(evidence)
        known = {row["name"] for row in rows}
        missing = [folder for folder in bundles(evidence) if folder.name not in known]
        missing.sort(key=lambda folder: (facts_of(folder)["date"], folder.name))
        for folder in missing:
            rows.append(published_row(rows, folder, folder.name))
        write(rows, evidence)
    return [folder.name for folder in missing]


def record_verification(name: str, level: str, how: str, evidence: Path = EVIDENCE) -> Row:
    """Append that a published bundle was verified further. level: a key of LEVELS; how: by what, where it can be seen."""
    with exclusively(evidence):
        rows = read(evidence)
        of_bundle = [row for row in rows if row["kind"] == "published" and row["name"] == name]
        if not of_bundle:
            raise LedgerError(f"{name} is not in the ledger, so it cannot be verified there")
        if level not in LEVELS or not how.strip():
            raise LedgerError(f"say how it was verified: --level {' or '.join(LEVELS)}, and --how with what shows it")
        sums = of_bundle[0]["facts"]["bundle_sha256"]
        row = _chained(rows, "verified", name, bundle_sha256=sums, verification=LEVELS[level], how=how.strip())
        write([*rows, row], evidence)
    return row


def bundles(evidence: Path = EVIDENCE) -> list[Path]:
    """The published bundles: folders, without what an interrupted publishing left."""
    folder = evidence / PUBLISHED
    return sorted(path for path in folder.glob("[!.]*") if path.is_dir()) if folder.is_dir() else []


# ---------------------------------------------------------------- checking


def check(evidence: Path = EVIDENCE, since: Path | None = None) -> list[str]:
    """Everything wrong with the ledger; empty if nothing is. since: an earlier copy, which must be its beginning."""
    rows = read(evidence)
    problems = list(_check_chain(rows))
    if problems:
        return problems
    problems += _check_bundles(rows, evidence)
    page = evidence / PAGE
    if not page.is_file() or page.read_text(encoding="utf-8") != ledger_page.render(rows, [digest(row) for row in rows]):
        problems.append(f"{PAGE}: is not what {FILE} gives; write it with: python -m kit ledger")
    if since is not None:
        problems += _check_beginning(rows, read_jsonl(since, FORMAT)[1])
    return problems


def _check_chain(rows: Sequence[Row]) -> Iterator[str]:
    names: set[str] = set()
    previous = FIRST
    for number, row in enumerate(rows, 1):
        where, kind = f"{FILE} row {number}", row.get("kind")
        if not _is_row(row):
            yield f"{where}: is not a row of {FORMAT}"
            return
        if row["row"] != number:
            yield f"{where}: calls itself row {row['row']}"
        if row["previous"] != previous:
            yield f"{where}: carries {row['previous'][:12]}... for the row before, which has {previous[:12]}...: one was rewritten"
        if (row["name"] in names) != (kind == "verified"):
            yield f"{where}: {row['name']} was published {'before' if row['name'] in names else 'nowhere before'}"
        if kind == "published" and row["supersedes"] is not None and row["supersedes"] not in names:
            yield f"{where}: supersedes {row['supersedes']}, which no row before it has"
        if kind == "published" and (row["supersedes"] is None) != (row["superseded_claim"] == ""):
            yield f"{where}: a bundle supersedes exactly one claim of another, or nothing"
        names.add(row["name"])
        previous = digest(row)


def _is_row(row: Row) -> bool:
    if row.keys() != KEYS.get(str(row.get("kind"))) or not isinstance(row["previous"], str):
        return False
    return row["kind"] != "published" or (isinstance(row["facts"], dict) and row["facts"].keys() >= FACTS)


def _check_bundles(rows: Sequence[Row], evidence: Path) -> Iterator[str]:
    present = {folder.name: folder for folder in bundles(evidence)}
    published = {row["name"]: row for row in rows if row["kind"] == "published"}
    for name in sorted(present.keys() - published.keys()):
        yield f"{PUBLISHED}/{name}: has no row; append it with: python -m kit ledger"
    for name, row in published.items():
        if name not in present:
            yield f"{PUBLISHED}/{name}: is in the ledger and no longer there"
            continue
        yield from _check_facts(row, present[name])
        result = auditing.audit_bundle(present[name])
        if result["audit"] != "pass":
            yield f"{PUBLISHED}/{name}: does not pass its audit: {result['problems'][0]}"
    for row in rows:
        if row["kind"] == "verified" and row["bundle_sha256"] != published[row["name"]]["facts"]["bundle_sha256"]:
            yield f"{FILE} row {row['row']}: verifies another bundle than {row['name']}"


def _check_facts(row: Row, bundle: Path) -> Iterator[str]:
    """A bundle published without a signature may be signed later; every other fact stays."""
    try:
        found = facts_of(bundle)
    except (OSError, LookupError, TypeError, ValueError, AttributeError, UnreadableError) as error:
        yield f"{PUBLISHED}/{bundle.name}: what row {row['row']} says of it cannot be read from it ({type(error).__name__}: {error})"
        return
    for key, told in row["facts"].items():
        if found.get(key) != told and not (key == "signed_by" and told is None):
            yield f"{FILE} row {row['row']}: {key} of {bundle.name} is {told!r}, the bundle has {found.get(key)!r}"


def _check_beginning(rows: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    if len(rows) < len(earlier):
        yield f"{FILE}: has {len(rows)} rows, an earlier copy had {len(earlier)}"
    for number, (row, before) in enumerate(zip(rows, earlier, strict=False), 1):
        if row != before:
            yield f"{FILE} row {number}: is not what an earlier copy has; old rows are never rewritten"


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
