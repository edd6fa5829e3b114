"""The families of tasks by name: each makes a sample from a generator, a split and a level of difficulty."""

from __future__ import annotations

import random
from types import ModuleType
from typing import Protocol

from kit.checkpoint.training.samples import Sample, Split
from kit.checkpoint.training.tasks import (
    amid,
    beside,
    chart,
    console,
    count,
    dialog,
    document,
    facts,
    form,
    lingual,
    lookup,
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
    """How a family makes a sample; level: from 0 to one less than its LEVELS, the last by default."""

    def __call__(self, rng: random.Random, split: Split, level: int = ...) -> Sample: ...


_TEXT = (numbers, facts, lookup, score, match, route, triage, policy, multi, special, lingual, document, amid)
_SCREENS = (console, form, dialog, count, which_image, chart, beside)


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


TEXT: dict[str, Make] = {_name(module): module.make for module in _TEXT}
SCREENS: dict[str, Make] = {_name(module): module.make for module in _SCREENS}
FAMILIES: dict[str, Make] = TEXT | SCREENS
LEVELS: dict[str, int] = {_name(module): module.LEVELS for module in (*_TEXT, *_SCREENS)}
