"""Which family comes next: a curriculum of stages, each with its own weights and its most candidates.

Covers: STAGES, and `stream`, an endless and repeatable walk through one split. Does not cover: batches.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

from kit.checkpoint.training.samples import Sample, Split, seeded
from kit.checkpoint.training.tasks import FAMILIES, SCREENS, TEXT


@dataclass(frozen=True)
class Stage:
    """most: candidates at most (as far as a family has that many). weights: by family, any sum."""

    most: int
    weights: dict[str, float]


STAGES: dict[str, Stage] = {
    # Copying first: a model that matches a phrase between two candidates learns the rest much faster.
    "copy": Stage(2, {"match": 6, "facts": 2, "numbers": 2, "special": 1, "lingual": 1, "route": 1}),
    "few": Stage(4, {
        "match": 4, "facts": 3, "numbers": 2, "score": 2, "route": 3, "triage": 1, "policy": 1, "special": 1, "lingual": 2, "multi": 1,
    }),
    "ten": Stage(10, {
        "match": 4, "facts": 3, "numbers": 2, "score": 2, "route": 4, "triage": 2, "policy": 2, "special": 1, "lingual": 2, "multi": 1,
    }),
    "screens": Stage(10, dict.fromkeys(SCREENS, 1.0)),
    "all": Stage(32, {
        "match": 5, "facts": 3, "numbers": 2, "score": 2, "route": 4, "triage": 2, "policy": 2, "special": 1, "lingual": 2, "multi": 1,
        "console": 2, "form": 1.5, "dialog": 1.5, "count": 2, "which_image": 1.5, "chart": 1.5,
    }),
    "text": Stage(32, dict.fromkeys(TEXT, 1.0)),
    "even": Stage(32, dict.fromkeys(FAMILIES, 1.0)),
}  # fmt: skip


def stream(split: Split, seed: int, stage: str, start: int = 0, step: int = 1) -> Iterator[Sample]:
    """Samples number start, start + step, ... of a split; the same arguments give the same ones.

    Several workers share a stream by start = rank, step = workers. Raises KeyError for an unknown stage.
    """
    chosen = STAGES[stage]
    names, weights = list(chosen.weights), list(chosen.weights.values())
    for index in itertools.count(start, step):
        (family,) = random.Random(f"{stage}/{split}/{seed}/{index}").choices(names, weights)
        yield drawn(family, split, seed * 10**9 + index, chosen.most)


def drawn(family: str, split: Split, index: int, most: int = 32) -> Sample:
    """Sample number `index` of a family's split."""
    return FAMILIES[family](seeded(family, split, index), split, most)
