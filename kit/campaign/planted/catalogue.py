"""Every fault there is to plant."""

from __future__ import annotations

from kit.campaign.planted import adapter, answering, arithmetic, geometry, memory
from kit.campaign.planted.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *adapter.FAULTS,
    *arithmetic.FAULTS,
    *geometry.FAULTS,
    *memory.FAULTS,
    *answering.FAULTS,
)
