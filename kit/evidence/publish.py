"""`kit publish`: a sealed run that passes its audit becomes published evidence, a folder in the repository.

Covers: what may be published (sealed, unchanged, passing, small enough to commit) and the copy, which is whole or
not there. A published bundle is never replaced: a later one gets another name and says what it supersedes.
Does not cover: running or judging (`kit.campaign`, `kit.evidence.auditing`).
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.evidence import auditing, manifest
from kit.evidence.package import PackageError
from kit.profile import PROJECT_ROOT

PUBLISHED = PROJECT_ROOT / "evidence" / "published"
MAX_BYTES = 8 * 10**6
NAME = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9.-]{0,63}")
UNFINISHED = ".publishing-"


def publish(run_dir: str | Path, name: str, published: Path = PUBLISHED) -> Path:
    """Copy the bundle to `published`/`name` and return that folder.

    Raises PackageError saying what stands against it.
    """
    run, target = Path(run_dir), published / name
    if not NAME.fullmatch(name):
        raise PackageError(f"{name!r} is no name for published evidence: lower case letters, digits, dots, dashes")
    if target.is_symlink():
        raise PackageError(f"{name} is a link in {published.name}, not a published bundle: choose another name")
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
    with _exclusive(target.parent):
        for leftover in target.parent.glob(f"{UNFINISHED}*"):
            if leftover.is_dir() and not leftover.is_symlink():  # of one that was killed: nobody else is here
                shutil.rmtree(leftover)
        _copy_whole(run, files, target)


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """One process at a time; the system lets go of the folder when its holder dies."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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
