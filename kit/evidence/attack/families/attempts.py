"""Failed starts and what they left: hidden, invented, or used to excuse records that belong to nothing; re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect, compact

BODY = compact({"error": "worker lost", "detail": "a first attempt that failed"})


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "attempts", sealing="resealed")
    bodies = ("records/bodies", "attempts/")
    yield made("what a hidden attempt answered is still there", leftovers("bodies", BODY), bodies)
    yield made("what a hidden attempt computed is still there", leftovers("rows", bytes(32)), ("records/rows",))
    yield made("an empty attempt that excuses leftovers", excused(leftovers("bodies", BODY)), bodies)
    yield made("an attempt with a row under a false name", excused(misnamed), ("records/rows", "attempts/"))
    yield made("an attempt with an answer under a false name", excused(misnamed_body), ("records/bodies", "attempts/"))
    kept = [name for name in clean.names() if name.startswith("attempts/")]
    if kept:
        yield made("the attempts removed", without(kept), ("attempts/", "records/"))
    for engine in clean.engines(recorded=True)[-1:]:
        record = f"records/{engine}/worker.jsonl"
        yield made("a first attempt in front of the second", twice(record), (record,))


def leftovers(kind: str, data: bytes) -> Deed:
    return lambda suspect: suspect.store(kind, data)


def without(names: list[str]) -> Deed:
    def deed(suspect: Suspect) -> None:
        for name in names:
            suspect.remove(name)

    return deed


def excused(deed: Deed) -> Deed:
    def both(suspect: Suspect) -> None:
        deed(suspect)
        suspect.write("attempts/1/note.txt", b"")

    return both


def misnamed(suspect: Suspect) -> None:
    suspect.written.add("records/rows/" + "a" * 64)
    suspect.put("records/rows/" + "a" * 64, bytes(32))


def misnamed_body(suspect: Suspect) -> None:
    suspect.put("records/bodies/" + "a" * 64, BODY)


def twice(record: str) -> Deed:
    """The worker's record of a first start, kept in front of the one that finished."""

    def deed(suspect: Suspect) -> None:
        lines = suspect.lines(record)
        suspect.edit_lines(record, lambda found: found.__setitem__(slice(1, 1), lines[1:40]))

    return deed
