"""What a planted fault is, and the two commonest ways to plant one: in the op table, in the weights.

Covers: `Fault` with its doses. Does not cover: any particular fault (`catalogue`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kit.campaign.planted.site import Site, Subject

if TYPE_CHECKING:
    from kit.engine.native import NativeEngine
    from kit.kernels import Ops

Place = Literal["ops", "weights", "positions", "images", "cache", "request", "response"]
Plant = Callable[[Site, Any], Subject]
TEXT, IMAGE, IMAGES = "severity-score-3", "console-512x256", "images-2"  # short, one picture (wider than high), two


@dataclass(frozen=True)
class Fault:
    """One mistake an engine could make.

    doses: label and value, the mildest first; one unnamed dose where there is nothing to vary. shows: the few
    requests, by id and in order, that are enough to show it. also: requests it needs beyond the protocol's.
    """

    name: str
    place: Place
    summary: str
    plant: Plant
    doses: tuple[tuple[str, Any], ...] = (("", None),)
    shows: tuple[str, ...] = (TEXT, IMAGE)
    also: tuple[str, ...] = ()


def in_ops(change: Callable[[Ops, Any], dict[str, Callable[..., Any]]]) -> Plant:
    """A native engine with other callables in its table. change: (table, dose) -> op -> callable."""

    def plant(site: Site, dose: Any) -> Subject:
        ops = site.ops
        changed: dict[str, Any] = dict(change(ops, dose))
        return Subject(site.native(dataclasses.replace(ops, **changed)))

    return plant


def in_engine(change: Callable[[NativeEngine, Any], None]) -> Plant:
    """A native engine changed after loading. change: (engine, dose), in place; weights it shares are never written."""

    def plant(site: Site, dose: Any) -> Subject:
        engine = site.native()
        change(engine, dose)
        return Subject(engine)

    return plant
