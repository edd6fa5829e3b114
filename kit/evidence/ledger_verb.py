"""`kit ledger`: write the ledger's page, append what is missing or what was verified, or check all of it.

Covers: a table of the rows for people, and one JSON line last. Does not cover: the ledger itself (`kit.evidence.ledger`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.evidence import ledger
from kit.terminal import console


def run_check(since: Path | None = None, evidence: Path = ledger.EVIDENCE) -> int:
    """Check and print. Returns 0 for a ledger nothing is wrong with, else 1."""
    problems = ledger.check(evidence, since)
    rows = ledger.read(evidence)
    _print_rows(rows)
    for problem in problems:
        print(f"problem: {problem}")
    print(json.dumps(_summary(rows) | {"ledger": "fail" if problems else "pass", "problems": problems}))
    return 1 if problems else 0


def run_append(name: str = "", level: str = "", how: str = "", evidence: Path = ledger.EVIDENCE) -> int:
    """Append rows for bundles without one, and a verification if a name is given; print. Returns 0."""
    added = ledger.record_missing(evidence)
    if name:
        ledger.record_verification(name, level, how, evidence)
    rows = ledger.read(evidence)
    _print_rows(rows)
    print(json.dumps(_summary(rows) | {"added": added, "verified": name or None}))
    return 0


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "rows": len(rows),
        "published": sum(row["kind"] == "published" for row in rows if "kind" in row),
        "last_row_sha256": ledger.digest(rows[-1]) if rows else None,
    }


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("row", "recorded", "bundle", "class", "verdict", "verification", "SHA256SUMS", "supersedes")
    for row in rows:
        told = row.get("facts")
        facts = told if isinstance(told, dict) else {}
        cells = (
            row.get("row"), row.get("recorded"), row.get("name"), facts.get("class", ""), facts.get("verdict", ""),
            row.get("verification"), str(facts.get("bundle_sha256") or row.get("bundle_sha256"))[:16], row.get("supersedes") or "",
        )  # fmt: skip
        table.add_row(*map(str, cells))
    console().print(table)
