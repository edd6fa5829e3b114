"""The floor for people: one line a form, kind of prompt and measure, with intervals; and the last line as JSON.

Covers: the table of `kit floor` and its JSON line. Does not cover: measuring (`running`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kit.campaign.floor.document import GROUPS, MEASURES, QUANTILES
from kit.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

TITLES = {"hidden": "hidden row, relative RMS", "steps": "logits, BF16 steps", "probability": "probability"}


def show(document: Mapping[str, Any]) -> None:
    """Print one table a form: a section a kind of prompt, a line a measure."""
    out = console(markup=True)
    out.print(document["says"])
    for form in document["forms"]:
        head = f"[bold]{form['name']}[/bold]: {form['detail']}; moves the oracle by {form['proof']['largest']:.1e}"
        out.print(f"\n{head}")
        groups = document["summary"].get(form["name"])
        out.print(_table(groups) if groups else "not measured, as it is not harmless")


def _table(groups: Mapping[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("questions", "change of", *QUANTILES, "p99, 95% interval", "flips"):
        table.add_column(column, justify="left" if column == "change of" else "right", no_wrap=True)
    for group in [group for group in GROUPS if group in groups]:
        found = groups[group]
        for measure in MEASURES:
            values = [f"{found[measure][name]['value']:.3g}" for name in QUANTILES]
            sure = f"{found[measure]['p99']['low']:.3g} to {found[measure]['p99']['high']:.3g}"
            first = measure == MEASURES[0]
            counted, flips = (f"{found['questions']} {group}", str(found["flips"])) if first else ("", "")
            table.add_row(counted, TITLES[measure], *values, sure, flips, end_section=measure == MEASURES[-1])
    return table


def line(document: Mapping[str, Any]) -> dict[str, Any]:
    """The last line: questions, forms and the band."""
    return {
        "questions": len(document["rows"]),
        "generated": sum(row["source"] == "generated" for row in document["rows"]),
        "forms": [form["name"] for form in document["forms"]],
        "harmless": [form["name"] for form in document["forms"] if form["proof"]["holds"]],
        "band": document["band"],
    }
