"""Figures of layers.json: where along the walk two sides come apart, and how errors grow over the layers.

Covers: the heat map, one panel for the vision tower and one for the language model, a column a step of the walk, a row a branch,
colour by relative RMS on a logarithmic scale; a stage without a differing value is blank, one over its bound is
framed, and the first of them is named; and every side's error against the oracle, layer by layer. Does not cover: the figures (`kit.campaign.layer_drift`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from kit.campaign.figures import ENGINE_STYLE, GATE_COLOUR, INK, QUIET, STYLE, canvas, titled
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


def error_growth(document: Mapping[str, Any]) -> Figure:
    """Every side's error against the oracle along the layers: residuals left, final GDN states right.

    document: layers.json. Shown are medians over prompts; dashed the bound that rounding explains.
    """
    pairs = [pair for pair in document["pairs"] if pair["against"] == "oracle"]
    figure, axes = canvas(10, 3.4, columns=2)
    for axis, suffix, label in zip(axes, ("", ".state"), ("residual behind the layer", "final GDN state of the layer"), strict=True):
        for pair in pairs:
            layers, errors, limits = _medians(pair, suffix)
            colour, marker = ENGINE_STYLE.get(pair["engine"], (QUIET, "o"))
            size = {"reference": 7}.get(pair["engine"], 4)  # the reference shows behind a candidate that lies on it
            axis.plot(layers, errors, color=colour, marker=marker, markersize=size, linewidth=1, label=pair["engine"])
            if pair is pairs[0] and None not in limits:
                axis.plot(layers, limits, color=GATE_COLOUR, linestyle="--", linewidth=1, label=f"bound: {pair['bound']}")
        axis.set_yscale("log")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(axis="y")
        axis.set_xlabel(f"layer ({label})")
    axes[0].set_ylabel("relative RMS against the oracle")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=max(len(labels), 1), frameon=False)
    ratios = [value for name in document["oracle_ratio"].values() for value in name.values() if value is not None]
    what = f"candidate over reference {min(ratios):.3g} to {max(ratios):.3g} at any stage" if ratios else "no two sides to compare"
    return titled(figure, f"Error along the layers: {what}")


def _medians(pair: Mapping[str, Any], suffix: str) -> tuple[list[int], list[float], list[float | None]]:
    """(layers, median error, largest limit) of `layer.NN` + suffix."""
    errors: dict[int, list[float]] = {}
    limits: dict[int, float | None] = {}
    for prompt in pair["prompts"]:
        for stage, error, limit in zip(prompt["stages"], prompt["relative_rms"], prompt["limit"], strict=True):
            number = stage.removeprefix("layer.").removesuffix(suffix)
            if number.isdigit() and stage == f"layer.{number}{suffix}" and error:
                errors.setdefault(int(number), []).append(error)
                limits[int(number)] = limit if limit is None else max(limit, limits.get(int(number)) or 0.0)
    layers = sorted(errors)
    return layers, [statistics.median(errors[layer]) for layer in layers], [limits[layer] for layer in layers]


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
