"""Figures and tables of measured speed: latency against tokens with its floors, and where a replay's time goes.

Covers: functions from performance.json's rows and facts to a matplotlib Figure or a DataFrame. Milliseconds are of
the machine that measured them; each title says what to see. Weights made from a seed cost what any weights cost.
Does not cover: the campaign's own requests (`kit.campaign.figures.latency`), or judging targets (`targets`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from kit.campaign.figures import ENGINE_STYLE, QUIET, canvas, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = {
    "reference": ENGINE_STYLE["reference"],
    "reference-graph": ("#444444", "s"),
    "eager": ENGINE_STYLE["native"],
    "graph": ENGINE_STYLE["graph"],
    "merged": ("#009E73", "o"),
    "merged-graph": ("#009E73", "s"),
    "compiled-graph": ("#CC79A7", "P"),
    "merged-compiled-graph": ("#CC79A7", "X"),
    "gemm-floor": (QUIET, "_"),
}
NAMES = {
    "reference": "reference, called", "reference-graph": "reference, captured", "eager": "native, eager", "graph": "native, graph",
    "merged": "merged adapter, called", "merged-graph": "merged adapter, captured", "compiled-graph": "compiled, captured",
    "merged-compiled-graph": "merged and compiled, captured", "gemm-floor": "its matrix products alone",
}  # fmt: skip
SYNTHETIC = "weights made from a seed: speed, and nothing about decisions"
DASHED = frozenset({"reference", "eager", "merged"})  # launched call by call
CLASS_COLOUR = {
    "products": "#0072B2", "adapter": "#E69F00", "delta rule": "#009E73", "attention": "#CC79A7",
    "kit kernels": "#56B4E9", "compiled": "#F0E442", "elementwise": "#D55E00", "convolution": "#999999",
    "memory": "#BBBBBB", "other": "#DDDDDD",
}  # fmt: skip

Row = Mapping[str, Any]


def latency_against_tokens(rows: Sequence[Row], floors: Sequence[Row], *, synthetic: bool = False) -> Figure:
    """Median latency of plain text by prompt length, both axes logarithmic; the floors are drawn in.

    rows: of performance.json. floors: its facts, for the time to read the weights once. synthetic: whether the weights
    were made from a seed, which the figure then says.
    """
    text = [row for row in rows if row["workload"] == "text"]
    figure, (axis,) = canvas(8.5, 5.2)
    for engine, (colour, marker) in STYLE.items():
        points = sorted((row["tokens"], row["median_ms"], row["p95_ms"]) for row in text if row["engine"] == engine)
        if not points:
            continue
        line = ":" if engine == "gemm-floor" else "--" if engine in DASHED else "-"
        tokens, medians, tops = zip(*points, strict=True)
        axis.plot(tokens, medians, line, color=colour, marker=marker, markersize=5, linewidth=1.4,
                  label=NAMES[engine])  # fmt: skip
        axis.vlines(tokens, medians, tops, color=colour, linewidth=0.8, alpha=0.6)
    read = sorted((f["tokens"], f["bandwidth_ms"]) for f in floors if f["bandwidth_ms"] is not None)
    if read:
        axis.plot(*zip(*read, strict=True), "-.", color=QUIET, linewidth=1, label="reading the weights once")
    axis.set_xscale("log")
    axis.set_yscale("log")
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        scale.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    lengths = sorted({row["tokens"] for row in text})
    axis.set_xticks(lengths, [str(tokens) for tokens in lengths])
    axis.grid(axis="y")
    axis.set_xlabel("tokens of the prompt (this machine; one question, prepared request to label logits)")
    if synthetic:
        axis.text(0.02, 0.97, SYNTHETIC, transform=axis.transAxes, va="top", fontsize=8, color=QUIET)
    axis.set_ylabel("milliseconds a question, median (bar: p95)")
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside right center", frameon=False)
    return titled(figure, _finding(text))


def _finding(text: Sequence[Row]) -> str:
    ratios = {row["tokens"]: row["ratios"].get("reference-graph") for row in text if row["engine"] == "graph"}
    known = [found["ratio"] for found in ratios.values() if found]
    if not known:
        return "Latency against tokens: the native graph was not measured"
    return f"Native graph: {min(known):.2f} to {max(known):.2f} of the time of the reference captured as it is"


def where_time_goes(profile: Sequence[Row]) -> Figure:
    """Device time of one replay by class of kernel, a bar an engine and length."""
    figure, (axis,) = canvas(8.5, 1.2 + 0.5 * max(len(profile), 1))
    names = [f"{item['engine']}, {item['tokens']} tokens" for item in profile]
    shown: set[str] = set()
    for place, item in enumerate(profile):
        left = 0.0
        for part in sorted(item["classes"], key=lambda part: list(CLASS_COLOUR).index(part["class"])):
            label = None if part["class"] in shown else part["class"]
            axis.barh(place, part["ms"], left=left, color=CLASS_COLOUR[part["class"]], label=label)
            shown.add(part["class"])
            left += part["ms"]
        axis.annotate(f"{item['launches']} kernels", (left, place), xytext=(4, -3), textcoords="offset points",
                      fontsize=8, color=QUIET)  # fmt: skip
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.margins(x=0.15)
    axis.set_xlabel("milliseconds of device time in one replay")
    if shown:
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower left", ncols=5, frameon=False)
    return titled(figure, "Where a replay's time goes" if profile else "No replay was profiled")


def rows_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Measured rows as a table: median, p95, ratio to the captured reference with its interval, memory, drift."""
    records = []
    for row in rows:
        if "ratios" not in row:
            continue
        ratio = row["ratios"].get("reference-graph", {})
        records.append({
            "workload": row["workload"], "tokens": row["tokens"], "engine": row["engine"], "samples": row["samples"],
            "median ms": row["median_ms"], "p95 ms": row["p95_ms"], "device ms": row["device_median_ms"],
            "first ms": row["cold_ms"], "ratio": ratio.get("ratio"), "low": ratio.get("low"), "high": ratio.get("high"),
            "peak GiB": row["peak_gib"], "drift": row["drift"], "class": row["class"],
        })  # fmt: skip
    return pd.DataFrame(records).set_index(["workload", "tokens", "engine"]) if records else pd.DataFrame()


def extras(measured: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is no row: floors by way, the cold stream, the adapter swap, and what was not measured."""
    if measured is None:
        return {}
    stream = measured.get("stream", {})
    return {
        "floors": {f["tokens"]: {w["way"]: w["median_ms"] for w in f["ways"]} for f in measured["floors"]},
        "stream": {name: stream[name] for name in ("capture_ms", "break_even_requests") if name in stream},
        "adapter swap": measured.get("adapter_swap", {}),
        "not measured": {item["phase"]: item["reason"] for item in measured["not_measured"]},
    }
