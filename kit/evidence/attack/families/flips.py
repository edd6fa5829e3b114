"""One bit turned over, in every kind of file a bundle holds. Nothing is put right: the checksums must see each."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect

# Kinds of files that have many of a sort; one of each is drawn.
SORTS = (
    r"protocol/images/.+", r"protocol/.+\.py", r"records/bodies/.+", r"records/rows/.+", r"logs/.+", r"figures/.+",
    r"notebooks/.+", r"stages/.+", r"attempts/.+", r"records/\w+/exchanges\.jsonl", r"records/\w+/worker\.jsonl",
    r"records/\w+/engine\.json",
)  # fmt: skip


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    for sort, name in drawn(clean, chance):
        place, bit = chance.randrange(len(clean.read(name))), chance.randrange(8)
        files = (name,) if name != "SHA256SUMS" else ("SHA256SUMS", *names_at(clean, place))
        yield Mutation("flips", sort, flip(name, place, bit), files)


def drawn(clean: Content, chance: random.Random) -> list[tuple[str, str]]:
    """(kind, a file of it that is not empty), every file that is of no sort being a kind of its own."""
    kinds: dict[str, list[str]] = {}
    for name in clean.names():
        sort = next((sort for sort in SORTS if re.fullmatch(sort, name)), "")
        label = re.sub(r"[^\w/]+", "", sort.replace(r"\w+", "engine").replace(".+", "")) if sort else name
        if clean.read(name):
            kinds.setdefault(label, []).append(name)
    return [(kind, chance.choice(names)) for kind, names in sorted(kinds.items())]


def flip(name: str, place: int, bit: int) -> Deed:
    def deed(suspect: Suspect) -> None:
        data = bytearray(suspect.read(name))
        data[place] ^= 1 << bit
        suspect.write(name, bytes(data))

    return deed


def names_at(clean: Content, place: int) -> tuple[str, ...]:
    """The file that the line of SHA256SUMS at a byte is about."""
    before = clean.read("SHA256SUMS")[:place].count(b"\n")
    lines = clean.read("SHA256SUMS").decode().splitlines()
    return tuple(line[66:] for line in lines[before : before + 1])
