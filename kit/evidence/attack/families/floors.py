"""The noise floor: its rows calmed, its forms excused or left out, its band widened, its questions exchanged.

A forger puts quantiles and band right after touching rows (`follow`), and leaves them where they are what is forged.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from kit.evidence.attack.deeds import assign, change, double, drop, step_up, swap, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.refigure import CANNOT, floor_figures
from kit.evidence.attack.suspect import Content, Document, Suspect
from kit.evidence.audit.rules import FLOOR


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(FLOOR):
        return
    made = partial(Mutation, "floors", sealing="resealed", files=(FLOOR,))
    told = clean.json(FLOOR)
    n = chance.randrange(len(told["rows"]))
    form = chance.choice([form["name"] for form in told["forms"] if form["measured"]])
    for what, deed in of_a_row(told, n, form).items():
        yield made(what, together(deed, follow))
    for what, deed in {**of_the_forms(told), **of_the_document(), **of_the_figures(told, form)}.items():
        yield made(what, deed)
    for what, deed in of_the_forms(told).items():
        yield made(f"{what}, figures put right", together(deed, follow))


def follow(suspect: Suspect) -> None:
    """Quantiles and band as the rows now give them; a floor that gives none any more stays as the deed left it."""
    with suppress(*CANNOT):
        suspect.edit(FLOOR, floor_figures)


def of_a_row(told: Document, n: int, form: str) -> dict[str, Deed]:
    row = told["rows"][n]
    return {
        "a question of another name": assign(FLOOR, "rows", n, "question", to="another"),
        "another request": assign(FLOOR, "rows", n, "request", to="text-9999"),
        "another digest of a request": assign(FLOOR, "rows", n, "request_sha256", to="0" * 64),
        "another source": change(FLOOR, "rows", n, "source", by=lambda s: "protocol" if s == "generated" else "generated"),
        "another modality": change(FLOOR, "rows", n, "modality", by=lambda kind: "image" if kind == "text" else "text"),
        "another content": assign(FLOOR, "rows", n, "content", to="0123456789abcdef"),
        "a form of a row left out": drop(FLOOR, "rows", n, "forms", form),
        "a form nobody proved": assign(FLOOR, "rows", n, "forms", "luck", to=row["forms"][form]),
        "a negative change of a row": assign(FLOOR, "rows", n, "forms", form, "hidden", to=-1e-3),
        "a change of a row in words": assign(FLOOR, "rows", n, "forms", form, "hidden", to="little"),
        "an unmoved row with other logits": together(
            assign(FLOOR, "rows", n, "forms", form, "logits", to=step_up(row["logits"])),
            change(FLOOR, "rows", n, "forms", form, "hidden", by=lambda _: 0.0),
        ),
        "a logit missing under a form": change(FLOOR, "rows", n, "forms", form, "logits", by=lambda text: text[8:]),
        "a row dropped": drop(FLOOR, "rows", n),
        "a row twice": double(FLOOR, "rows", n),
        "two rows exchanged": swap(FLOOR, "rows", 0, other=len(told["rows"]) - 1),
        "no rows of generated questions": change(
            FLOOR, "rows", by=lambda rows: [row for row in rows if row["source"] == "protocol"]
        ),
        "no rows of the protocol": change(FLOOR, "rows", by=lambda rows: [row for row in rows if row["source"] != "protocol"]),
        "no rows": assign(FLOOR, "rows", to=[]),
    }


def of_the_forms(told: Document) -> dict[str, Deed]:
    """What was tried, and how it was proved."""
    last = len(told["forms"]) - 1
    return {
        "a form left out": drop(FLOOR, "forms", last),
        "a form more": change(FLOOR, "forms", by=lambda forms: [*forms, {**forms[0], "name": "luck"}]),
        "forms in another order": swap(FLOOR, "forms", 0, other=last),
        "a form that was not measured": assign(FLOOR, "forms", 0, "measured", to=False),
        "a proof that does not hold": assign(FLOOR, "forms", 0, "proof", "holds", to=False),
        "a form measured although its proof fails": together(
            assign(FLOOR, "forms", 0, "proof", "largest", to=0.5), assign(FLOOR, "forms", 0, "proof", "holds", to=False)
        ),
        "a wider bound of a proof": assign(FLOOR, "forms", 0, "proof", "bound", to=1.0),
        "a proof on no prompt": assign(FLOOR, "forms", 0, "proof", "prompts", to=0),
        "a proof with a negative change": assign(FLOOR, "forms", 0, "proof", "largest", to=-1.0),
        "a proof in words": assign(FLOOR, "forms", 0, "proof", "largest", to="tiny"),
    }


def of_the_document() -> dict[str, Deed]:
    """What the floor is of."""
    return {
        "a floor of another profile": assign(FLOOR, "profile_sha256", to="0" * 64),
        "a floor of another checkpoint": assign(FLOOR, "checkpoint_digest", to="0" * 64),
        "a floor at another temperature": change(FLOOR, "temperatures", "text", by=lambda t: t * 2),
        "a floor of another seed": change(FLOOR, "seed", by=lambda seed: seed + 1),
        "a floor of another generator": assign(FLOOR, "generator", to="kit-prompts/0"),
        "a floor of another format": assign(FLOOR, "format", to="kit-floor/0"),
        "a floor that says less of itself": drop(FLOOR, "says"),
        "a floor that says it widens gates": assign(FLOOR, "says", to="differences under this floor pass"),
        "a key nobody knows": assign(FLOOR, "note", to="quiet"),
    }


def of_the_figures(told: Document, form: str) -> dict[str, Deed]:
    """Quantiles and band beside rows that say otherwise."""
    group = next(iter(told["summary"][form]))
    return {
        "a louder band": change(FLOOR, "band", "text", "hidden", by=lambda x: x + 0.01),
        "a band left out": drop(FLOOR, "band", "text"),
        "no band": assign(FLOOR, "band", to={}),
        "a louder quantile": change(FLOOR, "summary", form, group, "hidden", "p99", "value", by=lambda x: x + 0.01),
        "a narrower interval": change(FLOOR, "summary", form, group, "hidden", "p99", "high", by=lambda x: x + 0.01),
        "more questions than rows": change(FLOOR, "summary", form, group, "questions", by=lambda n: n + 1),
        "flips that are not told": change(FLOOR, "summary", form, group, "flips", by=lambda n: n + 1),
        "a form left out of the figures": drop(FLOOR, "summary", form),
        "figures of a form that was not measured": assign(FLOOR, "summary", "luck", to=told["summary"][form]),
    }
