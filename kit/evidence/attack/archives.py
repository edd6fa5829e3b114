"""Archives as an attacker makes them: what tar and gzip allow and no bundle may hold.

Covers: a bundle packed as it should be, and the same with a hostile member or a hostile stream around it. Bombs are
made of one compressed block repeated, so they cost the attacker nothing. Does not cover: reading any of them
(`kit.evidence.source_archive`, `audit.py`).
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterable

from kit.evidence.attack.suspect import Suspect

BLOCK = bytes(64 << 20)
BLOCKS = 64  # 4 GiB of zeros
Write = Callable[[tarfile.TarFile, str], None]


def members(suspect: Suspect) -> list[tuple[str, bytes]]:
    """What a packed bundle holds: every file under one folder."""
    return [(f"bundle/{name}", suspect.read(name)) for name in suspect.names()]


def packed(suspect: Suspect) -> None:
    """Pack the bundle as its author would, and have that audited."""
    keep(suspect, gzipped(tar(members(suspect))))


def keep(suspect: Suspect, data: bytes) -> None:
    """Make these bytes the packed bundle that is audited."""
    suspect.target = suspect.path / "bundle.tar.gz"
    suspect.target.write_bytes(data)


def tar(files: Iterable[tuple[str, bytes]], hostile: Write | None = None, prefix: str = "") -> bytes:
    """A tar of files, with whatever `hostile` adds at the end, under `prefix`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files:
            put(archive, name, content)
        if hostile:
            hostile(archive, prefix)
    return buffer.getvalue()


def put(archive: tarfile.TarFile, name: str, content: bytes = b"") -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


def special(kind: bytes, name: str, target: str = "") -> Write:
    """A member that is no plain file."""

    def write(archive: tarfile.TarFile, prefix: str) -> None:
        member = tarfile.TarInfo(prefix + name)
        member.type, member.linkname = kind, target
        member.devmajor, member.devminor = 1, 3
        archive.addfile(member)

    return write


def named(name: str, content: bytes = b"{}") -> Write:
    """A plain member under a name of its own, with no prefix where it is no relative one."""
    return lambda archive, prefix: put(archive, name if name.startswith(("/", "..")) else prefix + name, content)


def twice(name: str) -> Write:
    """Two members of one name, the second with other content."""

    def write(archive: tarfile.TarFile, prefix: str) -> None:
        put(archive, prefix + name, b"first")
        put(archive, prefix + name, b"second")

    return write


def claiming(size: int) -> Write:
    """A header that claims far more bytes than follow it."""

    def write(archive: tarfile.TarFile, prefix: str) -> None:
        member = tarfile.TarInfo(prefix + "logs/large.log")
        member.size = size
        header = member.tobuf(tarfile.PAX_FORMAT)
        assert archive.fileobj is not None
        archive.fileobj.write(header + bytes(512))

    return write


def many(count: int) -> Write:
    """A great number of empty members."""

    def write(archive: tarfile.TarFile, prefix: str) -> None:
        for number in range(count):
            put(archive, f"{prefix}logs/{number}.log")

    return write


def sparse(size: int) -> Write:
    """An old GNU sparse member: a few bytes that stand for `size`."""

    def write(archive: tarfile.TarFile, prefix: str) -> None:
        member = tarfile.TarInfo(prefix + "logs/sparse.log")
        member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
        header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
        header[483:495] = b"%011o\0" % size  # the real size, where the GNU header keeps it
        header[148:156] = b"        "
        header[148:156] = b"%06o\0 " % sum(header)
        assert archive.fileobj is not None
        archive.fileobj.write(bytes(header))

    return write


def bomb(start: bytes, prefix: str) -> bytes:
    """A gzip stream of a tar that goes on with a member of 4 GiB of zeros."""
    member = tarfile.TarInfo(prefix + "logs/zeros.log")
    member.size = len(BLOCK) * BLOCKS
    head = gzipped(start.rstrip(b"\0").ljust(-(-len(start.rstrip(b"\0")) // 512) * 512, b"\0") + member.tobuf())
    return head + gzipped(BLOCK) * BLOCKS + gzipped(bytes(1024))


def raw_deflate(data: bytes) -> bytes:
    """Compressed, but neither gzip nor tar."""
    return zlib.compress(data)
