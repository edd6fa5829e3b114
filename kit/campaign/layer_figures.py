"""A figure of layers.json: where along the walk two sides come apart.

Covers: the heat map, one panel for the vision tower and one for the language model, a column a step of the walk, a row a branch,
colour by relative RMS on a logarithmic scale; a stage without a differing value is blank, one over its bound is
framed, and the first of them is named. Does not cover: the numbers (`kit.campaign.layer_drift`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from kit.campaign.figures import GATE_COLOUR, INK, QUIET, STYLE, canvas, titled
from kit.campaign.layer_drift import place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {"vision": ("attention", "MLP", "residual"), "language": ("mixer", "MLP", "residual", "GDN state")}
INDEX = {"mixer": 0, "mlp": 1, "residual": 2, "state": 3}
SMALLEST = 1e-17  # an FP64 rounding; what is smaller is drawn like it
TICKS = 32  # steps up to which each is named


def layer_heat_map(pair: Mapping[str, Any]) -> Figure:
    """A pair of layers.json: every stage's worst relative RMS over its prompts."""
    values: Mapping[str, float | None] = pair["worst"]
    over = {stage for prompt in pair["prompts"] for stage, is_over in zip(prompt["stages"], prompt["over"], strict=True) if is_over}
    first = next((stage for stage in values if stage in over), None)
    panels = [name for name in ROWS if any(stage.startswith("vision") == (name == "vision") for stage in values)]
    figure, axes = canvas(10, 0.9 + 1.75 * len(panels), rows=len(panels))
    seen = [value for value in values.values() if value]
    scale = LogNorm(max(min(seen, default=1e-3), SMALLEST) / 1.5, max(seen, default=1e-3) * 1.5)
    with matplotlib.rc_context(STYLE):
        for axis, name in zip(axes, panels, strict=True):
            stages = [stage for stage in values if stage.startswith("vision") == (name == "vision")]
            _panel(axis, name, stages, values, over, first, scale)
        if seen:
            colours = matplotlib.cm.ScalarMappable(scale, "viridis")
            figure.colorbar(colours, ax=axes, label="relative RMS", shrink=0.8, pad=0.01)
    what = f"first over its bound: {first}" if first else "no stage over its bound" if seen else "no value differs anywhere"
    prompts = len(pair["prompts"])
    return titled(figure, f"{pair['engine']} against {pair['against']}, worst of {prompts} prompt{'s' * (prompts != 1)}: {what}")


def _panel(
    axis: Any, name: str, stages: Sequence[str], values: Mapping[str, float | None], over: set[str],
    first: str | None, scale: Any,
) -> None:  # fmt: skip
    steps = list(dict.fromkeys(place(stage)[0] for stage in stages))
    rows = ROWS[name]
    axis.set_xlim(-0.5, len(steps) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    colours = matplotlib.colormaps["viridis"]
    for stage in stages:
        step, branch = place(stage)
        x, y, value = steps.index(step), INDEX[branch], values[stage]
        broken = value is None or not math.isfinite(value)
        colour = GATE_COLOUR if broken else colours(scale(max(value or 0, SMALLEST))) if value else "#F2F2F2"
        axis.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, facecolor=colour, edgecolor="none"))
        if stage in over:
            axis.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=GATE_COLOUR, linewidth=1.2))
        if stage == first:
            axis.annotate("first", (x, y), ha="center", va="center", fontsize=7, color="white" if value else INK,
                          bbox={"boxstyle": "round,pad=0.15", "facecolor": GATE_COLOUR, "edgecolor": "none"})  # fmt: skip
    axis.set_yticks(range(len(rows)), rows)
    every = 1 if len(steps) <= TICKS else 4
    shown = [i for i, step in enumerate(steps) if not _number(step).isdigit() or int(_number(step)) % every == 0]
    axis.set_xticks(shown, [_number(steps[i]) for i in shown], rotation=0 if len(steps) <= 12 else 90, fontsize=7.5)
    axis.tick_params(length=0)
    axis.set_xlabel(f"{name}: along the walk" + (" (blocks by number)" if name == "vision" else " (layers by number)"), color=QUIET)
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)


def _number(step: str) -> str:
    """"layer 03" -> "3", "vision merger" -> "merger"."""
    last = step.rpartition(" ")[2]
    return str(int(last)) if last.isdigit() else last
