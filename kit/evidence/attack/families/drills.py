"""records/drills.jsonl: refused and recovered requests, killed workers; checks and observations edited; re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, double, drop, first, swap
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document

NAME = "records/drills.jsonl"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(NAME):
        return
    made = partial(Mutation, "drills", files=(NAME,), sealing="resealed")
    lines = clean.lines(NAME)
    here = chance.randrange(1, len(lines))
    check = chance.choice(sorted(lines[here]["checks"]))
    killed = first(drill="killed-worker")
    deeds: dict[str, Deed] = {
        "a drill left out": drop(NAME, here),
        "a drill twice": double(NAME, here),
        "two drills in the other order": swap(NAME, 1, other=2),
        "a drill renamed": assign(NAME, here, "drill", to="other"),
        "a check that failed": assign(NAME, here, "checks", check, to=False),
        "a check that failed, drill passed": assign(NAME, killed, "checks", "the process is gone", to=False),
        "a check left out": drop(NAME, here, "checks", check),
        "a check renamed": change(NAME, here, "checks", by=partial(renamed, check)),
        "one easy check for all": assign(NAME, here, "checks", to={"it was fine": True}),
        "a check that is a word": assign(NAME, here, "checks", check, to="yes"),
        "no checks": assign(NAME, here, "checks", to={}),
        "said to have failed": assign(NAME, here, "passed", to=False),
        "of another engine": assign(NAME, 0, "engine", to="fast"),
        "of another run": assign(NAME, 0, "run", to="another-run"),
        "of another format": assign(NAME, 0, "format", to="kit-drills/9"),
        "a request accepted that must be refused": change(NAME, first(drill="refused-between-answers"), "observed", by=accepted),
        "nothing observed of refusals": assign(NAME, first(drill="refused-between-answers"), "observed", to={}),
        "a poisoned engine that answered": assign(NAME, first(drill="not-finite-served"), "observed", "statuses", to=[200, 200, 200]),
        "weights that were not reported": assign(NAME, first(drill="not-finite-weights"), "observed", to={}),
    }  # fmt: skip
    if clean.json("profile.json")["runtime"]["device"] == "cuda":
        deeds |= {
            "memory that did not come back": assign(NAME, killed, "observed", "memory", "end_bytes", to=50 << 30),
            "memory not looked at": assign(NAME, killed, "observed", "memory", to={}),
            "memory below nothing": assign(NAME, killed, "observed", "memory", "start_bytes", to=-1),
        }
    for what, deed in deeds.items():
        yield made(what, deed)


def renamed(check: str, checks: Document) -> Document:
    return {("it was fine" if name == check else name): kept for name, kept in checks.items()}


def accepted(observed: Document) -> Document:
    """The first refusal was an answer."""
    name = next(iter(observed))
    return {**observed, name: {**observed[name], "status": 200}}
