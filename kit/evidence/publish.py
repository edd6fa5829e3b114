"""`kit publish`: a sealed run that passes its audit becomes published evidence, a folder in the repository.

Covers: what may be published (sealed, unchanged, passing, small enough to commit), the copy, which is whole or
not there, and its row in the ledger. A published bundle is never replaced: a later one gets another name and says
what it supersedes, and exactly which claim.
Does not cover: running or judging (`kit.campaign`, `kit.evidence.auditing`).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from kit.evidence import auditing, ledger, manifest
from kit.evidence.exclusive import exclusively
from kit.evidence.package import PackageError

PUBLISHED = ledger.EVIDENCE / ledger.PUBLISHED
MAX_BYTES = 13 * 10**6  # a campaign's own records, and with them its sources, its figures twice and 3,000 generated questions
NAME = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9.-]{0,63}")
UNFINISHED = ".publishing-"


def publish(
    run_dir: str | Path, name: str, evidence: Path = ledger.EVIDENCE, *, supersedes: str = "", claim: str = ""
) -> Path:
    """Copy the bundle to `evidence`/published/`name`, append its row to the ledger, and return that folder.

    supersedes and claim: an earlier bundle by name, and exactly what claim of it this one replaces.
    Raises PackageError or LedgerError saying what stands against it.
    """
    run, published = Path(run_dir), evidence / ledger.PUBLISHED
    target = published / name
    _refuse(run, name, target)
    published.mkdir(parents=True, exist_ok=True)
    with exclusively(evidence):
        rows = ledger.read(evidence)
        row = ledger.published_row(rows, run, name, supersedes, claim)
        for leftover in published.glob(f"{UNFINISHED}*"):
            if leftover.is_dir() and not leftover.is_symlink():  # of one that was killed: nobody else is here
                shutil.rmtree(leftover)
        _copy_whole(run, _files(run), target)
        ledger.write([*rows, row], evidence)
    return target


def _refuse(run: Path, name: str, target: Path) -> None:
    """Raise PackageError for what may not be published, or not under this name."""
    if not NAME.fullmatch(name):
        raise PackageError(f"{name!r} is no name for published evidence: lower case letters, digits, dots, dashes")
    if target.is_symlink():
        raise PackageError(f"{name} is a link in {target.parent.name}, not a published bundle: choose another name")
    if target.exists():
        raise PackageError(f"{name} is published already, and is never replaced: choose another name")
    files = _files(run)
    size = sum((run / file).stat().st_size for file in files)
    if size > MAX_BYTES:
        largest = sorted(files, key=lambda file: -(run / file).stat().st_size)[:3]
        raise PackageError(f"{run.name} has {size:,} bytes, more than {MAX_BYTES:,}; largest: {', '.join(largest)}")
    result = auditing.audit_bundle(run)
    if result["audit"] != "pass":
        problems = "; ".join(result["problems"][:3])
        raise PackageError(f"{run.name} does not pass its audit ({result['audit']}): {problems}")


def _files(run: Path) -> list[str]:
    if not (run / manifest.SUMS).exists():
        raise PackageError(f"{run.name} is not sealed, so it cannot be published; finish it with: python -m kit run")
    unlisted = [name for name in manifest.NOT_LISTED if (run / name).exists()]
    return [*manifest.list_files(run), *unlisted]


def _copy_whole(run: Path, files: list[str], target: Path) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=target.parent))
    try:
        for name in files:
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(run / name, temporary / name)
        problems = manifest.verify_sums(temporary)
        if problems:
            raise PackageError(f"the copy of {run.name} is not what was sealed: {problems[0]}")
        os.chmod(temporary, 0o755)
        os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
