"""verdict.json: gates, counts, scope and headline other than the records give; everything else re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import add, assign, change, double, drop, first, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document

NAME = "verdict.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "gates", files=(NAME,), sealing="resealed")
    verdict = clean.json(NAME)
    for gate in sorted({gate["gate"] for gate in verdict["gates"]}):
        yield made(f"{gate} left out", drop(NAME, "gates", first(gate=gate)))
    here = chance.randrange(len(verdict["gates"]))
    pair = chance.choice(list(verdict["drift"]))
    deeds: dict[str, Deed] = {
        "a gate said to have failed": assign(NAME, "gates", here, "passed", to=False),
        "a gate that passed by a word": assign(NAME, "gates", here, "passed", to="yes"),
        "a value edited": assign(NAME, "gates", here, "value", to=0.001),
        "a value left out": drop(NAME, "gates", here, "value"),
        "a bound widened": assign(NAME, "gates", first(gate="probability"), "bound", to=0.2),
        "a count bound widened": assign(NAME, "gates", first(gate="winner"), "bound", to=5),
        "a gate renamed": assign(NAME, "gates", here, "gate", to="harmless"),
        "a gate of another engine": assign(NAME, "gates", here, "engine", to="fast"),
        "a gate twice": double(NAME, "gates", here),
        "a gate invented": add(NAME, "gates", item={
            "gate": "faster", "engine": "graph", "against": None, "passed": True, "value": 2, "bound": 1, "detail": "",
        }),
        "no gates": assign(NAME, "gates", to=[]),
        "a detail that boasts": assign(NAME, "gates", here, "detail", to="0 differences in 1,000,000 answers"),
        "a key nobody knows": assign(NAME, "certified", to=True),
        "a key nobody knows in a gate": assign(NAME, "gates", here, "waived", to=True),
        "said to fail": assign(NAME, "verdict", to="fail"),
        "another word for pass": assign(NAME, "verdict", to="PASS"),
        "failures that are none": assign(NAME, "failures", to=["probability"]),
        "a stronger claim": change(NAME, "claim", by=lambda claim: "faithful" if claim == "exact" else "exact"),
        "a wider scope": change(NAME, "scope", by=lambda scope: scope + "; judged against production traffic"),
        "no scope": assign(NAME, "scope", to=""),
        "nothing left uncovered": assign(NAME, "not_covered", to=[]),
        "one thing less uncovered": drop(NAME, "not_covered", -1),
        "of another run": assign(NAME, "run", to="another-run"),
        "of another profile": assign(NAME, "profile", to="jemm-27b"),
        "more requests": change(NAME, "counts", "requests", by=lambda n: n + 1),
        "more questions": assign(NAME, "counts", "questions", to=3000),
        "more posts": change(NAME, "counts", "posts", by=lambda n: n + 1),
        "fewer refusals": change(NAME, "counts", "rejected", by=lambda n: n - 1),
        "posts of an engine moved": together(
            change(NAME, "counts", "by_engine", "native", by=lambda n: n - 1),
            change(NAME, "counts", "by_engine", "graph", by=lambda n: n + 1),
        ),
        "an engine too many counted": assign(NAME, "counts", "by_engine", "fast", to=0),
        "a count left out": drop(NAME, "counts", "ok"),
        "a headline of half the drift": assign(NAME, "max_probability_drift", to=-1.0),
        "a headline that is no number": assign(NAME, "max_probability_drift", to="0.0"),
        "a headline of nothing": assign(NAME, "max_probability_drift", to=None),
        "drift of a comparison edited": assign(NAME, "drift", pair, "probability", to=0.5),
        "drift of a comparison left out": drop(NAME, "drift", pair),
        "judged against more": change(NAME, "against", by=lambda kinds: [*kinds, "published"]),
        "another format": assign(NAME, "format", to="kit-verdict/9"),
        "a format that is none": assign(NAME, "format", to="verdict"),
    }  # fmt: skip
    for what, deed in {**deeds, **in_steps(verdict["gates"], chance)}.items():
        yield made(what, deed)


def in_steps(gates: list[Document], chance: random.Random) -> dict[str, Deed]:
    """Where frozen answers are judged in steps: the outcome, the bound, and who is left out of the other bounds."""
    engines = [gate["engine"] for gate in gates if gate["gate"] == "frozen_steps"]
    if not engines:
        return {}
    here = ("gates", first(gate="frozen_steps", engine=chance.choice(engines)))
    return {
        "steps off the frozen answers edited": change(NAME, *here, "value", by=lambda steps: steps + 0.5),
        "more steps off the frozen answers allowed": change(NAME, *here, "bound", by=lambda bound: bound * 2),
        "questions without room not named": change(NAME, *here, "detail", by=lambda told: told.partition("; without room")[0]),
        "a question more without room": change(NAME, *here, "detail", by=lambda told: f"{told}, another/question"),
    }
