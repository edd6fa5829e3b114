"""Which family comes next, and how hard: a table of weights and levels that may change while training runs.

Covers: `Mixture`, single samples by number, and `stream`, an endless and repeatable walk through one split.
Does not cover: who changes the table, or batches.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kit.checkpoint.training.samples import Sample, Split, seeded
from kit.checkpoint.training.tasks import FAMILIES, LEVELS, SCREENS, TEXT

BELOW = 0.3  # the share of samples from levels under a family's top


@dataclass(frozen=True)
class Mixture:
    """weights: by family, any sum. top: the level a family has reached, from 0. below: drawn under it, evenly.

    Raises ValueError for an unknown family or a level it does not have.
    """

    weights: Mapping[str, float]
    top: Mapping[str, int]
    below: float = BELOW

    def __post_init__(self) -> None:
        for family in self.weights:
            if family not in LEVELS:
                raise ValueError(f"no family {family!r}; there are {', '.join(LEVELS)}")
            if not 0 <= self.top.get(family, -1) < LEVELS[family]:
                raise ValueError(f"{family} has levels 0 to {LEVELS[family] - 1}, not {self.top.get(family)}")

    def draw(self, rng: random.Random) -> tuple[str, int]:
        """A family by weight, and its level."""
        (family,) = rng.choices(list(self.weights), list(self.weights.values()))
        top = self.top[family]
        return family, rng.randrange(top) if top and rng.random() < self.below else top


WEIGHTS = {
    "match": 5.0, "facts": 5.0, "lookup": 3.0, "numbers": 3.0, "score": 2.0, "route": 4.0, "triage": 2.0, "policy": 3.0,
    "multi": 1.0, "special": 1.0, "lingual": 2.0, "document": 4.0, "amid": 3.0,
    "console": 2.0, "form": 1.5, "dialog": 1.5, "count": 2.0, "which_image": 1.0, "chart": 1.5, "beside": 2.0,
}  # fmt: skip
FULL = Mixture(WEIGHTS, {family: LEVELS[family] - 1 for family in WEIGHTS})
CORPUS = Mixture(dict.fromkeys(TEXT, 1.0) | dict.fromkeys(SCREENS, 0.15), FULL.top)  # for the tokenizer

__all__ = ["CORPUS", "FAMILIES", "FULL", "LEVELS", "SCREENS", "TEXT", "WEIGHTS", "Mixture", "drawn", "stream"]


def drawn(family: str, split: Split, index: int, level: int | None = None) -> Sample:
    """Sample number `index` of a family's split at a level, the hardest by default."""
    at = LEVELS[family] - 1 if level is None else level
    return FAMILIES[family](seeded(family, split, index, at), split, at)


def stream(
    split: Split, seed: int, table: Callable[[], Mixture], start: int = 0, step: int = 1
) -> Iterator[Sample]:
    """Samples number start, start + step, ... of a split, the table asked before each; the same tables give the same.

    Several workers share a stream by start = rank, step = workers.
    """
    for index in itertools.count(start, step):
        family, level = table().draw(random.Random(f"{split}/{seed}/{index}"))
        yield drawn(family, split, seed * 10**9 + index, level)
