"""Planted faults: counts bent, tiers and sums told otherwise, faults and controls left out, repeated or renamed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import add, assign, change, double, drop, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.refigure import CANNOT, fault_figures
from kit.evidence.attack.suspect import Content, Document, Suspect
from kit.evidence.audit.rules import FAULTS

KEPT = 20  # faults or controls: fewer than a table has at least


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(FAULTS):
        return
    made = partial(Mutation, "planted", sealing="resealed", files=(FAULTS,))
    told = clean.json(FAULTS)
    n, c = chance.randrange(len(told["faults"])), chance.randrange(len(told["controls"]))
    for what, deed in {**of_a_dose(n), **of_a_control(c), **of_the_lists(told, n, c)}.items():
        yield made(what, together(deed, follow))
    for what, deed in {**of_the_document(), **of_the_figures(n, c)}.items():
        yield made(what, deed)


def follow(suspect: Suspect) -> None:
    """Tiers and sums, as the counts now give them; a table that gives none any more stays as the deed left it."""
    with suppress(*CANNOT):
        suspect.edit(FAULTS, fault_figures)


def of_a_dose(n: int) -> dict[str, Deed]:
    dose: tuple[Any, ...] = ("faults", n, "doses", -1)
    bitwise: tuple[Any, ...] = (*dose, "columns", "bitwise")
    return {
        "a fault no bit saw": together(assign(FAULTS, *bitwise, "count", to=0), assign(FAULTS, *bitwise, "first", to=None)),
        "a fault no tier saw": change(FAULTS, *dose, "columns", by=blind),
        "more seen than compared": change(FAULTS, *bitwise, "count", by=lambda count: count + 10**6),
        "half a count": assign(FAULTS, *bitwise, "count", to=0.5),
        "a count without a first": assign(FAULTS, *bitwise, "first", to=None),
        "a worst in words": assign(FAULTS, *bitwise, "worst", to="bad"),
        "a column left out": drop(FAULTS, *dose, "columns", "lattice"),
        "a column more": assign(FAULTS, *dose, "columns", "taste", to={"count": 1, "of": 1, "worst": None, "first": "x"}),
        "a second look at what was seen": together(
            change(FAULTS, *dose, "columns", by=over_http), assign(FAULTS, *dose, "also_over_http", to=["another"])
        ),
    }


def blind(columns: Document) -> Document:
    """Nothing seen in any column."""
    return {name: {**column, "count": 0, "first": None} for name, column in columns.items()}


def over_http(columns: Document) -> Document:
    """Seen by a gate on probabilities."""
    return {**columns, "gates": {**columns["gates"], "count": 1, "of": max(1, columns["gates"]["of"]), "first": "a question"}}


def of_a_control(c: int) -> dict[str, Deed]:
    gates: tuple[Any, ...] = ("controls", c, "columns", "gates")
    return {
        "a harmless change that was seen": together(
            assign(FAULTS, *gates, "count", to=1), assign(FAULTS, *gates, "first", to="a question")
        ),
        "a control that compares nothing": assign(FAULTS, *gates, "of", to=0),
        "a control nobody was asked about": assign(FAULTS, "controls", c, "asked", to=[]),
        "a control that may round after all": change(FAULTS, "controls", c, "rounding", by=lambda told: "yes" if told else "a bit"),
    }


def of_the_lists(told: Document, n: int, c: int) -> dict[str, Deed]:
    return {
        "a fault twice": double(FAULTS, "faults", n),
        "a control twice": double(FAULTS, "controls", c),
        "fewer faults than a table has": change(FAULTS, "faults", by=lambda faults: faults[:KEPT]),
        "fewer controls than a table has": change(FAULTS, "controls", by=lambda controls: controls[:KEPT]),
        "a fault without doses": assign(FAULTS, "faults", n, "doses", to=[]),
        "a dose twice": change(FAULTS, "faults", n, "doses", by=lambda doses: [*doses, doses[0]]),
        "a fault by a control's name": assign(FAULTS, "faults", n, "name", to=told["controls"][c]["name"]),
        "no faults": assign(FAULTS, "faults", to=[]),
        "no controls": assign(FAULTS, "controls", to=[]),
    }


def of_the_document() -> dict[str, Deed]:
    return {
        "a table of another profile": assign(FAULTS, "profile_sha256", to="0" * 64),
        "a table of another protocol": assign(FAULTS, "protocol_sha256", to="0" * 64),
        "a table of other sources": assign(FAULTS, "sources_sha256", to="0" * 64),
        "a table of another checkpoint": assign(FAULTS, "checkpoint_digest", to="0" * 64),
        "a table made quickly": assign(FAULTS, "quick", to=True),
        "a request left out that there is none": add(FAULTS, "left_out", item="another"),
        "no bound on steps": assign(FAULTS, "steps_bound", "text", to=None),
        "another format": assign(FAULTS, "format", to="kit-faults/0"),
        "a key nobody knows": assign(FAULTS, "note", to="all caught"),
        "another rule": assign(FAULTS, "rules", "bits", to="nearly equal"),
        "a column's name left out": change(FAULTS, "columns", by=lambda names: names[:-1]),
    }


def of_the_figures(n: int, c: int) -> dict[str, Deed]:
    return {
        "one fault more caught": change(FAULTS, "summary", "caught", by=lambda n: n + 1),
        "one fault more over HTTP": change(FAULTS, "summary", "tiers", "http", "faults", by=lambda n: n + 1),
        "a miss that is not told": change(FAULTS, "summary", "missed", "http", by=lambda names: names[1:]),
        "a miss more": add(FAULTS, "summary", "missed", "bits", item="another"),
        "a false alarm that was none": change(FAULTS, "summary", "false_alarms", by=lambda n: n + 1),
        "a sum nobody makes": assign(FAULTS, "summary", "rate", to=1.0),
        "a sum left out": drop(FAULTS, "summary", "doses"),
        "a tier that saw what it did not": change(FAULTS, "faults", n, "doses", 0, "tiers", "http", by=lambda seen: not seen),
        "a fault seen otherwise": change(FAULTS, "faults", n, "seen", "http", by=lambda seen: not seen),
        "a smaller dose": assign(FAULTS, "faults", n, "smallest", "bits", to="none at all"),
        "an alarm nobody raised": add(FAULTS, "controls", c, "alarms", item="http"),
    }
