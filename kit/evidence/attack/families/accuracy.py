"""Right answers other than the records give: raised, their wrong ones hidden, or told of a profile that judges none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content

DRIFT, VERDICT = "drift.json", "verdict.json"
BOAST = {"engine": "graph", "correct": 9, "of": 9, "requests_right": 7, "requests": 7}


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "accuracy", sealing="resealed")
    told = clean.json(DRIFT).get("accuracy")
    if told is None:
        nothing = {"requests": 7, "questions": 9, "passes": [], "mcnemar": [], "reliability": []}
        yield made("right answers of a profile that judges none", assign(VERDICT, "accuracy", to=BOAST), files=(VERDICT,))
        yield made("an empty account of right answers", assign(DRIFT, "accuracy", to=nothing), files=(DRIFT,))
        return
    here = ("accuracy", "passes", chance.randrange(len(told["passes"])))
    engine = ("accuracy", "reliability", chance.randrange(len(told["reliability"])))
    pair = ("accuracy", "mcnemar", 0)
    deeds: dict[str, Deed] = {
        "one right answer more": change(DRIFT, *here, "correct", by=lambda n: n + 1),
        "one request more that is right": change(DRIFT, *here, "requests_right", by=lambda n: n + 1),
        "of fewer questions": change(DRIFT, *here, "of", by=lambda n: n - 1),
        "a pass left out": drop(DRIFT, *here),
        "a right answer of no number": assign(DRIFT, *here, "correct", to="all"),
        "answers lost and not told": assign(DRIFT, *pair, "lost", to=told["mcnemar"][0]["lost"] + 1),
        "a test that found a difference": assign(DRIFT, *pair, "p", to=0.01),
        "a smaller calibration error": change(DRIFT, *engine, "ece", by=lambda x: x / 2),
        "surer answers": change(DRIFT, *engine, "bins", 0, "confidence", by=lambda x: x + 0.01),
        "no bins": assign(DRIFT, *engine, "bins", to=[]),
        "right answers left out": drop(DRIFT, "accuracy"),
        "right answers said to be unknown": assign(DRIFT, "accuracy", to=None),
    }
    if told["passes"][here[2]]["wrong"]:
        deeds |= {
            "a wrong answer hidden": drop(DRIFT, *here, "wrong", 0),
            "a wrong answer said to be near": assign(DRIFT, *here, "wrong", 0, "margin", to=0.001),
            "another answer expected": assign(DRIFT, *here, "wrong", 0, "expected", to="other"),
            "a wrong answer hidden and counted as right": together(
                drop(DRIFT, *here, "wrong", 0), change(DRIFT, *here, "correct", by=lambda n: n + 1)
            ),
        }
    for what, deed in deeds.items():
        yield made(what, deed, files=(DRIFT,))
    yield made("a headline with one more right", change(VERDICT, "accuracy", "correct", by=lambda n: n + 1), files=(VERDICT,))
    yield made("a headline of another engine", assign(VERDICT, "accuracy", "engine", to="native"), files=(VERDICT,))
    yield made("a headline left out", drop(VERDICT, "accuracy"), files=(VERDICT,))
