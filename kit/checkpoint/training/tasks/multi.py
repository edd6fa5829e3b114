"""Multi: two to four questions of other families about one state that holds what each of them needs."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import facts, match, numbers, policy, route, score, triage
from kit.checkpoint.training.tasks.parts import Part, sample

SOURCES = {
    "numbers": (numbers.part, ("choice_note", "number", "pick")), "facts": (facts.part, ("record", "data", "entry")),
    "score": (score.part, ("report", "rating", "feedback")), "match": (match.part, ("title", "topic", "query")),
    "route": (route.part, ("user", "utterance", "request")), "triage": (triage.part, ("ticket", "case", "mail")),
    "policy": (policy.part, ("policy", "rule", "guard")),
}  # fmt: skip
NAMES = ("first", "second", "third", "fourth")


def make(rng: random.Random, split: Split, most: int = 10) -> Sample:
    """One sample of two questions or more; every question is about the part of the state named after it."""
    chosen = rng.sample(list(SOURCES), rng.choice((2, 2, 2, 3, 3, 4)))
    parts: dict[str, Part] = {}
    state: dict[str, object] = {}
    for name, family in zip(rng.sample(NAMES, len(chosen)), chosen, strict=True):
        make_part, keys = SOURCES[family]
        parts[name] = make_part(rng, split, min(most, 5))
        key = rng.choice(keys)
        state[key] = parts[name].state
        parts[name].question["instructions"] = _pointed(rng, key, parts[name].question["instructions"])
    return sample("multi", split, parts, state)


def _pointed(rng: random.Random, key: str, instructions: str) -> str:
    """The question with the part of the state it is about, said before or behind it."""
    return rng.choice((f"About the {key}: {instructions}", f"{instructions} (see {key})", f"{key}: {instructions}"))
