"""The noise floor of A, where it was measured: what of a drift is more than the reference does to itself.

Covers: reading `records/floor.json` (made by `kit floor`) and naming the figures of a row that lie beyond it. A floor
explains a drift within the gates; it never excuses one beyond them. Does not cover: measuring it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kit.campaign.diff.evidence import Evidence

FILE, FORMAT = "records/floor.json", "kit-floor/1"
FIGURES = {"hidden_rms": "hidden_rms", "steps": "steps", "probability": "probability_drift"}  # of a level -> of a row


@dataclass(frozen=True)
class Floor:
    """Levels by modality ("text", "image") and figure; a figure without a level has no floor."""

    levels: Mapping[str, Mapping[str, float | None]]


def read_floor(a: Evidence) -> Floor | None:
    """The floor of A's bundle; None where it has none, or one of a format this kit does not know."""
    document = a.document(FILE)
    return Floor(document["levels"]) if document.get("format") == FORMAT and "levels" in document else None


def beyond(row: Mapping[str, Any], floor: Floor | None) -> list[str] | None:
    """Figures of a row above A's floor; None without a floor for such questions."""
    levels = floor.levels.get(row["modality"]) if floor else None
    if not levels:
        return None
    return [
        figure
        for figure, column in FIGURES.items()
        if (level := levels.get(figure)) is not None and row[column] is not None and row[column] > level
    ]
