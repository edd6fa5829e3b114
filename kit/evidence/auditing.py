"""`kit audit`: the kit's own auditor over somebody's bundle, because a bundle's own copy is a suspect's witness.

Covers: a folder or a packed tar.gz, unpacked without following anything it says about links or places; the
rule that the bundle's copy of audit.py is one ever published (`audits.json`), so that the bundle's author and
its reader mean the same checks. Does not cover: the checks themselves (`kit.evidence.audit`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kit.evidence import audit, manifest, source_archive
from kit.evidence.audit.signature import NO_SIGNERS, Signers
from kit.evidence.records import sha256_file

KNOWN = Path(__file__).with_name("audits.json")


def run_audit(path: str | Path, trust_own: bool = False, signers: Signers = NO_SIGNERS) -> int:
    """Audit and print for people, the JSON document last. Returns 0 pass, 1 fail, 2 could not judge.

    trust_own: go on although the bundle's own audit.py is not a known one; the kit's is used all the same.
    signers: where a file is named, only a bundle with a good signature by one of them passes.
    """
    result = audit_bundle(path, trust_own, signers)
    audit.show(result)
    return audit.EXIT_CODES[result["audit"]]


def audit_bundle(path: str | Path, trust_own: bool = False, signers: Signers = NO_SIGNERS) -> dict[str, Any]:
    """The auditor's document for a bundle folder or a packed bundle."""
    try:
        with bundle_folder(Path(path)) as folder:
            reason = "" if trust_own else unknown_auditor(folder)
            if reason:
                return audit.not_judged(reason)
            result: dict[str, Any] = audit.judge(str(folder), signers=signers)
            return result
    except (OSError, source_archive.ArchiveError) as error:
        return audit.not_judged(str(error))


def unknown_auditor(folder: Path) -> str:
    """Why the bundle's own audit.py is not to be trusted, or "" if it is a published one.

    A folder without one is left to the auditor, which says what is missing.
    """
    own = folder / "audit.py"
    if not own.is_file():
        return ""
    digest = sha256_file(own)
    if digest in known_auditors():
        return ""
    return (
        f"audit.py of the bundle ({digest[:16]}...) is none that was ever published with this kit: whoever made the "
        "bundle may have relied on other checks. Update the kit, or judge it with --trust-own"
    )


def known_auditors(file: Path = KNOWN) -> dict[str, str]:
    """SHA-256 -> version of every audit.py ever published."""
    known: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))["audits"]
    return known


@contextmanager
def bundle_folder(path: Path) -> Iterator[Path]:
    """The folder of a bundle; a packed one is unpacked for as long as the block lasts."""
    if not path.is_file():
        yield path
        return
    if path.stat().st_size > source_archive.MOST_BYTES:
        raise source_archive.ArchiveError(f"{path.name}: is larger than {source_archive.MOST_BYTES} bytes, which no bundle is")
    with tempfile.TemporaryDirectory(prefix="kit-audit-") as folder:
        members = source_archive.unpack(path.read_bytes(), path.name)
        for name, content in members.items():
            file = Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        yield _top(Path(folder))


def _top(folder: Path) -> Path:
    """The bundle's folder inside an unpacked archive: the only folder at the top, or the top itself."""
    entries = list(folder.iterdir())
    alone = len(entries) == 1 and entries[0].is_dir() and not (folder / manifest.SUMS).exists()
    return entries[0] if alone else folder
