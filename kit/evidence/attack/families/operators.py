"""operators.json: comparisons with the reference's ops edited, dropped, invented or shrunk; all re-sealed."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, double, drop, first
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.refigure import operator_totals
from kit.evidence.attack.suspect import Content, Document, Suspect

NAME = "operators.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(NAME):
        return
    made = partial(Mutation, "operators", files=(NAME,), sealing="resealed")
    document = clean.json(NAME)
    checks = document["checks"]
    here = chance.randrange(len(checks))
    replayed = next(i for i, check in enumerate(checks) if check["replays"])
    op = chance.choice(sorted({check["op"] for check in checks}))
    deeds: dict[str, Deed] = {
        "a difference": counted(here, "different", 1),
        "no numbers": counted(here, "nan", 5),
        "a difference on other inputs": counted(here, "changed_different", 2),
        "a replay that differs": counted(replayed, "replay_different", 3),
        "a run that differs from the last": counted(here, "repeats_different", 4),
        "a difference below nothing": counted(here, "different", -1),
        "half a difference": assign(NAME, "checks", here, "different", to=0.5),
        "a distance without a difference": assign(NAME, "checks", here, "max_abs", to=0.5),
        "never replayed": assign(NAME, "checks", replayed, "replays", to=0),
        "run once": assign(NAME, "checks", here, "repeats", to=1),
        "no element compared": assign(NAME, "checks", here, "elements", to=0),
        "elements that its shape does not have": change(NAME, "checks", here, "elements", by=lambda n: n + 1),
        "a million elements more": change(NAME, "checks", here, "elements", by=lambda n: n + 10**6),
        "a shape that is none": assign(NAME, "checks", here, "shape", to="large"),
        "compared with itself": assign(NAME, "checks", here, "against", to="kit.kernels.rms_norm.rms_norm"),
        "compared with nothing": assign(NAME, "checks", here, "against", to=""),
        "an op under another name": assign(NAME, "checks", here, "op", to="other"),
        f"{op} not compared": change(NAME, "checks", by=lambda found: [c for c in found if c["op"] != op]),
        "the label head not compared": change(NAME, "checks", by=lambda found: [c for c in found if c["op"] != "label_head"]),
        "nothing compared": assign(NAME, "checks", to=[]),
        "one check an op": change(NAME, "checks", by=one_each),
        "an op less in the table": change(NAME, "ops", by=lambda ops: ops[1:]),
        "an op too many in the table": change(NAME, "ops", by=lambda ops: [*ops, "other"]),
        "of another device": change(NAME, "device", by=lambda d: "cuda" if d == "cpu" else "cpu"),
        "in another dtype": assign(NAME, "dtype", to="float64"),
        "another seed": change(NAME, "seed", by=str),
        "a key nobody knows in a check": assign(NAME, "checks", here, "waived", to=True),
        "a check without a count": drop(NAME, "checks", here, "nan"),
        "totals of more elements": together_totals(10**9),
        "no totals": drop(NAME, "totals"),
        "another format": assign(NAME, "format", to="kit-operators/9"),
        "a check twice": double(NAME, "checks", here),
    }
    for what, deed in deeds.items():
        yield made(what, deed if "totals" in what else with_totals(deed))
    if document["proofs"]:
        proof = first(choice="kernel")
        yield made("a kernel used against its proof", assign(NAME, "proofs", proof, "different", to=1))
        yield made("a kernel proven on nothing", assign(NAME, "proofs", proof, "elements", to=0))
        yield made("no proofs", assign(NAME, "proofs", to=[]))
        yield made("a proof left out", drop(NAME, "proofs", proof))
        yield made("a proof of an op nobody knows", assign(NAME, "proofs", proof, "op", to="other"))


def with_totals(deed: Deed) -> Deed:
    """A deed, and the totals put right after it where they still can be."""

    def both(suspect: Suspect) -> None:
        deed(suspect)
        suspect.written.discard(NAME)
        with contextlib.suppress(LookupError, TypeError):
            operator_totals(suspect)
        suspect.written.add(NAME)

    return both


def counted(index: int, name: str, amount: int) -> Deed:
    return assign(NAME, "checks", index, name, to=amount)


def one_each(checks: list[Document]) -> list[Document]:
    """The first check of each op alone."""
    return list({check["op"]: check for check in reversed(checks)}.values())


def together_totals(elements: int) -> Deed:
    return change(NAME, "totals", "elements", by=lambda n: n + elements)
