"""Multi: two to four questions of other families about one state that holds what each of them needs."""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import facts, lookup, match, numbers, policy, route, score, triage
from kit.checkpoint.training.tasks.parts import Part, sample

LEVELS = 3
SOURCES = {
    "numbers": (numbers, ("choice_note", "number", "pick")), "facts": (facts, ("record", "data", "entry")),
    "score": (score, ("report", "rating", "feedback")), "match": (match, ("title", "topic", "query")),
    "route": (route, ("user", "utterance", "request")), "triage": (triage, ("ticket", "case", "mail")),
    "policy": (policy, ("policy", "rule", "guard")), "lookup": (lookup, ("table", "list", "card")),
}  # fmt: skip
NAMES = ("first", "second", "third", "fourth")


def make(rng: random.Random, split: Split, level: int = LEVELS - 1) -> Sample:
    """0: two easy questions; 1: two or three; 2: to four. Every question is about the part of the state named after it."""
    chosen = rng.sample(list(SOURCES), rng.choice(((2,), (2, 2, 3), (2, 2, 2, 3, 3, 4))[level]))
    parts: dict[str, Part] = {}
    state: dict[str, object] = {}
    for name, family in zip(rng.sample(NAMES, len(chosen)), chosen, strict=True):
        module, keys = SOURCES[family]
        parts[name] = module.part(rng, split, min(level + 1, 3 if len(chosen) < 4 else 2, module.LEVELS - 1))
        key = rng.choice(keys)
        state[key] = parts[name].state
        parts[name].question["instructions"] = _pointed(rng, key, parts[name].question["instructions"])
    return sample("multi", split, level, parts, state)


def _pointed(rng: random.Random, key: str, instructions: str) -> str:
    """The question with the part of the state it is about, said before or behind it."""
    return rng.choice((f"About the {key}: {instructions}", f"{instructions} (see {key})", f"{key}: {instructions}"))
