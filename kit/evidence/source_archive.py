"""The exact sources of a run as one tar.gz whose bytes depend on nothing but the files.

Covers: packing named files deterministically (sorted, no owner, no time, fixed mode) and reading an archive
back without trusting it: sizes it claims, what it unpacks to, names, kinds of members, its own checksum.
Does not cover: which files are sources (`kit.evidence.provenance`). The bytes are the same for the same zlib;
another zlib may compress differently, so files are compared, not archives.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

MOST_BYTES = 512 << 20  # an archive unpacked; a bundle of a 27B model has some tens of MiB
MOST_MEMBERS = 50_000


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
    """Name -> content. Raises ArchiveError for links, devices, unsafe or repeated names, bombs, and damage."""
    try:
        plain = _decompressed(data, source)
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
            return dict(_members(archive, source, len(plain)))
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ArchiveError(f"{source}: cannot be read as tar.gz: {error}") from error


def _decompressed(data: bytes, source: str) -> bytes:
    """The whole stream, read to its end so that its checksum counts, but not one that never ends."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        plain = packed.read(MOST_BYTES + 1)
    if len(plain) > MOST_BYTES:
        raise ArchiveError(f"{source}: unpacks to more than {MOST_BYTES} bytes, which no bundle and no sources do")
    return plain


def _members(archive: tarfile.TarFile, source: str, size: int) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    for member in archive:
        if member.isdir():
            continue
        if not member.isfile() or member.issparse() or not is_safe(member.name) or member.name in seen:
            raise ArchiveError(f"{source}: {member.name!r} is not a plain file with a safe name of its own")
        if member.size > size:
            raise ArchiveError(f"{source}: {member.name!r} claims {member.size} bytes, expected no more than the {size} of the whole archive")
        seen.add(member.name)
        if len(seen) > MOST_MEMBERS:
            raise ArchiveError(f"{source}: holds more than {MOST_MEMBERS} files, expected a bundle or its sources")
        file = archive.extractfile(member)
        yield member.name, file.read() if file else b""


def is_safe(name: str) -> bool:
    """A relative path without `..`, backslashes or control characters."""
    return (
        "\\" not in name
        and name.isprintable()
        and not any(part in ("", ".", "..") for part in name.split("/"))
    )
