"""Engines: one small thing each (`kit.engine.base.Engine`), picked by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

from kit.engine import autotune

if TYPE_CHECKING:
    from kit.engine.base import Engine
    from kit.engine.native import NativeEngine
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

MODULES = {name: f"kit.engine.{name}" for name in ("reference", "native", "graph", "remote")}


def load(name: str, profile: Profile) -> Engine:
    """Load an engine, with the run's autotune winners installed. Raises ValueError for an unknown name."""
    if name not in MODULES:
        raise ValueError(f"unknown engine {name!r}: expected one of {', '.join(MODULES)}")
    autotune.install_recorded()
    return cast("Engine", importlib.import_module(MODULES[name]).load(profile))


def load_beside(name: str, profile: Profile, reference: ReferenceEngine) -> NativeEngine:
    """Build the engine "native" or "graph" over the tensors of a loaded reference, so that weights lie in memory once.

    Raises ValueError for another name, or a reference whose adapter is merged or is not the only one.
    """
    from kit.engine.graph import GraphEngine
    from kit.engine.native import NativeEngine
    from kit.engine.shared_weights import shared_stores

    kinds: dict[str, type[NativeEngine]] = {"native": NativeEngine, "graph": GraphEngine}
    if name not in kinds:
        raise ValueError(f"engine {name!r} cannot read a reference's tensors: expected {' or '.join(kinds)}")
    return kinds[name](profile, shared=shared_stores(reference.model))
