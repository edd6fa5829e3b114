"""`kit publish`: a sealed run that passes its audit becomes published evidence, a folder in the repository.

Covers: what may be published (sealed, unchanged, passing, small enough to commit) and the copy, which is whole or
not there. A published bundle is never replaced: a later one gets another name and says what it supersedes.
Does not cover: running or judging (`kit.campaign`, `kit.evidence.auditing`).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from kit.evidence import auditing, manifest
from kit.evidence.package import PackageError
from kit.profile import PROJECT_ROOT

PUBLISHED = PROJECT_ROOT / "evidence" / "published"
MAX_BYTES = 8 * 10**6
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")


def publish(run_dir: str | Path, name: str, published: Path = PUBLISHED) -> Path:
    """Copy the bundle to `published`/`name` and return that folder.

    Raises PackageError saying what stands against it.
    """
    run, target = Path(run_dir), published / name
    if not NAME.fullmatch(name):
        raise PackageError(f"{name!r} is no name for published evidence: lower case letters, digits, dots, dashes")
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
    _copy(run, files, target)
    return target


def _files(run: Path) -> list[str]:
    if not (run / manifest.SUMS).exists():
        raise PackageError(f"{run.name} is not sealed, so it cannot be published; finish it with: python -m kit run")
    unlisted = [name for name in manifest.NOT_LISTED if (run / name).exists()]
    return [*manifest.list_files(run), *unlisted]


def _copy(run: Path, files: list[str], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".publishing-", dir=target.parent))
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
