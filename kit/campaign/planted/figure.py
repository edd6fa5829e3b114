"""The table as a picture: faults and doses down, gates across, the share of questions on which each saw it.

Does not cover: saving or showing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from kit.campaign.figures import FAINT, INK, QUIET, STYLE, TYPE_COLOUR, png_of
from kit.campaign.planted.document import named
from kit.campaign.planted.table import HEADS
from kit.campaign.planted.tiers import ORACLE

SMALL, LARGE = 14.0, 150.0  # areas of a mark, in points squared
GROUPS = {"bits": ("bitwise",), "steps and oracle": ("steps", "oracle"), "HTTP alone": ("gates", "lattice", "repeats")}
COLOURS = dict(zip(GROUPS, TYPE_COLOUR.values(), strict=True))


def fault_table(document: Mapping[str, Any]) -> Figure:
    """A mark where a gate saw a fault, as large as the share of questions; open circles where it did not.

    document: faults.json.
    """
    rows = [(named(fault["name"], row["dose"]), row) for fault in document["faults"] for row in fault["doses"]]
    columns = [name for group in GROUPS.values() for name in group]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.2, 1.9 + 0.19 * len(rows)), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        for group, names in GROUPS.items():
            for name in names:
                _marks(axes, columns.index(name), [_cell(row, name) for _, row in rows], COLOURS[group])
        axes.set_yticks(range(len(rows)), [label for label, _ in rows], fontsize=7)
        axes.set_xticks(range(len(columns)), [HEADS[name] for name in columns])
        axes.set_xlim(-0.6, len(columns) - 0.4)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.hlines(range(len(rows)), -0.6, len(columns) - 0.4, color=FAINT, linewidth=0.6, zorder=0)
        for group, names in GROUPS.items():
            middle = sum(columns.index(name) for name in names) / len(names)
            axes.annotate(group, (middle, 1), xycoords=("data", "axes fraction"), xytext=(0, 26), textcoords="offset points",
                          color=COLOURS[group], ha="center", weight="bold")  # fmt: skip
        axes.set_title(_title(document), loc="left", color=INK, fontsize=10, pad=48)
        for side in axes.spines.values():
            side.set_visible(False)
    return figure


def _cell(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A gate's counts; the oracle has one: whether any of its comparisons saw the fault."""
    if name != "oracle":
        cell: Mapping[str, Any] = row["columns"][name]
        return cell
    parts = [row["columns"][part] for part in ORACLE]
    return {"count": int(any(part["count"] for part in parts)), "of": int(any(part["of"] for part in parts))}


def _marks(axes: Any, place: int, cells: list[Mapping[str, Any]], colour: str) -> None:
    seen = [(number, cell["count"] / cell["of"]) for number, cell in enumerate(cells) if cell["count"]]
    asked = [number for number, cell in enumerate(cells) if cell["of"] and not cell["count"]]
    axes.scatter([place] * len(asked), asked, s=SMALL, facecolors="none", edgecolors=QUIET, linewidths=0.5)
    sizes = [SMALL + (LARGE - SMALL) * share for _, share in seen]
    axes.scatter([place] * len(seen), [number for number, _ in seen], s=sizes, color=colour, linewidths=0)


def _title(document: Mapping[str, Any]) -> str:
    summary = document["summary"]
    over_http = summary["tiers"]["http"]
    return (
        f"{summary['caught']} of {summary['faults']} planted faults caught by bits, and by steps and oracle; "
        f"{over_http['faults']} over HTTP alone;\n{summary['false_alarms']} false alarms on {summary['controls']} harmless changes"
    )


def png(document: Mapping[str, Any]) -> bytes:
    """The figure as a PNG."""
    return png_of(fault_table(document))
