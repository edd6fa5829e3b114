"""SHA256SUMS: one line a file, in the format of coreutils, so that `sha256sum -c SHA256SUMS` checks it too.

Covers: writing it over everything in a folder, and verifying a folder against it. Files of a bundle are plain
files with safe names; links and anything else are refused. Does not cover: what the files mean.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from kit.evidence.records import sha256_file, write_atomic
from kit.evidence.source_archive import is_safe

SUMS = "SHA256SUMS"
NOT_LISTED = (SUMS, f"{SUMS}.sig")  # the list itself, and a signature made over it afterwards
LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class ManifestError(ValueError):
    """A folder that cannot be listed; the message names the file."""


def list_files(folder: str | Path) -> list[str]:
    """Names of all files of a folder but the list itself, sorted. Raises ManifestError for anything unusual."""
    root, found = Path(folder), []
    for directory, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(directory) / name
            relative = path.relative_to(root).as_posix()
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise ManifestError(
                    f"{relative}: is a link or a special file; a bundle holds plain files only"
                )
            if not is_safe(relative):
                raise ManifestError(f"{relative!r}: is not a name that is safe on every system")
            if path.is_file() and relative not in NOT_LISTED:
                found.append(relative)
    return sorted(found)


def write_sums(folder: str | Path) -> str:
    """Write SHA256SUMS over every file of the folder and return its text."""
    lines = [f"{sha256_file(Path(folder) / name)}  {name}\n" for name in list_files(folder)]
    if not lines:
        raise ManifestError(f"{folder}: is empty; an empty bundle proves nothing")
    text = "".join(lines)
    write_atomic(Path(folder) / SUMS, text.encode())
    return text


def verify_sums(folder: str | Path) -> list[str]:
    """Every way in which a folder differs from its SHA256SUMS; empty if it does not."""
    root, listed, problems = Path(folder), {}, []
    for number, line in enumerate((root / SUMS).read_text(encoding="utf-8").splitlines(), 1):
        match = LINE.fullmatch(line)
        if match is None or not is_safe(match[2]) or match[2] in listed:
            problems.append(f"{SUMS} line {number}: malformed, unsafe or repeated: {line!r}")
        else:
            listed[match[2]] = match[1]
    present = set(list_files(root))
    problems += [f"{name}: is listed but missing" for name in sorted(listed.keys() - present)]
    problems += [f"{name}: is not listed" for name in sorted(present - listed.keys())]
    for name in sorted(present & listed.keys()):
        if sha256_file(root / name) != listed[name]:
            problems.append(f"{name}: its SHA-256 is not the listed one")
    return problems
