"""A hand on a run that goes on: control.json in its folder, read at every evaluation.

Covers: weights and top levels set by hand, a factor on the rate, the least share of images, the end of a phase. Every
use is logged. Does not cover: anything that would change the network.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.checkpoint.training.curriculum import Curriculum

KEYS = {"weights", "tops", "rate", "images", "end_phase"}


@dataclass
class Control:
    """path: of control.json. rate: the factor in force."""

    path: Path
    rate: float = 1.0
    end_phase: bool = False
    _read: str = field(default="", repr=False)

    def read(self, curriculum: Curriculum) -> dict[str, Any] | None:
        """Apply the file where it is new; what was applied, or None. What cannot be used is said under "refused".

        weights: over 0, by family, in place of FLOOR plus error, kept until the file says {}. tops: levels by family.
        A file of which one part cannot be used changes nothing.
        """
        if not self.path.is_file():
            return None
        text = self.path.read_text()
        if text == self._read:
            return None
        self._read = text
        try:
            wanted = json.loads(text)
            unknown = set(wanted) - KEYS
            if unknown:
                return {"refused": f"unknown keys {sorted(unknown)}; there are {sorted(KEYS)}"}
            self._apply(wanted, curriculum)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return {"refused": f"{type(error).__name__}: {error}"}
        return dict(wanted)

    def _apply(self, wanted: dict[str, Any], curriculum: Curriculum) -> None:
        weights = {name: float(value) for name, value in wanted.get("weights", {}).items()}
        tops = {name: int(level) for name, level in wanted.get("tops", {}).items()}
        rate, images = float(wanted.get("rate", self.rate)), float(wanted.get("images", curriculum.images))
        strangers = {*weights, *tops} - set(curriculum.levels)
        if strangers:
            raise ValueError(f"no such families: {sorted(strangers)}")
        if not all(0 < value < math.inf for value in (rate, *weights.values())):
            raise ValueError("rate and weights must be over 0: a family can be made rare, not left out")
        if not 0 <= images <= 1:
            raise ValueError(f"images is {images}, expected a share of 0 to 1")
        for name, level in tops.items():
            curriculum.tops[name] = min(max(level, 0), curriculum.levels[name] - 1)
        if "weights" in wanted:
            curriculum.fixed_weights = weights
        curriculum.joined |= {*weights, *tops}
        self.rate, curriculum.images = rate, images
        self.end_phase = bool(wanted.get("end_phase", False))
