"""A diff as one figure: drift of every question against gate and floor, steps, and latency ratios.

Covers: matplotlib figure and PNG bytes from a `kit-diff/1` document. Does not cover: computing anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kit.campaign.diff.answers import GATES
from kit.campaign.diff.latency import REQUESTS
from kit.campaign.figures import (
    BAND_COLOUR,
    ENGINE_STYLE,
    GATE_COLOUR,
    INK,
    QUIET,
    STYLE,
    Plot,
    png_of,
    titled,
)

FIGURE_ENGINE = {"eager": "native"}  # engines of latency rows by their style
EDGES = {"text": "--", "image": ":"}  # of the floors
LINEAR_BELOW = 1e-6  # drifts below are drawn on a linear scale, so that zero has a place


def draw(document: Mapping[str, Any]) -> Figure:
    """Left: largest change of a probability, questions in order of it. Middle: BF16 steps. Right: B's latency over A's."""
    rows, latency = document["rows"], _latency(document["latency"])
    figure, axes = _canvas(3 if latency else 2, height=max(3.8, 1.2 + 0.16 * len(latency)))
    _sorted_panel(axes[0], rows, "probability_drift", "largest change of a probability")
    axes[0].axhline(GATES.probability, color=GATE_COLOUR, linewidth=1.4, label=f"gate {GATES.probability:g}")
    axes[0].set_yscale("symlog", linthresh=LINEAR_BELOW)
    axes[0].set_ylim(0, max(1.0, 2 * GATES.probability))
    _sorted_panel(axes[1], rows, "steps", "change of a logit difference, BF16 steps of A")
    _floor(axes[0], document["floor"], "probability")
    _floor(axes[1], document["floor"], "steps")
    axes[1].set_ylim(bottom=0)
    if latency:
        _latency_panel(axes[2], latency)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=6, frameon=False, fontsize=7.5)
    flipped = sum(row["flipped"] for row in rows)
    decided = f"{flipped} of {len(rows)} answers decided otherwise" if flipped else f"no decision changed in {len(rows)} answers"
    return titled(figure, f"{document['b']['name']} against {document['a']['name']}: {decided}")


def as_png(document: Mapping[str, Any]) -> bytes:
    """The figure as PNG."""
    return png_of(draw(document))


def _canvas(columns: int, height: float) -> tuple[Figure, list[Any]]:
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(4.2 * columns, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, list(figure.subplots(1, columns, squeeze=False).flat)


def _sorted_panel(axis: Any, rows: Sequence[Mapping[str, Any]], name: str, label: str) -> None:
    for engine in dict.fromkeys(row["engine"] for row in rows):
        mine = [row for row in rows if row["engine"] == engine and row[name] is not None]
        mine.sort(key=lambda row: row[name])
        colour, marker = ENGINE_STYLE.get(engine, (INK, "o"))
        places = range(1, len(mine) + 1)
        axis.plot(places, [row[name] for row in mine], marker, color=colour, markersize=4, alpha=0.75, label=engine)
        flips = [(place, row[name]) for place, row in zip(places, mine, strict=True) if row["flipped"]]
        if flips:
            axis.plot(*zip(*flips, strict=True), "o", markersize=9, markerfacecolor="none", color=GATE_COLOUR)
    axis.set_xlabel("questions in this order (circled: decided otherwise)")
    axis.set_ylabel(label)
    axis.grid(axis="y")


def _floor(axis: Any, levels: Mapping[str, Mapping[str, float]] | None, measure: str) -> None:
    """A band up to the noise floor, of text and of images, each with an edge of its own."""
    for modality, found in (levels or {}).items():
        if measure in found:
            axis.axhspan(0, found[measure], color=BAND_COLOUR, alpha=0.3, linewidth=0)
            axis.axhline(found[measure], color=QUIET, linewidth=1, linestyle=EDGES[modality], label=f"floor of A, {modality}")


def _latency(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What is drawn: the protocol's requests, and timed workloads of engines that qualify."""
    return [row for row in rows if row["workload"] == REQUESTS or row["engine"] in ("reference", "eager", "graph")]


def _latency_panel(axis: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    for place, row in enumerate(reversed(rows)):
        colour, marker = ENGINE_STYLE.get(FIGURE_ENGINE.get(row["engine"], row["engine"]), (INK, "o"))
        if row["low"] is not None:
            axis.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=1.4)
        axis.plot([row["ratio"]], [place], marker, color=colour, markersize=5)
    axis.axvline(1, color=QUIET, linewidth=0.8)
    axis.set_yticks(range(len(rows)), [f"{row['engine']}: {row['workload']}" for row in reversed(rows)])
    axis.tick_params(axis="y", length=0, labelsize=6 if len(rows) > 12 else 7.5)
    axis.set_xlabel("latency of B over A (95% interval)")
