"""Engines: one small thing each (`kit.engine.base.Engine`), picked by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from kit.engine.base import Engine
    from kit.profile import Profile

MODULES = {name: f"kit.engine.{name}" for name in ("reference", "native", "graph", "remote")}


def load(name: str, profile: Profile) -> Engine:
    """Load an engine. Raises ValueError for a name that is not one of MODULES."""
    if name not in MODULES:
        raise ValueError(f"unknown engine {name!r}: expected one of {', '.join(MODULES)}")
    return cast("Engine", importlib.import_module(MODULES[name]).load(profile))
