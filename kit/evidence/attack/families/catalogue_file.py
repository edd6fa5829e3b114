"""ro-crate-metadata.json, by which catalogues know a bundle: files and actions it leaves out or invents; re-sealed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import assign, change, drop
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document

NAME = "ro-crate-metadata.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "catalogue", files=(NAME,), sealing="resealed")
    graph: list[Document] = clean.json(NAME)["@graph"]
    part = chance.choice(graph[of("./")(graph)]["hasPart"])["@id"]
    action = next(entity["@id"] for entity in graph if entity["@id"].startswith("#stage-"))
    deeds: dict[str, Deed] = {
        "a file left out": change(NAME, "@graph", of("./"), "hasPart", by=lambda parts: parts[1:]),
        "a file invented": change(NAME, "@graph", of("./"), "hasPart", by=lambda parts: [*parts, {"@id": "more.json"}]),
        "a file without a description": drop(NAME, "@graph", of(part)),
        "no files": assign(NAME, "@graph", of("./"), "hasPart", to=[]),
        "an action left out": drop(NAME, "@graph", of(action)),
        "an action that failed": assign(NAME, "@graph", of(action), "actionStatus", to={"@id": "http://schema.org/FailedActionStatus"}),
        "no actions mentioned": assign(NAME, "@graph", of("./"), "mentions", to=[]),
        "another run": change(NAME, "@graph", of("./"), "name", by=lambda name: name + "x"),
        "another verdict": change(NAME, "@graph", of("./"), "description", by=lambda text: text + " Certified."),
        "published in another year": assign(NAME, "@graph", of("./"), "datePublished", to="2001-01-01T00:00:00+00:00"),
        "another licence": assign(NAME, "@graph", of("./"), "license", to={"@id": "https://example.org/none"}),
        "no root": drop(NAME, "@graph", of("./")),
        "no graph": drop(NAME, "@graph"),
        "another context": assign(NAME, "@context", to="https://example.org/context"),
    }  # fmt: skip
    for what, deed in deeds.items():
        yield made(what, deed)


def of(identifier: str) -> Callable[[Any], int]:
    return lambda graph: next(index for index, entity in enumerate(graph) if entity["@id"] == identifier)
