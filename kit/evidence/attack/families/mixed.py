"""Two runs made one: parts of another run put in place of this one's; re-sealed.

The other run is made from this one, which is what a second campaign on the same machine would look like: other times,
other ids, the same answers. What a run's parts have in common (its id, its clock, its weights) must tell them apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from kit.evidence.attack.deeds import change
from kit.evidence.attack.families.clocks import shifted
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document, Suspect


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "mixed", sealing="resealed")
    for engine in clean.engines():
        days = timedelta(days=3)
        yield made(f"{engine} of a run three days later", shifted(engine, days), (f"records/{engine}", "run.json"))
        yield made(f"{engine} of another run by its header", of_run(f"records/{engine}/exchanges.jsonl"), (f"records/{engine}",))
    for name in ("notebooks/03_reference.ipynb", "notebooks/08_drift.ipynb"):
        yield made(f"{name} of another run", other_notebook(name), (name, name.replace("notebooks", "stages")))
    for name in ("stages/04_native_eager.json", "stages/05_native_graph.json"):
        if clean.has(name):
            yield made(f"{name} of another run", change(name, "parameters", "run_dir", by=lambda _: "another-run"), (name, "notebooks/"))
    yield made("the verdict of another run", lambda s: s.edit("verdict.json", lambda d: d.update(run="other")), ("verdict.json",))
    if clean.has("records/drills.jsonl"):
        yield made("the drills of another run", of_run("records/drills.jsonl"), ("records/drills.jsonl",))
    yield made("all but the records of another run", other_id, ("records/",))


def of_run(name: str) -> Deed:
    return lambda suspect: suspect.edit_lines(name, lambda lines: lines[0].update(run="another-run"))


def elsewhere(document: Document) -> None:
    document["parameters"]["run_dir"] = "another-run"


def other_notebook(name: str) -> Deed:
    """A notebook and its stage result, both of another run."""

    def deed(suspect: Suspect) -> None:
        run = suspect.json("run.json")["id"]
        suspect.substitute(name, run, "another-run")
        stage = name.replace("notebooks", "stages").replace(".ipynb", ".json")
        suspect.edit(stage, elsewhere)

    return deed


def other_id(suspect: Suspect) -> None:
    """Everything but the records under another run's id."""
    run = suspect.json("run.json")["id"]
    for name in suspect.names():
        if name.startswith(("notebooks/", "stages/", "run.json", "verdict.json")) and run.encode() in suspect.read(name):
            suspect.substitute(name, run, "another-run")
