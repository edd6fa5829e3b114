"""Which tasks come next, decided from what the network gets right on samples it has never seen.

Covers: `Table`, the families' weights and top levels that workers share with the loop; `Curriculum`, the rule that moves
them. Every training sample is new, so the accuracy on training batches is an estimate on unseen samples of the train
split and costs nothing. Does not cover: drawing samples (`mixture`) or where the counts come from (`steps`).
"""

from __future__ import annotations

import multiprocessing.sharedctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kit.checkpoint.training.mixture import Mixture

FIRST = ("match", "lookup", "facts", "numbers")  # at level 0; the others join when these have begun, or with time
BEGUN = 0.75  # accuracy at level 0 of FIRST that lets the other texts in
CLIMB, LEAST = 0.85, 200  # accuracy at the top level that raises it, judged on so many samples
MEMORY = 0.7  # what remains of older counts at every update
JOINED_BY = 0.05  # of the phase's time
UNSEEN = 0.5  # the error that a level counts with before it is known
PUSHED = (0.5, 0.75)  # of the phase: between these every family is raised to its last level, ready or not
FLOOR, CAP = 0.04, 6.0  # weight = FLOOR + error; at most CAP times the smallest


Known = Mapping[str, Mapping[str, float]]  # accuracy by family and level, as an earlier run's results have it


def standing(known: Mapping[str, float], levels: int) -> int:
    """The level at which a family goes on: the first that is not known to let it climb, the last where all do."""
    return next((level for level in range(levels) if known.get(str(level), 0.0) <= CLIMB), levels - 1)


class Table:
    """What workers draw by: a weight and a top level a family, the phase, how often it was changed.

    Lies in shared memory, without a lock: a worker that reads between two writes draws one sample by a mixed table.
    """

    def __init__(self, families: Sequence[str]) -> None:
        self.families = tuple(families)
        self._shared: Any = multiprocessing.sharedctypes.RawArray("d", 2 + 2 * len(self.families))

    @property
    def _values(self) -> NDArray[np.float64]:
        return np.frombuffer(self._shared, dtype=np.float64)

    @property
    def version(self) -> int:
        return int(self._values[0])

    @property
    def phase(self) -> int:
        return int(self._values[1])

    def set_phase(self, phase: int) -> None:
        self._values[1] = phase
        self._values[0] += 1

    def write(self, weights: Mapping[str, float], tops: Mapping[str, int]) -> None:
        """A family left out has weight 0."""
        values = self._values
        count = len(self.families)
        values[2 : 2 + count] = [weights.get(name, 0.0) for name in self.families]
        values[2 + count :] = [tops.get(name, 0) for name in self.families]
        values[0] += 1

    def mixture(self, below: float) -> Mixture:
        """The table as the generator reads it: families of weight 0 are left out."""
        values = self._values.copy()
        count = len(self.families)
        weights = {n: float(w) for n, w in zip(self.families, values[2 : 2 + count], strict=True) if w > 0}
        tops = dict(zip(self.families, (int(top) for top in values[2 + count :]), strict=True))
        return Mixture(weights, {name: tops[name] for name in weights}, below)


@dataclass
class Curriculum:
    """The rule. levels: how many each family has. screens: the families with images. images, most_images: the least and the
    largest share of samples that are theirs; between them it is their share of the errors that remain."""

    levels: Mapping[str, int]
    screens: Sequence[str]
    images: float
    tops: dict[str, int]
    joined: set[str]
    seen: NDArray[np.float64]  # [families, most levels], fading
    right: NDArray[np.float64]
    fixed_weights: dict[str, float]  # set by hand
    most_images: float = 0.0

    @classmethod
    def begin(
        cls, levels: Mapping[str, int], screens: Sequence[str], images: float, known: Known | None = None, most_images: float = 0.0
    ) -> Curriculum:
        """FIRST at level 0. With `known`, for a network that has learned before: every family, each at its `standing`."""
        shape = (len(levels), max(levels.values()))
        tops = {name: 0 if known is None else standing(known.get(name, {}), count) for name, count in levels.items()}
        joined = {name for name in FIRST if name in levels} if known is None else set(levels)
        return cls(
            dict(levels),
            tuple(screens),
            images,
            tops,
            joined or set(levels),
            np.zeros(shape),
            np.zeros(shape),
            {},
            most_images,
        )

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(self.levels)

    def accuracy(self, family: str, level: int) -> float | None:
        """At a level, from the fading counts; None below LEAST / 4 samples."""
        row = self.families.index(family)
        seen = self.seen[row, level]
        return float(self.right[row, level] / seen) if seen >= LEAST / 4 else None

    def update(self, seen: NDArray[np.float64], right: NDArray[np.float64], fraction: float) -> list[str]:
        """Take in new counts [families, levels]; what changed, in words. fraction: of the phase's time gone by."""
        self.seen = self.seen * MEMORY + seen
        self.right = self.right * MEMORY + right
        return [*self._climb(), *self._push(fraction), *self._join(fraction)]

    def _climb(self) -> list[str]:
        changes = []
        for row, (family, count) in enumerate(self.levels.items()):
            top = self.tops[family]
            seen = self.seen[row, top]
            if top + 1 < count and seen >= LEAST and self.right[row, top] / seen > CLIMB:
                self.tops[family] = top + 1
                changes.append(f"{family} climbs to level {top + 1} at {self.right[row, top] / seen:.3f}")
        return changes

    def _push(self, fraction: float) -> list[str]:
        """The last level is judged as the others are: no family stays where it got stuck."""
        pushed = min(1.0, (fraction - PUSHED[0]) / (PUSHED[1] - PUSHED[0]))
        changes = []
        for family, count in self.levels.items():
            level = int(pushed * (count - 1))
            if level > self.tops[family]:
                self.tops[family] = level
                changes.append(f"{family} is raised to level {level}")
        return changes

    def _join(self, fraction: float) -> list[str]:
        first = [name for name in FIRST if name in self.levels]
        reached = [max(self.accuracy(name, 0) or 0.0, float(self.tops[name] > 0)) for name in first]
        begun = bool(reached) and min(reached) >= BEGUN
        others = set(self.levels) - self.joined
        if not others or not (begun or fraction >= JOINED_BY):
            return []
        self.joined |= others
        return [f"the others join at {fraction:.3f}: {', '.join(sorted(others))}"]

    def weights(self) -> dict[str, float]:
        """Of every family that has joined, sum 1: FLOOR plus the error that remains, screens together `share`."""
        errors = {name: self._error(name) for name in self.levels if name in self.joined}
        raw = {name: FLOOR + error for name, error in errors.items()}
        least = min(raw.values())
        raw = {name: self.fixed_weights.get(name, min(value, CAP * least)) for name, value in raw.items()}
        groups = [[n for n in raw if n not in self.screens], [n for n in raw if n in self.screens]]
        shares = [1.0 - self.share(), self.share()] if all(groups) else [1.0, 1.0]
        return {
            name: share * raw[name] / sum(raw[n] for n in group)
            for group, share in zip(groups, shares, strict=True)
            for name in group
        }

    def share(self) -> float:
        """Of samples with screens: the screens' part of what remains to be learned, within its bounds."""
        left = {name: self._left(name) for name in self.levels}
        wanted = sum(left[name] for name in self.screens) / max(sum(left.values()), 1e-9)
        return min(max(wanted, self.images), max(self.most_images, self.images))

    def _error(self, family: str) -> float:
        """The mean error over a family's levels up to its top, UNSEEN where it is not known."""
        return self._mean_error(family, self.tops[family] + 1)

    def _left(self, family: str) -> float:
        """The same over all its levels."""
        return self._mean_error(family, self.levels[family])

    def _mean_error(self, family: str, levels: int) -> float:
        known = [self.accuracy(family, level) for level in range(levels)]
        return sum(UNSEEN if value is None else 1.0 - value for value in known) / len(known)

    def table(self) -> dict[str, dict[str, float | int | None]]:
        """What a log line shows: weight, top level, accuracy at it."""
        weights = self.weights()
        shown: dict[str, dict[str, float | int | None]] = {}
        for name in self.levels:
            accuracy = self.accuracy(name, self.tops[name])
            rounded = None if accuracy is None else round(accuracy, 3)
            shown[name] = {
                "weight": round(weights.get(name, 0.0), 3),
                "top": self.tops[name],
                "accuracy": rounded,
            }
        return shown

    def state(self) -> dict[str, Any]:
        """As JSON, to go on from."""
        return {
            "tops": self.tops, "joined": sorted(self.joined), "seen": self.seen.tolist(), "right": self.right.tolist(),
            "fixed_weights": self.fixed_weights, "images": self.images,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        self.tops = {
            name: min(int(state["tops"].get(name, 0)), count - 1) for name, count in self.levels.items()
        }
        self.joined = set(state["joined"]) & set(self.levels)
        self.seen, self.right = np.array(state["seen"]), np.array(state["right"])
        self.fixed_weights, self.images = dict(state["fixed_weights"]), float(state["images"])
