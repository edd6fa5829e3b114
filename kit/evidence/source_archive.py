"""The exact sources of a run as one tar.gz whose bytes depend on nothing but the files.

Covers: packing named files deterministically (sorted, no owner, no time, fixed mode) and reading an archive
back without trusting it. Does not cover: which files are sources (`kit.evidence.provenance`). The bytes are
the same for the same zlib; another zlib may compress differently, so files are compared, not archives.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


class ArchiveError(ValueError):
    """An archive that holds something other than plain files with safe, distinct names."""


def pack(members: Iterable[tuple[str, bytes]]) -> bytes:
    """A tar.gz of (name, content) pairs, in the order of their names."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=buffer, mode="wb", compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in sorted(members):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), 0o644, 0
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def pack_files(root: str | Path, names: Iterable[str]) -> bytes:
    """A tar.gz of files under `root`, by their names relative to it."""
    return pack((name, (Path(root) / name).read_bytes()) for name in names)


def unpack(data: bytes, source: str = "archive") -> Mapping[str, bytes]:
    """Name -> content. Raises ArchiveError for links, devices, unsafe or repeated names, and damage."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            return dict(_members(archive, source))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ArchiveError(f"{source}: cannot be read as tar.gz: {error}") from error


def _members(archive: tarfile.TarFile, source: str) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    for member in archive:
        if member.isdir():
            continue
        if not member.isfile() or not is_safe(member.name) or member.name in seen:
            raise ArchiveError(f"{source}: {member.name!r} is not a plain file with a safe name of its own")
        seen.add(member.name)
        file = archive.extractfile(member)
        yield member.name, file.read() if file else b""


def is_safe(name: str) -> bool:
    """A relative path without `..`, backslashes or control characters."""
    return (
        "\\" not in name
        and name.isprintable()
        and not any(part in ("", ".", "..") for part in name.split("/"))
    )
