"""LEDGER.md: the ledger of published evidence as a page, made from its rows and from nothing else.

Covers: one table row a published bundle, as it was when it was published; a table of what was verified since; the
digest of the last row. Does not cover: reading, appending or checking rows (`kit.evidence.ledger`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

HEAD = """# Ledger of published evidence

Made by `python -m kit ledger` from `ledger.jsonl` and the bundles in `published/`; do not edit it. A row is appended when
a bundle is published, carries the digest of the row before, and is never rewritten: what a later bundle supersedes, and
exactly which claim of it, stands in the later row. `python -m kit ledger --check` holds every row against its bundle,
the chain and this page, and audits the bundles. A digest of `SHA256SUMS` is what an audit prints as `bundle_sha256`.

"author-run" means that nobody but whoever published the bundle has computed it. Class `exact` is bitwise equality with
the reference; scope and what is not covered belong to the claim.
"""
COLUMNS = (
    "row", "published", "bundle", "run", "profile", "class", "verdict", "device", "versions", "scope", "not covered",
    "verification", "signed by", "supersedes", "SHA256SUMS", "digest of the row",
)  # fmt: skip
VERIFIED = ("row", "recorded", "bundle", "verification", "how", "SHA256SUMS", "digest of the row")


def render(rows: Sequence[dict[str, Any]], digests: Sequence[str]) -> str:
    """The page. digests: of the rows, in their order."""
    numbered = list(zip(rows, digests, strict=True))
    published = [_published(row, digest) for row, digest in numbered if row["kind"] == "published"]
    verified = [_verified(row, digest) for row, digest in numbered if row["kind"] == "verified"]
    parts = [HEAD, _table(COLUMNS, published) if published else "Nothing is published yet.\n"]
    if verified:
        parts.append(f"## Verified since\n\n{_table(VERIFIED, verified)}")
    if digests:
        parts.append(f"Digest of the last row: `{digests[-1]}`. Quoted elsewhere, it anchors all rows before it.\n")
    return "\n".join(parts)


def _published(row: dict[str, Any], digest: str) -> Iterable[str]:
    facts = row["facts"]
    drift = facts["max_probability_drift"]
    outcome = f"{facts['verdict']}: {facts['questions']} questions, largest probability drift {drift}"
    supersedes = f"{row['supersedes']}: {row['superseded_claim']}" if row["supersedes"] else "nothing"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(facts["versions"].items()))
    return (
        str(row["row"]), row["recorded"], row["name"], facts["date"], facts["profile"], facts["class"], outcome,
        facts["device"], versions, facts["scope"], "; ".join(facts["not_covered"]), row["verification"],
        facts["signed_by"] or "unsigned", supersedes, facts["bundle_sha256"], digest,
    )  # fmt: skip


def _verified(row: dict[str, Any], digest: str) -> Iterable[str]:
    return (
        str(row["row"]), row["recorded"], row["name"], row["verification"], row["how"], row["bundle_sha256"], digest,
    )  # fmt: skip


def _table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *(map(_cell, row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    """Text that stays in its cell and is text."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
