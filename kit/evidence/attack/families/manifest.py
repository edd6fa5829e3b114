"""SHA256SUMS itself: line ends, order, repetition, digests of another form, lines that list nothing or too much."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from kit.evidence.attack.deeds import write
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect

SUMS = "SHA256SUMS"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "manifest")
    count = len(clean.read(SUMS).splitlines())
    place = chance.randrange(count - 1)
    for what, change in line_changes(place).items():
        yield made(what, lines_changed(change), (SUMS, "zzz.json", *names_around(clean, place)))
    for what, rewrite in rewrites().items():
        yield made(what, rewritten(rewrite), (SUMS, "verdict.json"))  # the last line's file: its line is cut off
    yield made("removed", lambda s: s.remove(SUMS), (SUMS,))
    yield made("a million lines", rewritten(lambda data: data * (1_000_000 // count)), (SUMS,))
    for name in ("protocol/SHA256SUMS",):
        if clean.has(name):
            yield made("the protocol's own list emptied", write("protocol/SHA256SUMS", b""), (name,), "resealed")
            yield made("the protocol's own list in reverse", protocol_reversed, (name,), "resealed")
            yield made("the protocol's own list removed", lambda s: s.remove("protocol/SHA256SUMS"), (name,), "resealed")


def line_changes(place: int) -> dict[str, Callable[[list[str]], list[str]]]:
    """What can be done to single lines."""

    def at(change: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
        return lambda lines: [*lines[:place], change(lines[place]), *lines[place + 1 :]]

    return {
        "a line twice": lambda lines: [*lines[:place], lines[place], *lines[place:]],
        "a line twice with another digest": lambda lines: [
            *lines[:place], lines[place], "0" * 64 + lines[place][64:], *lines[place + 1 :]
        ],
        "a line dropped": lambda lines: lines[:place] + lines[place + 1 :],
        "two lines exchanged": lambda lines: [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]],
        "two digests exchanged": lambda lines: [
            *lines[:place], lines[place + 1][:64] + lines[place][64:], lines[place][:64] + lines[place + 1][64:],
            *lines[place + 2 :],
        ],
        "a digest of zeros": at(lambda line: "0" * 64 + line[64:]),
        "a digest cut short": at(lambda line: line[1:]),
        "a digest in capitals": at(lambda line: line[:64].upper() + line[64:]),
        "a digest of another kind": at(lambda line: "0" * 128 + line[64:]),
        "one space between": at(lambda line: line.replace("  ", " ", 1)),
        "a tab between": at(lambda line: line.replace("  ", "\t", 1)),
        "the mark of binary mode": at(lambda line: line.replace("  ", " *", 1)),
        "a space behind": at(lambda line: line + " "),
        "a backslash before, as for escaped names": at(lambda line: "\\" + line),
        "a line of itself": lambda lines: sorted([*lines, "0" * 64 + "  SHA256SUMS"], key=lambda line: line[66:]),
        "a line of its signature": lambda lines: sorted([*lines, "0" * 64 + "  SHA256SUMS.sig"], key=lambda line: line[66:]),
        "a file that is not there": lambda lines: sorted([*lines, "0" * 64 + "  zzz.json"], key=lambda line: line[66:]),
        "an empty line": lambda lines: [*lines[:place], "", *lines[place:]],
        "a comment": lambda lines: ["# made by hand", *lines],
        "a word": lambda lines: [*lines, "everything else is fine"],
    }  # fmt: skip


def rewrites() -> dict[str, Callable[[bytes], bytes]]:
    """What can be done to the whole file."""
    return {
        "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
        "CR": lambda data: data.replace(b"\n", b"\r"),
        "no line end at the end": lambda data: data[:-1],
        "an empty line at the end": lambda data: data + b"\n",
        "emptied": lambda data: b"",
        "a mark of byte order": lambda data: b"\xef\xbb\xbf" + data,
        "UTF-16": lambda data: data.decode().encode("utf-16"),
        "bytes that are no text": lambda data: data + b"\xff" * 64 + b"  x\n",
        "zero bytes at the end": lambda data: data + bytes(16),
        "in reverse": lambda data: b"".join(reversed(data.splitlines(keepends=True))),
        "cut short": lambda data: data[: len(data) // 2],
        "as another tool prints it": lambda data: b"".join(
            b"SHA256 (" + line[66:] + b") = " + line[:64] + b"\n" for line in data.splitlines()
        ),
    }


def lines_changed(change: Callable[[list[str]], list[str]]) -> Deed:
    def deed(suspect: Suspect) -> None:
        lines = change(suspect.read(SUMS).decode().split("\n")[:-1])
        suspect.write(SUMS, "".join(f"{line}\n" for line in lines).encode())

    return deed


def rewritten(change: Callable[[bytes], bytes]) -> Deed:
    return lambda suspect: suspect.write(SUMS, change(suspect.read(SUMS)))


def names_around(clean: Content, place: int) -> tuple[str, ...]:
    return tuple(line[66:] for line in clean.read(SUMS).decode().splitlines()[place : place + 2])


def protocol_reversed(suspect: Suspect) -> None:
    lines = suspect.read("protocol/SHA256SUMS").splitlines(keepends=True)
    suspect.write("protocol/SHA256SUMS", b"".join(reversed(lines)))
