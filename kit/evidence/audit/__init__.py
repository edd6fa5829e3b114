"""The auditor: sections of standard library code for Python 3.9 or later, joined into the one audit.py a bundle carries.

A section is a module about one matter; a check is a function `check_<rule>(bundle)` in one, called from `CHECKS` in
`running`. A file that a bundle may hold has its role in `rules`. After any change, write the digest of the joined text
with `python -m kit.evidence.audit_pin`. Does not cover: unpacking somebody's archive, which auditors are trusted
(`kit.evidence.auditing`).
"""

from pathlib import Path

from kit.evidence.audit.joining import join
from kit.evidence.audit.rules import AUDIT_VERSION, EXIT_CODES
from kit.evidence.audit.running import CHECKS, judge, main, not_judged, show

__all__ = [
    "AUDIT_VERSION",
    "CHECKS",
    "EXIT_CODES",
    "joined",
    "judge",
    "main",
    "not_judged",
    "sections",
    "show",
]


def sections() -> dict[str, str]:
    """Name -> source text of every section."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return {file.stem: file.read_text(encoding="utf-8") for file in files if file != Path(__file__)}


def joined() -> str:
    """The one file: what a bundle carries as audit.py."""
    return join(sections())
