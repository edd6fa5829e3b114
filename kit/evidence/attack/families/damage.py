"""Files cut short, emptied, doubled, overgrown or replaced by another one's content. Some re-sealed, most not."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

from kit.evidence.attack.deeds import exchange
from kit.evidence.attack.families.flips import drawn
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect

DOCUMENTS = ("verdict.json", "drift.json", "counters.json", "performance.json", "checkpoint.json", "environment.json")
RESEALED = (
    "run.json", "verdict.json", "drift.json", "counters.json", "performance.json", "environment.json", "sources.json",
    "source.tar.gz", "protocol/corpus.jsonl", "operators.json", "signal.json", "checkpoint.json", "device.json",
)  # fmt: skip


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    for kind, name in drawn(clean, chance):
        if name not in ("SHA256SUMS", "verdict.json", "run.json", "profile.json"):  # without these it is no bundle
            what = chance.choice(("cut", "emptied", "doubled", "grown"))
            yield Mutation("damage", f"{what} {kind}", DEEDS[what](name), (name,))
    for name in filter(clean.has, RESEALED):
        for what in ("cut", "emptied"):
            yield Mutation("damage", f"{what} {name}, re-sealed", DEEDS[what](name), (name,), "resealed")
    for one, other in pairwise(DOCUMENTS):
        if clean.has(one) and clean.has(other):
            yield Mutation("damage", f"{one} and {other} exchanged", exchange(one, other), (one, other), "resealed")
    yield Mutation("damage", "a record without lines", header_only("native"), ("records/native",), "resealed")


def cut(name: str) -> Deed:
    return lambda suspect: suspect.write(name, suspect.read(name)[: len(suspect.read(name)) // 2])


def emptied(name: str) -> Deed:
    return lambda suspect: suspect.write(name, b"")


def doubled(name: str) -> Deed:
    return lambda suspect: suspect.write(name, suspect.read(name) * 2)


def grown(name: str) -> Deed:
    return lambda suspect: suspect.write(name, suspect.read(name) + b"\n")


DEEDS = {"cut": cut, "emptied": emptied, "doubled": doubled, "grown": grown}


def header_only(engine: str) -> Deed:
    def deed(suspect: Suspect) -> None:
        engine_ = engine if engine in suspect.engines() else suspect.engines()[0]
        suspect.edit_lines(suspect.exchanges(engine_), lambda lines: lines.__delitem__(slice(1, None)))

    return deed
