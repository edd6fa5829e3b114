"""Files added, removed, renamed, exchanged, or standing where they belong to nothing. Mostly re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import rename, write
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect

REMOVED = (
    "profile.toml", "environment.json", "checkpoint.json", "device.json", "sources.json", "counters.json", "drift.json",
    "performance.json", "operators.json", "signal.json", "source.tar.gz", "report.html", "audit.py",
    "records/autotune.json", "records/drills.jsonl", "records/label_head.bin", "records/performance_samples.json",
    "records/native/engine.json", "records/graph/worker.jsonl", "records/reference/exchanges.jsonl",
    "protocol/corpus.jsonl", "notebooks/08_drift.ipynb", "stages/07_faults.json", "stages/10_evidence.json",
)  # fmt: skip
ADDED = {
    "a record of nothing": "records/extra.jsonl",
    "an engine nobody asked for": "records/fast/exchanges.jsonl",
    "a second verdict": "verdict-old.json",
    "a verdict inside another folder": "records/verdict.json",
    "a hidden file": ".hidden",
    "a cache of bytecode": "__pycache__/audit.cpython-312.pyc",
    "a figure that is none": "figures/figure.svg",
    "a notebook of no stage": "notebooks/11_extra.ipynb",
    "a stage that does not exist": "stages/11_extra.json",
    "a body of nothing": "records/bodies/" + "0" * 64,
    "a row of nothing": "records/rows/" + "0" * 64,
    "a body with no digest for a name": "records/bodies/body",
    "a log in a folder": "logs/more/worker.log",
    "a packed bundle": "bundle.tar.gz",
    "a signature of another name": "SHA256SUMS.asc",
    "a module beside the auditor": "json.py",
}
EMPTY = ("empty", "records/empty", "records/bodies/" + "e" * 64, "stages/empty.json", "notebooks/.ipynb_checkpoints/x")


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "files")
    for name in filter(clean.has, REMOVED):
        yield made(f"{name} removed", removed(name), (name,), "resealed")
    for kind in ("records/bodies/", "records/rows/", "protocol/images/"):
        names = [name for name in clean.names() if name.startswith(kind)]
        if names:
            name = chance.choice(names)
            yield made(f"one of {kind} removed", removed(name), (name,))
            yield made(f"one of {kind} removed, re-sealed", removed(name), (name, "protocol"), "resealed")
    for what, name in ADDED.items():
        yield made(what, write(name, b"{}\n"), (named(name),), "resealed")
    for name in EMPTY:
        yield made(f"an empty {name}", write(name, b""), (named(name),), "resealed")
    yield made("an unlisted file", write("figures/more.png", b"x"), ("figures/more.png",))
    for old, new in (("operators.json", "operator.json"), ("verdict.json", "Verdict.json"), ("logs", "log")):
        if clean.has(old):
            yield made(f"{old} renamed", rename(old, new), (old, new), "resealed")
    yield made("a body under another digest", misnamed(clean, chance, "bodies"), ("records/bodies",), "resealed")
    yield made("a row under another digest", misnamed(clean, chance, "rows"), ("records/rows",), "resealed")


def named(name: str) -> str:
    """What a problem must name: a body or row gets the name of its content when it is re-sealed."""
    return next((kind for kind in ("records/bodies/", "records/rows/") if name.startswith(kind)), name)


def removed(name: str) -> Deed:
    return lambda suspect: suspect.remove(name)


def misnamed(clean: Content, chance: random.Random, kind: str) -> Deed:
    """One of the stored contents replaced by another; records go on naming both."""
    names = [name for name in clean.names() if name.startswith(f"records/{kind}/")]
    one, other = chance.sample(names, 2)

    def deed(suspect: Suspect) -> None:
        suspect.put(one, suspect.read(other))  # not remembered, so the re-sealer leaves the name alone

    return deed
