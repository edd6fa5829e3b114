"""The official reference on cpu-tiny, loaded once a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile


@pytest.fixture(scope="module")
def official(profile: Profile) -> Iterator[ReferenceEngine]:
    from kit.engine import reference

    engine = reference.load(profile)
    yield engine
    engine.close()
