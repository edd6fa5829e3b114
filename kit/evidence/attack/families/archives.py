"""Archives that bite: as the packed bundle, and as the source archive inside a bundle that is re-sealed around it."""

from __future__ import annotations

import random
import tarfile
from collections.abc import Callable, Iterator

from kit.evidence.attack import archives as made
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect
from kit.evidence.records import sha256_bytes
from kit.evidence.source_archive import unpack

SOURCES = "source.tar.gz"
HOSTILE: dict[str, made.Write] = {
    "two members of one name": made.twice("logs/worker.log"),
    "a link": made.special(tarfile.SYMTYPE, "logs/x.log", "../../outside"),
    "a hard link": made.special(tarfile.LNKTYPE, "logs/x.log", "run.json"),
    "a device node": made.special(tarfile.CHRTYPE, "logs/x.log"),
    "a disk": made.special(tarfile.BLKTYPE, "logs/x.log"),
    "a pipe": made.special(tarfile.FIFOTYPE, "logs/x.log"),
    "a member above": made.named("../outside.json"),
    "a member far above": made.named("logs/../../../outside.json"),
    "an absolute member": made.named("/tmp/outside.json"),
    "a member with a backslash": made.named("logs\\x.log"),
    "a member with an escape sequence": made.named("logs/\x1b[2J.log"),
    "a member that claims a gigabyte": made.claiming(1 << 30),
    "a member that claims an exabyte": made.claiming(1 << 60),
    "a sparse member of 8 GiB": made.sparse(8 << 30),
    "100,000 members": made.many(100_000),
}
STREAMS: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "a broken checksum": lambda data: data[:-8] + bytes(8),
    "no gzip": lambda data: b"PK\x03\x04" + data,
    "zlib instead of gzip": made.raw_deflate,
    "empty": lambda data: b"",
    "gzip of nothing": lambda data: made.gzipped(b""),
    "gzip of no tar": lambda data: made.gzipped(b"not a tar at all" * 100),
}


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    for what, hostile in HOSTILE.items():
        yield Mutation("archives", f"packed with {what}", bundle_with(hostile), ("bundle.tar.gz",))
        if what != "100,000 members":  # a large project is no forgery
            yield Mutation("archives", f"sources with {what}", sources_with(hostile), (SOURCES,), "resealed")
    for what, change in STREAMS.items():
        yield Mutation("archives", f"packed: {what}", stream(change), ("bundle.tar.gz",))
        yield Mutation("archives", f"sources: {what}", source_stream(change), (SOURCES,), "resealed")
    yield Mutation("archives", "packed: a bomb", packed_bomb, ("bundle.tar.gz",))
    yield Mutation("archives", "sources: a bomb", source_bomb, (SOURCES,), "resealed")
    yield Mutation("archives", "packed: two bundles", two_bundles, ("bundle.tar.gz", "SHA256SUMS"))


def bundle_with(hostile: made.Write) -> Deed:
    return lambda suspect: made.keep(suspect, made.gzipped(made.tar(made.members(suspect), hostile, "bundle/")))


def sources_with(hostile: made.Write) -> Deed:
    def deed(suspect: Suspect) -> None:
        files = sorted(unpack(suspect.read(SOURCES)).items())
        suspect.write(SOURCES, made.gzipped(made.tar(files, hostile)))

    return deed


def stream(change: Callable[[bytes], bytes]) -> Deed:
    return lambda suspect: made.keep(suspect, change(made.gzipped(made.tar(made.members(suspect)))))


def source_stream(change: Callable[[bytes], bytes]) -> Deed:
    return lambda suspect: suspect.write(SOURCES, change(suspect.read(SOURCES)))


def packed_bomb(suspect: Suspect) -> None:
    made.keep(suspect, made.bomb(made.tar(made.members(suspect)), "bundle/"))


def source_bomb(suspect: Suspect) -> None:
    """The digest of the archive is put right by hand; what it holds is more than a forger's machine would unpack."""
    data = made.bomb(made.tar(sorted(unpack(suspect.read(SOURCES)).items())), "")
    suspect.put(SOURCES, data)
    suspect.edit("sources.json", lambda document: document.update(archive_sha256=sha256_bytes(data)))


def two_bundles(suspect: Suspect) -> None:
    files = made.members(suspect)
    made.keep(suspect, made.gzipped(made.tar([*files, *((f"other/{name}", data) for name, data in files[:5])])))
