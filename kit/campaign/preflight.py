"""What stage 01 establishes before anything is measured, and what stage 10 checks again.

Covers: environment.json (settings in force, versions, device, packages against their RECORD) and sources.json
as notebooks write them. Does not cover: how they are found out (`kit.evidence.provenance`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.evidence import provenance

if TYPE_CHECKING:
    import pandas as pd

    from kit.campaign.stage import Stage


def environment(stage: Stage) -> dict[str, Any]:
    """environment.json: applies the profile's settings and records what is in force."""
    return provenance.environment(stage.configure())


def source_hashes(stage: Stage) -> dict[str, Any]:
    """sources.json as a run begins with it."""
    return provenance.sources_before()


def packages_frame(facts: dict[str, Any]) -> pd.DataFrame:
    """One row a checked package."""
    import pandas as pd

    return pd.DataFrame(facts["packages"]).T
