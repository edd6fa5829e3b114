"""The families of tasks, by name: each makes a sample from a generator, a split and the most candidates allowed."""

from __future__ import annotations

import random
from typing import Protocol

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import (
    chart,
    console,
    count,
    dialog,
    facts,
    form,
    lingual,
    match,
    multi,
    numbers,
    policy,
    route,
    score,
    special,
    triage,
    which_image,
)


class Make(Protocol):
    """How a family makes a sample."""

    def __call__(self, rng: random.Random, split: Split, most: int = 10) -> Sample: ...


TEXT: dict[str, Make] = {
    "numbers": numbers.make, "facts": facts.make, "score": score.make, "match": match.make, "route": route.make,
    "triage": triage.make, "policy": policy.make, "multi": multi.make, "special": special.make, "lingual": lingual.make,
}  # fmt: skip
SCREENS: dict[str, Make] = {
    "console": console.make, "form": form.make, "dialog": dialog.make, "count": count.make,
    "which_image": which_image.make, "chart": chart.make,
}  # fmt: skip
FAMILIES: dict[str, Make] = TEXT | SCREENS
