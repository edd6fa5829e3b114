"""Names and kinds of files that a bundle may not have: links, pipes, sockets, devices, names that mean another place.

Links and special files are in the folder; unsafe names are lines of SHA256SUMS, where a careless reader would follow
them, and files where the system allows such a name.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import write
from kit.evidence.attack.families.manifest import lines_changed
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect

UNSAFE = {
    "the folder above": "../outside.json",
    "a folder above, deep inside": "records/../../outside.json",
    "an absolute path": "/etc/hostname",
    "a home folder": "~/outside.json",
    "a drive": "C:\\outside.json",
    "a server": "\\\\server\\share\\x",
    "a folder twice separated": "logs//native.log",
    "a folder named .": "./run.json",
    "a name that ends in /": "logs/",
    "a control character": "logs/a\x07.log",
    "an escape sequence": "logs/\x1b[2J.log",
    "a zero byte": "logs/a\0.log",
    "text that runs backwards": "logs/\u202egol.exe",
}
ON_DISK = {
    "a backslash in a name": "logs\\native.log",
    "a control character in a name": "logs/a\x07.log",
    "an escape sequence in a name": "logs/\x1b[2J.log",
    "a line end in a name": "logs/a\nb.log",
    "text that runs backwards in a name": "logs/\u202egol.log",
    "a space before a name": "logs/ native.log",
}


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "paths")
    for what, name in UNSAFE.items():
        yield made(f"listed: {what}", listed(name), ("SHA256SUMS", name))
    for what, name in ON_DISK.items():
        shown = name.encode("unicode_escape").decode()
        seen = (name, shown, shown.replace("\\x", "\\u00"), shown.replace("\\", "\\\\"), "SHA256SUMS line")
        yield made(what, write(name, b"x"), seen, "resealed")
    yield made("two names that differ in case", write("records/Autotune.json", b"{}"), ("Autotune.json", "SHA256SUMS"), "resealed")
    yield made("two logs that differ in case", case_collision, ("logs/", "SHA256SUMS"), "resealed")
    yield made("two logs that differ in normalisation", normalisation, ("logs/", "SHA256SUMS"), "resealed")
    for name in ("counters.json", "records/label_head.bin", "audit.py", "SHA256SUMS", "notebooks/08_drift.ipynb"):
        if clean.has(name):
            yield made(f"{name} is a link out of the bundle", link_outside(name), (name,))
            yield made(f"{name} is a link to another file of it", link_inside(name), (name,))
    yield made("a link to nothing", lambda s: os.symlink("nowhere", s.path / "logs" / "x.log"), ("logs/x.log",), "resealed")
    yield made("a link to itself", lambda s: os.symlink("x.log", s.path / "logs" / "x.log"), ("logs/x.log",), "resealed")
    yield made("a link to a folder", lambda s: os.symlink("..", s.path / "logs" / "up"), ("logs/up",))
    yield made("a folder that is a link", folder_link, ("figures",))
    yield made("the root through a link", lambda s: os.symlink("/", s.path / "attempts"), ("attempts",))
    yield made("a pipe added", lambda s: os.mkfifo(s.path / "logs" / "x.log"), ("logs/x.log",))
    yield made("a pipe for a document", pipe("counters.json"), ("counters.json",))
    yield made("a pipe for the verdict", pipe("verdict.json"), ("verdict.json",))
    yield made("a socket added", bind, ("logs/x.log",))
    yield made("a folder for a document", folder("drift.json"), ("drift.json",))
    yield made("a folder for SHA256SUMS", folder("SHA256SUMS"), ("SHA256SUMS",))
    yield made("a name of 255 characters", write("l" * 255, b""), ("l" * 255,), "resealed")
    yield made("a hundred folders deep", write("attempts/" + "a/" * 100 + "x", b""), ("attempts/",))


def listed(name: str) -> Deed:
    return lines_changed(lambda lines: [*lines, f"{'0' * 64}  {name}"])


def case_collision(suspect: Suspect) -> None:
    name = next(name for name in suspect.names() if name.startswith("logs/"))
    suspect.write(f"logs/{name[5:].upper()}", b"another log")


def normalisation(suspect: Suspect) -> None:
    suspect.write("logs/caf\u00e9.log", b"one")
    suspect.write("logs/cafe\u0301.log", b"two")


def link_outside(name: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        os.link(suspect.path / name, suspect.path / "moved")
        shutil.move(suspect.path / "moved", suspect.path.with_suffix(".outside"))
        (suspect.path / name).unlink()
        os.symlink(suspect.path.with_suffix(".outside"), suspect.path / name)

    return deed


def link_inside(name: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        target = suspect.path / "records" / "copy"
        target.write_bytes(suspect.read(name))
        (suspect.path / name).unlink()
        os.symlink(os.path.relpath(target, (suspect.path / name).parent), suspect.path / name)

    return deed


def folder_link(suspect: Suspect) -> None:
    (suspect.path / "figures").rename(suspect.path / "logs" / "figures")
    os.symlink("logs/figures", suspect.path / "figures")


def pipe(name: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        (suspect.path / name).unlink()
        os.mkfifo(suspect.path / name)

    return deed


def bind(suspect: Suspect) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(suspect.path / "logs" / "x.log"))


def folder(name: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        (suspect.path / name).unlink()
        (suspect.path / name).mkdir()

    return deed
