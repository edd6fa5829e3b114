"""A pair of layers.json for people: a table with one row a layer, the finding in sentences, a step histogram.

Covers: what `kit bisect` prints, and the heat map as a file. Does not cover: the figures themselves
(`kit.campaign.layer_drift`), or drawing them (`kit.campaign.layer_figures`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from kit.campaign.layer_drift import bins, place
from kit.terminal import console

COLUMNS = {"mixer": "mixer / attention", "mlp": "MLP", "residual": "residual", "state": "GDN state"}


def show(pair: Mapping[str, Any]) -> None:
    """The table with one row a layer, the first stage over its bound, and its histogram."""
    out = console()
    out.print(layer_table(pair))
    for line in sentences(pair):
        out.print(line, soft_wrap=True)
    if any(any(prompt["different"]) for prompt in pair["prompts"]):
        out.print(histogram_table(pair))


def layer_table(pair: Mapping[str, Any]) -> Table:
    """Worst relative RMS over the prompts; "=" where no bit differs, "!" behind what is over its bound."""
    prompts = pair["prompts"]
    table = Table(title=f"{pair['engine']} against {pair['against']}: relative RMS of each stage", title_justify="left")
    table.add_column("stage")
    for header in COLUMNS.values():
        table.add_column(header, justify="right")
    rows: dict[str, dict[str, Text]] = {}
    for stage, value in pair["worst"].items():
        row, column = place(stage)
        rows.setdefault(row, {})[column] = _cell(value, *_counts(prompts, stage))
    for row, cells in rows.items():
        table.add_row(row, *(cells.get(column, "") for column in COLUMNS))
    return table


def _counts(prompts: Sequence[Mapping[str, Any]], stage: str) -> tuple[bool, bool]:
    """Whether a bit of a stage differs in any prompt, and whether it is over its bound in any."""
    places = [(prompt, prompt["stages"].index(stage)) for prompt in prompts if stage in prompt["stages"]]
    return any(prompt["different"][i] for prompt, i in places), any(prompt["over"][i] for prompt, i in places)


def _cell(value: float | None, differs: bool, over: bool) -> Text:
    shown = "=" if not differs else "differs" if value is None else f"{value:.2g}"
    return Text(f"{shown} !", style="bold red") if over else Text(shown)


def sentences(pair: Mapping[str, Any]) -> list[str]:
    """The finding in words: bound, and per prompt the first stage over it."""
    lines = [f"Bound: {pair['reason']}."]
    for prompt in pair["prompts"]:
        what = f"{prompt['request']} / {prompt['question']} ({prompt['tokens']} tokens): "
        first = prompt["first_over"]
        if first is None:
            differing = sum(map(bool, prompt["different"]))
            within = f"{differing} differ and all are within the bound" if differing else "no bit differs"
            lines.append(f"{what}{len(prompt['stages'])} stages, {within}.")
            continue
        i = prompt["stages"].index(first)
        size = prompt["problems"].get(first) or _size(prompt, i)
        lines.append(f"{what}first over its bound is {first}: {size}; {sum(prompt['over'])} of {len(prompt['stages'])} stages are.")
    return lines


def _size(prompt: Mapping[str, Any], i: int) -> str:
    count = f"{prompt['different'][i]:,} of {prompt['elements'][i]:,} values differ"
    rms, limit = prompt["relative_rms"][i], prompt["limit"][i]
    if rms is None:
        return count
    allowed = "" if limit is None else f" (allowed {limit:.2g})"
    return f"{count}, relative RMS {rms:.2g}{allowed}, up to {prompt['max_steps'][i]:.3g} BF16 steps"


def histogram_table(pair: Mapping[str, Any]) -> Table:
    """Values by BF16 steps, over all prompts: of each prompt's first stage over its bound, and of the hidden row."""
    totals: dict[str, list[int]] = {}
    for prompt in pair["prompts"]:
        for stage, counts in prompt["histograms"].items():
            totals[stage] = [a + b for a, b in zip(totals.get(stage, [0] * len(counts)), counts, strict=True)]
    table = Table(title="Values by how many BF16 steps they are off", title_justify="left")
    table.add_column("steps")
    for stage in totals:
        table.add_column(stage, justify="right")
    for index, name in enumerate(bins()):
        table.add_row(name, *(f"{counts[index]:,}" for counts in totals.values()))
    return table


def png(pair: Mapping[str, Any]) -> bytes:
    """The heat map as a file."""
    from kit.campaign.figures import png_of
    from kit.campaign.layer_figures import layer_heat_map

    return png_of(layer_heat_map(pair))
