"""records/autotune.json and the environment's word of it: winners, digests, repeats; all re-sealed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import assign, change, drop
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Document, Suspect
from kit.evidence.audit.values import digest_of

NAME = "records/autotune.json"
INVENTED = {"kernel": "fla.other", "key": [1, 2], "config": {"kwargs": {}, "num_warps": 4}}


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    ledger = clean.json(NAME)
    made = partial(Mutation, "tuning", files=(NAME, "environment.json", "records/"), sealing="resealed")
    deeds: dict[str, Deed] = {
        "a winner invented": drawn(lambda winners: [*winners, INVENTED]),
        "another source": assign(NAME, "source", to="chosen"),
        "repeats that differed": assign(NAME, "repeats", "different", to=3),
        "nothing repeated": assign(NAME, "repeats", to={"calls": 0, "lengths": 0, "different": 0}),
        "another digest": assign(NAME, "digest", to="0" * 64),
        "no winners said": drop(NAME, "winners"),
        "another format": assign(NAME, "format", to="kit-autotune/9"),
        "another draw in the environment": assign("environment.json", "autotune", "digest", to="0" * 64),
        "no draw in the environment": drop("environment.json", "autotune"),
        "lengths nobody sent": assign(NAME, "lengths", to=[1, 2, 3]),
    }
    if ledger["winners"]:
        here = chance.randrange(len(ledger["winners"]))
        deeds |= {
            "a winner left out": drawn(lambda winners: winners[1:]),
            "no winner left": drawn(lambda winners: []),
            "a winner twice": drawn(lambda winners: [winners[0], *winners]),
            "a winner of no configuration": assign(NAME, "winners", here, "config", to={}),
            "another configuration, digest left": assign(NAME, "winners", here, "config", "num_warps", to=32),
            "no lengths": assign(NAME, "lengths", to=[]),
            "heads of another model": change(NAME, "heads", by=lambda heads: {**heads, "key_heads": 1}),
        }
    for what, deed in deeds.items():
        yield made(what, deed)


def drawn(change_winners: Any) -> Deed:
    """Other winners under their own digest, told alike by the environment but not by the engines."""

    def deed(suspect: Suspect) -> None:
        def edit(document: Document) -> None:
            document["winners"] = change_winners(document["winners"])
            ordered = sorted(document["winners"], key=lambda winner: (winner["kernel"], str(winner["key"])))
            document["digest"] = digest_of(ordered)

        suspect.edit(NAME, edit)
        ledger = suspect.json(NAME)
        told = {name: ledger[name] for name in ("source", "digest", "winners")}
        suspect.edit("environment.json", lambda document: document.update(autotune=told))

    return deed
