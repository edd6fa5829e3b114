"""Typed families of mutations: each a module that yields what can be done to a given bundle.

`FAMILIES` maps a family's name to its function `(clean, chance) -> mutations`. What a bundle lacks (a device, samples
of a GPU, a native engine) yields nothing. The same bundle and seed give the same catalogue on every machine.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from kit.evidence.attack.families import (
    accuracy,
    answers,
    archives,
    asked,
    attempts,
    catalogue_file,
    clocks,
    consistent,
    damage,
    device,
    drills,
    effects,
    engines,
    figures,
    files,
    flips,
    floors,
    gates,
    graph,
    json_traps,
    latency,
    manifest,
    mixed,
    notebooks,
    operators,
    paths,
    planted,
    profile,
    records,
    sources,
    stages,
    temperature,
    tuning,
    walks,
    weights,
)
from kit.evidence.attack.mutation import Mutation
from kit.evidence.attack.suspect import Content

Family = Callable[[Content, random.Random], Iterator[Mutation]]
FAMILIES: dict[str, Family] = {
    "flips": flips.mutations,
    "damage": damage.mutations,
    "files": files.mutations,
    "paths": paths.mutations,
    "manifest": manifest.mutations,
    "json": json_traps.mutations,
    "archives": archives.mutations,
    "records": records.mutations,
    "answers": answers.mutations,
    "temperature": temperature.mutations,
    "graph": graph.mutations,
    "figures": figures.mutations,
    "accuracy": accuracy.mutations,
    "asked": asked.mutations,
    "walks": walks.mutations,
    "floors": floors.mutations,
    "planted": planted.mutations,
    "gates": gates.mutations,
    "profile": profile.mutations,
    "engines": engines.mutations,
    "weights": weights.mutations,
    "operators": operators.mutations,
    "effects": effects.mutations,
    "tuning": tuning.mutations,
    "device": device.mutations,
    "drills": drills.mutations,
    "latency": latency.mutations,
    "clocks": clocks.mutations,
    "stages": stages.mutations,
    "notebooks": notebooks.mutations,
    "sources": sources.mutations,
    "attempts": attempts.mutations,
    "mixed": mixed.mutations,
    "catalogue": catalogue_file.mutations,
    "consistent": consistent.mutations,
}


def catalogue(clean: Content, seed: int, names: Iterable[str] = tuple(FAMILIES)) -> list[Mutation]:
    """Every mutation of the named families for this bundle, each under an id of its own."""
    found = [mutation for name in names for mutation in FAMILIES[name](clean, random.Random(f"{name} {seed}"))]
    twice = [name for name, count in Counter(mutation.id for mutation in found).items() if count > 1]
    if twice:
        raise ValueError(f"two mutations are called {', '.join(twice)}")
    return found
