"""Engines: one small thing each (`kit.engine.base.Engine`), picked by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from kit.engine import autotune

if TYPE_CHECKING:
    from kit.engine.base import Engine
    from kit.profile import Profile

MODULES = {name: f"kit.engine.{name}" for name in ("reference", "native", "graph", "remote")}


def load(name: str, profile: Profile) -> Engine:
    """Load an engine, with the run's autotune winners installed. Raises ValueError for an unknown name."""
    if name not in MODULES:
        raise ValueError(f"unknown engine {name!r}: expected one of {', '.join(MODULES)}")
    autotune.install_recorded()
    return cast("Engine", importlib.import_module(MODULES[name]).load(profile))
