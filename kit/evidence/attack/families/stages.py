"""stages/*.json: sentinels, parameters, results and stages that never ran; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, drop
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "stages", sealing="resealed")
    names = [name for name in clean.names() if name.startswith("stages/")]
    name = chance.choice(names)
    for what, deed in {
        "no sentinel": drop(name, "sentinel"),
        "another sentinel": assign(name, "sentinel", to="started"),
        "another stage": assign(name, "stage", to="12_more"),
        "another profile": assign(name, "profile_sha256", to="0" * 64),
        "other parameters": assign(name, "parameters", "rerun", to=True),
        "no parameters": assign(name, "parameters", to={}),
        "no result": drop(name, "result"),
        "a key nobody knows": assign(name, "certified", to=True),
        "another format": assign(name, "format", to="kit-stage/9"),
    }.items():
        yield made(f"{what} in {name}", deed, (name, name.replace("stages/", "notebooks/").replace(".json", ".ipynb")))
    for other, path, to in results(clean):
        if clean.has(other):
            yield made(f"{other}: {path[-1]} edited", edited(other, path, to), (other,))


def results(clean: Content) -> Iterator[tuple[str, tuple[str, ...], object]]:
    """A figure of each stage's result, as a forger would have it."""
    yield "stages/03_reference.json", ("result", "posts"), 1000
    yield "stages/04_native_eager.json", ("result", "unexpected"), -1
    yield "stages/05_native_graph.json", ("result", "ok"), 0
    yield "stages/08_drift.json", ("result", "worst"), {}
    yield "stages/10_evidence.json", ("result", "verdict"), "certified"
    for name in ("06_operators", "07_faults", "08_drift", "09_performance"):
        if clean.has(f"stages/{name}.json") and "passed" in clean.json(f"stages/{name}.json")["result"]:
            yield f"stages/{name}.json", ("result", "passed"), False


def edited(name: str, path: tuple[str, ...], to: object) -> Deed:
    return assign(name, *path, to=to)
