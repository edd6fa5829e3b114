"""Figures of right answers: the reliability diagram, confidence across and share of right answers up.

Covers: one diagram for several engines or sides. Does not cover: computing bins (`kit.evidence.reliability`) or tables
(`kit.campaign.accuracy`). Functions take documents and judge nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kit.campaign.figures import ENGINE_STYLE, FAINT, INK, QUIET, canvas, titled
from kit.evidence.reliability import BINS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = ENGINE_STYLE | {"candidate": ENGINE_STYLE["graph"]}


def reliability_diagram(found: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Top: every bin's share of right answers at its mean confidence. Bottom: how many answers a bin holds.

    found: `reliability` by engine or side. On the dashed line answers are right as often as they are sure.
    """
    figure, (top, bottom) = canvas(5.2, 5.6, rows=2, heights=(3, 1))
    top.plot((0, 1), (0, 1), color=QUIET, linewidth=0.8, linestyle="--")
    width = 1 / BINS / (len(found) + 1)
    for place, (name, item) in enumerate(found.items()):
        colour, marker = STYLES.get(name, (INK, "o"))
        bins = item["bins"]
        top.plot(
            [one["confidence"] for one in bins], [one["right"] / one["questions"] for one in bins],
            marker, color=colour, markersize=5, linestyle="-", linewidth=0.8, alpha=0.8, label=f"{name}, ECE {item['ece']:.3f}",
        )  # fmt: skip
        lefts = [one["over"] + width * (place + 0.5) for one in bins]
        bottom.bar(lefts, [one["questions"] for one in bins], width, align="edge", color=FAINT, edgecolor=colour)
    for axis in (top, bottom):
        axis.set_xlim(-0.02, 1.02)
    top.set_ylim(-0.04, 1.04)
    top.set_ylabel("share of right answers")
    top.legend(loc="upper left", frameon=False)
    bottom.set_ylabel("answers")
    bottom.set_xlabel("confidence: the winner's probability")
    counted = max((sum(one["questions"] for one in item["bins"]) for item in found.values()), default=0)
    return titled(figure, f"Confidence against being right, over {counted} answers")


def of_engines(accuracy: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The accuracy part of drift.json as `reliability_diagram` takes it."""
    return {item["engine"]: item for item in accuracy["reliability"]}
