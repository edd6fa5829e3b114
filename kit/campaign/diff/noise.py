"""The noise floor of A, where it was measured: what of a drift is more than the reference does to itself.

Covers: reading `records/floor.json` (made by `kit floor`) and naming the figures of a row that lie beyond it: beyond
the largest change that was measured, because a 99% quantile would be passed by one honest answer in a hundred. A floor
explains a drift within the gates; it never excuses one beyond them. Does not cover: measuring it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kit.campaign.diff.evidence import Evidence

FILE, FORMAT = "records/floor.json", "kit-floor/1"
MODALITIES = ("text", "image")
FIGURES = {"hidden": "hidden_rms", "steps": "steps", "probability": "probability_drift"}  # measure of a floor -> column of a row


@dataclass(frozen=True)
class Floor:
    """Modality -> measure -> the furthest that any harmless change moved the reference on any generated question."""

    levels: Mapping[str, Mapping[str, float]]


def read_floor(a: Evidence) -> Floor | None:
    """The floor of A's bundle; None where it has none, or one of a format this kit does not know."""
    document = a.document(FILE)
    if document.get("format") != FORMAT:
        return None
    forms = list(document["summary"].values())
    levels = {
        modality: {measure: max(form[modality][measure]["max"]["value"] for form in forms if modality in form) for measure in FIGURES}
        for modality in MODALITIES
        if any(modality in form for form in forms)
    }
    return Floor(levels) if levels else None


def beyond(row: Mapping[str, Any], floor: Floor | None) -> list[str] | None:
    """Figures of a row above A's floor; None without a floor for such questions."""
    levels = floor.levels.get(row["modality"]) if floor else None
    if not levels:
        return None
    return [
        measure
        for measure, column in FIGURES.items()
        if measure in levels and row[column] is not None and row[column] > levels[measure]
    ]
