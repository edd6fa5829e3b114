"""Figures of a run: functions from data to a matplotlib Figure, each titled with what to see in it.

Covers: drift per question, probabilities of reference and candidate, the smallest shift the gates could see, and
latency per engine. Colours are the Okabe-Ito set and every engine has a marker of its own, so nothing depends on
telling colours apart. No pyplot, so no global state.
Does not cover: one question's logits (`kit.campaign.ladder`), computing what is drawn, or saving it
(`kit.campaign.stage`).
"""

from __future__ import annotations

import io
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from kit.profile import Gates

if TYPE_CHECKING:
    import pandas as pd

INK, QUIET, FAINT = "#222222", "#767676", "#E4E4E4"
GATE_COLOUR = "#B00020"
BAND_COLOUR = "#F0E442"
ENGINE_STYLE = {
    "reference": ("#444444", "o"),
    "native": ("#0072B2", "D"),
    "graph": ("#D55E00", "^"),
    "remote": ("#009E73", "s"),
    "frontend": ("#CC79A7", "v"),
}
TYPE_COLOUR = {"choice": "#0072B2", "score": "#E69F00", "noul": "#009E73"}
MODALITY_STYLE = {"text": ("#0072B2", "o"), "image": ("#D55E00", "^")}
STYLE = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "figure.facecolor": "white",
}


GATE = Gates().probability
SCREEN_DPI, FILE_DPI = 110, 130


class Plot(Figure):  # type: ignore[misc]
    """A Figure that shows itself in any notebook, whatever backend is active."""

    def _repr_png_(self) -> bytes:
        return png_of(self, SCREEN_DPI)


def png_of(figure: Figure, dpi: int = FILE_DPI) -> bytes:
    """A figure as a PNG that does not say which version of matplotlib drew it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight", metadata={"Software": None})
    return buffer.getvalue()


def drift_per_question(
    drift: Mapping[str, Any],
    against: str = "fresh",
    gate: float = GATE,
    floor: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """Left: probability drift of every question with its gate. Right: the same change in BF16 steps.

    drift: drift.json. On the right a bar ends at the first step some gate would see; without recorded logits
    (against="frozen", a remote server) only the left part is drawn. floor: `band` of floor.json, modality -> measure ->
    how far the reference is from itself; drawn behind every question, it explains and judges nothing.
    """
    rows = [row for row in drift["rows"] if row["against"] == against]
    engines = _engines(rows)
    labels = list(dict.fromkeys(_label(row) for row in rows))
    place = {label: len(labels) - 1 - i for i, label in enumerate(labels)}
    with_steps = any(row["max_steps"] is not None for row in rows)
    figure, axes = canvas(10 if with_steps else 7.5, 1.5 + 0.19 * max(len(labels), 4), 2 if with_steps else 1)
    left = axes[0]
    largest = max((row["probability_drift"] for row in rows), default=0.0)
    for axis, measure in zip(axes, ("probability", "steps"), strict=False):
        _floor_band(axis, rows, place, floor or {}, measure)
    for engine in engines:
        _dots(left, [(row["probability_drift"], place[_label(row)]) for row in rows if row["engine"] == engine],
              engine, engines)  # fmt: skip
    left.axvline(gate, color=GATE_COLOUR, linewidth=1.4)
    left.annotate(f"gate {gate:g}", (gate, 1), xycoords=("data", "axes fraction"), xytext=(4, 2),
                  textcoords="offset points", color=GATE_COLOUR)  # fmt: skip
    left.set_xlim(-0.02 * max(gate, largest), 1.15 * max(gate, largest))
    left.set_yticks(list(place.values()), list(place))
    left.set_xlabel("largest change of a probability")
    if with_steps:
        _steps_panel(axes[1], rows, engines, place)
    for axis in axes:
        axis.set_ylim(-0.8, len(labels) - 0.2)
        axis.grid(axis="y")
        axis.tick_params(axis="y", length=0, labelsize=7.5)
    _legend(figure, left, len(engines) + bool(floor))
    over = sum(row["probability_drift"] > gate for row in rows)
    what = "no question drifts at all" if largest == 0 else f"largest drift {largest:.3g}, {over or 'none'} over the gate"
    missing = sum(item["against"] == against for item in drift.get("missing", ()))
    what = f"{missing} answers are missing" if missing else what if rows else "nothing to compare"
    return titled(figure, f"Drift per question, against the {_against(against)}: {what}")


def probabilities(frame: pd.DataFrame, reference: str = "reference", gate: float = GATE) -> Figure:
    """Every candidate's probability, reference against each other engine, and the difference below.

    frame: `kit.campaign.reading.probabilities_frame`.
    """
    key = ["request", "question", "candidate"]
    base = frame[frame["engine"] == reference].set_index(key)
    engines = [name for name in dict.fromkeys(frame["engine"]) if name != reference]
    figure, axes = canvas(4.6 * max(len(engines), 1) + 0.6, 6.2, max(len(engines), 1), rows=2, heights=(3, 1.3))
    worst = 0.0
    for column, engine in enumerate(engines):
        ours = frame[frame["engine"] == engine].set_index(key)["probability"].rename("probability_ours")
        pair = base.join(ours, how="inner")
        difference = pair["probability_ours"] - pair["probability"]
        worst = max(worst, float(difference.abs().max()))
        top, bottom = axes[column], axes[len(engines) + column]
        top.fill_between([0, 1], [-gate, 1 - gate], [gate, 1 + gate], color=BAND_COLOUR, alpha=0.55, linewidth=0)
        top.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8)
        bottom.axhspan(-gate, gate, color=BAND_COLOUR, alpha=0.55, linewidth=0)
        bottom.axhline(0, color=QUIET, linewidth=0.8)
        for modality, (colour, marker) in MODALITY_STYLE.items():
            chosen = pair["modality"] == modality
            style = {"color": colour, "marker": marker, "s": 18, "alpha": 0.75, "linewidth": 0, "label": modality}
            top.scatter(pair["probability"][chosen], pair["probability_ours"][chosen], **style)
            bottom.scatter(pair["probability"][chosen], difference[chosen], **style)
        top.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=f"p({engine})")
        top.set_title(f"{engine}: {len(pair)} candidates", fontsize=9.5, loc="left")
        span = 1.25 * max(gate, float(difference.abs().max()))
        bottom.set(xlim=(-0.02, 1.02), ylim=(-span, span), xlabel=f"p({reference})", ylabel="difference")
        top.legend(loc="upper left", title=f"band: ±{gate:g}", alignment="left", frameon=False)
    what = "every point lies on the diagonal" if worst == 0 else f"largest difference {worst:.3g}"
    return titled(figure, f"Probabilities of {reference} and candidate: {what}")


def detectable_shift(drift: Mapping[str, Any], engine: str | None = None) -> Figure:
    """How far one logit must move before any gate sees it, question by question, in BF16 steps.

    engine: whose rows are read (default: the first compared with the fresh reference; it is the same for all).
    """
    rows = [row for row in drift["rows"] if row["against"] == "fresh" and row["detectable_steps"] is not None]
    engine = engine or (rows[0]["engine"] if rows else None)
    rows = sorted((r for r in rows if r["engine"] == engine), key=lambda r: (-r["detectable_steps"], _label(r)))
    figure, axes = canvas(7.5, 1.5 + 0.19 * max(len(rows), 4), 1)
    axis = axes[0]
    for y, row in enumerate(rows):
        colour = TYPE_COLOUR[row["type"]]
        axis.plot([0.7, row["detectable_steps"]], [y, y], color=colour, linewidth=1.2)
        axis.plot(row["detectable_steps"], y, "o", color=colour, markersize=4.5)
        axis.annotate(f"{row['detectable_logit']:g}", (row["detectable_steps"], y), xytext=(5, -2.5),
                      textcoords="offset points", fontsize=6.5, color=QUIET)  # fmt: skip
    for kind in dict.fromkeys(row["type"] for row in rows):
        axis.plot([], [], "o-", color=TYPE_COLOUR[kind], label=kind, markersize=4.5)
    _log_steps(axis, max((row["detectable_steps"] for row in rows), default=1))
    axis.set_yticks(range(len(rows)), [_label(row) for row in rows])
    axis.tick_params(axis="y", length=0, labelsize=7.5)
    axis.set_ylim(-0.8, len(rows) - 0.2)
    axis.grid(axis="x")
    axis.set_xlabel("BF16 steps of one logit until a gate sees it (grey: the same in logits)")
    _legend(figure, axis, 3)
    steps = [row["detectable_steps"] for row in rows]
    what = f"from {min(steps)} to {max(steps)} BF16 steps" if steps else "no logits recorded"
    return titled(figure, f"What the gates can see: {what}, {steps.count(1)} of {len(steps)} questions a single one")


def latency(frame: pd.DataFrame, reference: str = "reference", value: str = "wall_ms") -> Figure:
    """Latency of every measured request by engine and modality: each request, quartiles, median.

    frame: `kit.campaign.reading.exchanges_frame`; value: "wall_ms" (client) or "latency_ms" (server).
    """
    measured = frame[(frame["phase"] == "measured") & frame[value].notna()]
    engines = list(dict.fromkeys(measured["engine"]))
    modalities = [name for name in MODALITY_STYLE if name in set(measured["modality"])]
    figure, axes = canvas(9, 1.4 + 0.55 * max(len(engines) * len(modalities), 2), 1)
    axis = axes[0]
    chance = random.Random(7)  # the same jitter every time
    ticks, base = [], {}
    for m, modality in enumerate(modalities):
        for e, engine in enumerate(engines):
            values = measured[(measured["engine"] == engine) & (measured["modality"] == modality)][value]
            y = -(m * (len(engines) + 0.6) + e)
            ticks.append((y, f"{engine}, {modality}"))
            if values.empty:
                continue
            colour, marker = ENGINE_STYLE.get(engine, (QUIET, "o"))
            low, middle, high = (float(values.quantile(q)) for q in (0.25, 0.5, 0.75))
            axis.scatter(values, [y + chance.uniform(-0.22, 0.22) for _ in values], s=12, color=colour,
                         marker=marker, alpha=0.45, linewidth=0)  # fmt: skip
            axis.plot([low, high], [y, y], color=colour, linewidth=7, alpha=0.3, solid_capstyle="butt")
            axis.plot([middle, middle], [y - 0.33, y + 0.33], color=INK, linewidth=1.8)
            if engine == reference:
                base[modality] = middle
            ratio = f"   {base[modality] / middle:.2f}x" if modality in base and engine != reference else ""
            axis.annotate(f"{middle:.1f} ms{ratio}", (1.01, y), xycoords=("axes fraction", "data"), va="center")
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks([y for y, _ in ticks], [text for _, text in ticks])
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x")
    whose = "as the client saw it" if value == "wall_ms" else "as the server reports it"
    axis.set_xlabel(f"milliseconds a request, {whose} (this machine; line: median, bar: middle half)")
    return titled(figure, "Latency per engine: compare medians within one modality")


# ---------------------------------------------------------------- pieces


def canvas(
    width: float, height: float, columns: int = 1, *, rows: int = 1, heights: Sequence[float] | None = None
) -> tuple[Figure, list[Any]]:
    """An empty figure in the kit's style, and its axes row by row."""
    with matplotlib.rc_context(STYLE):
        figure = Plot(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(
            rows, columns, squeeze=False, sharey="row" if rows == 1 else False,
            gridspec_kw={"height_ratios": heights} if heights else None,
        )  # fmt: skip
    return figure, list(grid.flat)


def titled(figure: Figure, text: str) -> Figure:
    """The figure with its one-sentence finding on top."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    return figure


def _legend(figure: Figure, axis: Any, columns: int) -> None:
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower left", ncols=max(columns, 1), frameon=False)


def _steps_panel(
    axis: Any, rows: Sequence[Mapping[str, Any]], engines: Sequence[str], place: Mapping[str, int]
) -> None:
    seen = {place[_label(row)]: row["detectable_steps"] for row in rows if row["detectable_steps"] is not None}
    axis.barh(list(seen), list(seen.values()), height=0.62, color=FAINT, zorder=0.4)
    axis.plot(list(seen.values()), list(seen), "|", color=GATE_COLOUR, markersize=8, markeredgewidth=1.5)
    for engine in engines:
        points = [(row["max_steps"], place[_label(row)]) for row in rows if row["engine"] == engine]
        _dots(axis, [(x, y) for x, y in points if x is not None], engine, engines)
    largest = max([*seen.values(), *(row["max_steps"] or 0 for row in rows), 1])
    axis.set_xscale("symlog", linthresh=1, linscale=0.6)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlim(-0.15, 1.6 * largest)
    axis.set_xlabel("BF16 steps of a logit difference (red: first step a gate sees)")


def _floor_band(
    axis: Any, rows: Sequence[Mapping[str, Any]], place: Mapping[str, int],
    floor: Mapping[str, Mapping[str, float]], measure: str,
) -> None:  # fmt: skip
    """Behind each question, how far the reference is from itself in 99% of generated ones of that modality."""
    ends = {place[_label(row)]: floor[row["modality"]][measure] for row in rows if row["modality"] in floor}
    if ends:
        axis.barh(list(ends), list(ends.values()), height=1.0, color=BAND_COLOUR, alpha=0.55, linewidth=0,
                  zorder=0.5, label="noise floor (p99)")  # fmt: skip


def _dots(axis: Any, points: Sequence[tuple[float, float]], engine: str, engines: Sequence[str]) -> None:
    colour, marker = ENGINE_STYLE.get(engine, (QUIET, "o"))
    # Engines that agree are drawn beside each other, not on top of each other.
    offset = 0.26 * (engines.index(engine) - (len(engines) - 1) / 2)
    axis.plot([x for x, _ in points], [y - offset for _, y in points], linestyle="", marker=marker, color=colour,
              markersize=4, alpha=0.9, label=engine, clip_on=False)  # fmt: skip


def _log_steps(axis: Any, largest: float) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xlim(0.7, 2.2 * largest)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def _engines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["engine"] for row in rows))


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['request']} / {row['question']}"


def _against(against: str) -> str:
    return {"fresh": "fresh reference", "frozen": "frozen answers"}[against]
