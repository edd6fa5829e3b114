"""The smaller figures of single stages; the ones a reader comes for are in `kit.campaign.figures`.

Covers: label rows, request times, operators, gates, and the choice of the question for a logit ladder.
Functions take data and return a Figure; nothing is judged here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kit.campaign.figures import ENGINE_STYLE, FAINT, GATE_COLOUR, INK, QUIET, canvas, titled
from kit.campaign.integrity import OPERATOR_MISSES
from kit.campaign.ladder import Ladder, one_question
from kit.contract.prompt import LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def label_rows(file: Path, shape: Sequence[int]) -> Figure:
    """Norm of each label's row of the head: a label whose row is far off would always or never win."""
    halves = np.frombuffer(file.read_bytes(), dtype="<u2").astype(np.uint32) << 16
    norms = np.linalg.norm(halves.view(np.float32).reshape(shape), axis=1)
    figure, (axis,) = canvas(8.0, 2.6)
    axis.vlines(range(len(norms)), 0, norms, color=FAINT, linewidth=6)
    axis.plot(range(len(norms)), norms, "o", color=INK, markersize=4)
    axis.set_xticks(range(len(norms)), list(LABELS[: len(norms)]), fontsize=8)
    axis.set_ylabel("norm of the row")
    return titled(figure, f"Label head: {len(norms)} rows of {shape[1]}, norms {norms.min():.2f} to {norms.max():.2f}")


def request_times(frame: pd.DataFrame, engine: str) -> Figure:
    """Wall time of every request in the order sent; refused ones as crosses."""
    colour, marker = ENGINE_STYLE.get(engine, (QUIET, "o"))
    times, refused = frame["wall_ms"].to_numpy(), (frame["status"] == 422).to_numpy()
    order = np.arange(1, len(times) + 1)
    figure, (axis,) = canvas(8.0, 2.8)
    axis.vlines(order, 0, times, color=FAINT, linewidth=2)
    axis.plot(order[~refused], times[~refused], marker, color=colour, markersize=4, linestyle="none")
    axis.plot(order[refused], times[refused], "x", color=INK, markersize=6, linestyle="none", label="refused")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("request, in the order sent")
    axis.set_ylabel("milliseconds (client)")
    return titled(figure, f"{engine}: {len(times)} requests, median {np.median(times):.0f} ms on this machine")


def operators(report: Mapping[str, Any]) -> Figure:
    """Elements compared with the reference, op by op, and how many differ: from it or in any other way."""
    checks = pd.DataFrame(report["checks"])
    checks["missed"] = checks[[*OPERATOR_MISSES]].sum(axis=1)
    checks = checks.groupby("op", sort=False)[["elements", "missed"]].sum()
    figure, (axis,) = canvas(7.0, 0.9 + 0.24 * len(checks))
    rows = range(len(checks))
    axis.barh(rows, checks["elements"], color=FAINT)
    axis.barh(rows, checks["missed"], color=INK)
    for row, (elements, missed) in enumerate(checks.to_numpy()):
        axis.text(elements, row, f" {missed} differ", va="center", fontsize=8, color=INK if missed else QUIET)
    axis.set_yticks(rows, checks.index)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlim(right=float(checks["elements"].max()) * 8)
    axis.set_xlabel("elements compared (log)")
    return titled(figure, f"{int(checks['missed'].sum())} of {int(checks['elements'].sum()):,} elements differ")


def gates(verdict: Mapping[str, Any]) -> Figure:
    """Every gate as a cell: what was judged across, by whom down."""
    frame = pd.DataFrame(verdict["gates"]).fillna({"engine": "run", "against": ""})
    frame["who"] = (frame["engine"] + " " + frame["against"]).str.strip()
    table = frame.groupby(["who", "gate"], sort=False)["passed"].min().unstack().reindex(
        index=list(dict.fromkeys(frame["who"])), columns=list(dict.fromkeys(frame["gate"]))
    )  # fmt: skip
    figure, (axis,) = canvas(1.8 + 0.42 * len(table.columns), 1.6 + 0.34 * len(table))
    for y, who in enumerate(table.index):
        for x, gate in enumerate(table.columns):
            passed = table.loc[who, gate]
            if isinstance(passed, float) and math.isnan(passed):
                continue
            axis.plot(x, y, "s", color=FAINT if passed else GATE_COLOUR, markersize=15)
            axis.text(x, y, "ok" if passed else "FAIL", ha="center", va="center", fontsize=7,
                      color=INK if passed else "white")  # fmt: skip
    axis.set_xticks(range(len(table.columns)), table.columns, rotation=40, ha="right")
    axis.set_yticks(range(len(table)), table.index)
    axis.set_xlim(-0.6, len(table.columns) - 0.4)
    axis.set_ylim(len(table) - 0.4, -0.6)
    return titled(figure, f"{int(frame['passed'].sum())} of {len(frame)} gates passed")


def most_sensitive(probabilities: pd.DataFrame, drift: Mapping[str, Any], reference: str) -> Figure:
    """The logit ladder of the question a gate would see the smallest shift on (the largest drift at a tie).

    Without recorded logits an empty figure says so.
    """
    rows = [row for row in drift["rows"] if row["detectable_steps"] is not None]
    if not rows:
        figure, (axis,) = canvas(6.0, 1.6)
        axis.set_axis_off()
        return titled(figure, "No logits were recorded, so there is no ladder to draw")
    row = min(rows, key=lambda row: (row["detectable_steps"], -row["probability_drift"]))
    mine = probabilities.query("request == @row['request'] and question == @row['question']")
    by_engine = {name: group.set_index("candidate")["logit"] for name, group in mine.groupby("engine", sort=False)}
    base = by_engine.pop(reference)
    others = {str(n): tuple(map(float, s.reindex(base.index))) for n, s in by_engine.items() if s.notna().all()}
    heading = f"{row['request']} / {row['question']}"
    return one_question(Ladder(heading, row["type"], tuple(map(str, base.index)), tuple(map(float, base)), others))
