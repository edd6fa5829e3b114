"""drift.json: rows and figures edited, dropped, added, repeated; everything else re-sealed around them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, double, drop, first
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document, Suspect

NAME = "drift.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "figures", files=(NAME,), sealing="resealed")
    document = clean.json(NAME)
    count = len(document["rows"])
    here, pair = chance.randrange(count), chance.choice(list(document["worst"]))
    with_logits = next(i for i, row in enumerate(document["rows"]) if row["logits_equal"] is not None)
    deeds: dict[str, Deed] = {
        "a probability drift edited": change(NAME, "rows", here, "probability_drift", by=lambda x: x + 1e-6),
        "a probability drift as a text": change(NAME, "rows", here, "probability_drift", by=str),
        "a confidence drift edited": change(NAME, "rows", here, "confidence_drift", by=lambda x: x + 1e-6),
        "steps edited": assign(NAME, "rows", with_logits, "max_steps", to=1.0),
        "fewer steps detectable": assign(NAME, "rows", with_logits, "detectable_steps", to=0),
        "rows said to differ in bits": assign(NAME, "rows", with_logits, "hidden_equal", to=False),
        "bits not compared": assign(NAME, "rows", with_logits, "logits_equal", to=None),
        "a winner edited": assign(NAME, "rows", here, "winner", to="other"),
        "a larger margin": change(NAME, "rows", here, "reference_margin", by=lambda x: x / 2 + 0.4),
        "another lattice": assign(NAME, "rows", here, "lattice", to={"holds": True, "exponent": 20}),
        "another modality": change(NAME, "rows", here, "modality", by=lambda x: {"text": "image"}.get(x, "text")),
        "another type": assign(NAME, "rows", here, "type", to="essay"),
        "a figure left out": drop(NAME, "rows", here, "shape_same"),
        "a figure too many": assign(NAME, "rows", here, "oracle", to=0.0),
        "a row dropped": drop(NAME, "rows", here),
        "a row twice": double(NAME, "rows", here),
        "all rows dropped": assign(NAME, "rows", to=[]),
        "half of the rows dropped": change(NAME, "rows", by=lambda rows: rows[::2]),
        "a row of another question": change(NAME, "rows", here, "question", by=lambda x: x + "x"),
        "a row of another engine": assign(NAME, "rows", here, "engine", to="fast"),
        "a worst figure edited": assign(NAME, "worst", pair, "probability_drift", to=0.25),
        "a worst figure left out": drop(NAME, "worst", pair, "noul_drift"),
        "a comparison left out of the worst": drop(NAME, "worst", pair),
        "a comparison too many in the worst": assign(NAME, "worst", "fast/fresh", to={}),
        "comparisons said to be missing": assign(NAME, "missing", to=[{"engine": "native", "reason": "lost"}]),
        "another format": assign(NAME, "format", to="kit-drift/9"),
        "no format": drop(NAME, "format"),
        "a key nobody knows": assign(NAME, "note", to="all is well"),
        "two rows exchanged under their names": exchanged,
    }
    for what, deed in {**deeds, **in_steps(document["rows"], chance)}.items():
        yield made(what, deed)


def in_steps(rows: list[Document], chance: random.Random) -> dict[str, Deed]:
    """Where frozen answers are judged in steps: how far a row is off them, and whether it has room for the other bounds."""
    judged = [place for place, row in enumerate(rows) if "room" in row]
    if not judged:
        return {}
    here = chance.choice(judged)
    return {
        "steps off a frozen answer edited": change(NAME, "rows", here, "max_steps", by=lambda steps: steps + 0.5),
        "steps off a frozen answer left out": assign(NAME, "rows", here, "max_steps", to=None),
        "room given or taken": change(NAME, "rows", here, "room", by=lambda room: not room),
        "room not told": drop(NAME, "rows", here, "room"),
        "more steps before a bound breaks": assign(NAME, "rows", here, "detectable_steps", to=4096),
        "a fresh comparison without room": assign(NAME, "rows", first(against="fresh"), "room", to=False),
    }


def exchanged(suspect: Suspect) -> None:
    """Figures of two rows that differ exchanged, their names kept."""

    def edit(document: Document) -> None:
        rows = document["rows"]
        names = ("engine", "against", "request", "question")
        one = rows[0]
        other = next(row for row in rows if row["reference_margin"] != one["reference_margin"])
        figures = [{key: value for key, value in row.items() if key not in names} for row in (one, other)]
        one.update(figures[1])
        other.update(figures[0])

    suspect.edit(NAME, edit)
