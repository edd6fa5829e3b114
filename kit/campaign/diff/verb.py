"""`kit diff A B`: audit both bundles, compare them, print tables and one JSON line, draw on request.

Covers: folders and packed bundles; exit code 0 same, 1 changed, 2 could not judge (a bundle that fails its audit is
not compared unless `anyway` is given, because its records may say anything). Does not cover: the comparison
(`kit.campaign.diff.judgement`).
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kit.campaign.diff import judgement, tables
from kit.campaign.diff.evidence import DiffError, Evidence, read_evidence
from kit.campaign.reading import RecordsError
from kit.evidence import auditing, source_archive
from kit.evidence.records import RecordError, write_atomic, write_json


def run(
    a: Path, b: Path, *, plot: Path | None = None, out: Path | None = None, anyway: bool = False, trust_own: bool = False
) -> int:
    """Compare, print, and return the exit code. plot: a PNG to draw; out: the whole document as JSON."""
    with ExitStack() as stack:
        try:
            document = _compare(*(_open(stack, path, anyway, trust_own) for path in (a, b)))
        except (DiffError, RecordsError, RecordError, source_archive.ArchiveError, OSError) as error:
            return _end(judgement.not_judged(str(error)))
    tables.show(document)
    if out is not None:
        write_json(out, document)
    if plot is not None:
        from kit.campaign.diff.plot import as_png

        write_atomic(plot, as_png(document))
    return _end(judgement.headline(document))


def _open(stack: ExitStack, path: Path, anyway: bool, trust_own: bool) -> Evidence:
    """Audit and read one bundle; a packed one stays unpacked for as long as the stack is open."""
    if not path.exists():
        raise DiffError(f"{path} is not there")
    folder = stack.enter_context(auditing.bundle_folder(path))
    audit = auditing.audit_bundle(folder, trust_own)
    name = path.name if path.is_file() else path.resolve().name
    if audit["audit"] != "pass" and not anyway:
        raise DiffError(
            f"{name} does not pass its audit ({audit['audit']}: {audit['problems'][0]}), so its records prove nothing; "
            "compare all the same with --anyway"
        )
    return read_evidence(folder, audit, name)


def _compare(a: Evidence, b: Evidence) -> dict[str, Any]:
    """The comparison; records that no audit has accepted may be of any shape."""
    try:
        return judgement.compare(a, b)
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise DiffError(f"records of {a.name} or {b.name} are not what a run writes: {type(error).__name__}: {error}") from error


def _end(line: dict[str, Any]) -> int:
    if line["diff"] == "not-judged":
        print(f"not judged: {line['reasons'][0]}")
    print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), flush=True)
    return judgement.EXIT_CODES[line["diff"]]
