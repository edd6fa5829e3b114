"""The trials as tables for people: a fault and dose a line, a gate a column.

A cell says how many questions (of how many) a gate saw the fault on, that of the oracle which of its comparisons saw
it; a dot is none. Does not cover: the figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from kit.campaign.planted.document import named
from kit.campaign.planted.tiers import ORACLE
from kit.terminal import console

HEADS = {
    "bitwise": "bitwise", "steps": "steps", "oracle": "oracle", "gates": "seed gates", "lattice": "lattice", "repeats": "repeats",
}  # fmt: skip


def show(document: Mapping[str, Any]) -> None:
    """Both tables and what was missed."""
    out = console()
    if document["faults"]:
        out.print(faults_table(document))
    if document["controls"]:
        out.print(controls_table(document))
    for line in sentences(document):
        out.print(line)


def faults_table(document: Mapping[str, Any]) -> Table:
    table = Table(title="Planted faults: questions on which each gate saw them", title_justify="left")
    for head in ("fault", "dose"):
        table.add_column(head, no_wrap=True)
    for head in HEADS.values():
        table.add_column(head, justify="right")
    table.add_column("over HTTP")
    table.add_column("first stage", no_wrap=True)
    for fault in document["faults"]:
        for number, row in enumerate(fault["doses"]):
            table.add_row(
                "" if number else fault["name"], row["dose"], *_cells(row), _over_http(row), row["stage"],
                end_section=number + 1 == len(fault["doses"]),
            )  # fmt: skip
    return table


def controls_table(document: Mapping[str, Any]) -> Table:
    table = Table(title="Harmless changes: none may be seen (* changes of rounding: bits are not asked)", title_justify="left")
    table.add_column("control", no_wrap=True)
    table.add_column("what changes")
    for head in HEADS.values():
        table.add_column(head, justify="right")
    table.add_column("alarm")
    for control in document["controls"]:
        alarm = Text(", ".join(control["alarms"]) or "none", style="bold red" if control["alarms"] else "")
        table.add_row(control["name"] + ("*" if control["rounding"] else ""), control["summary"], *_cells(control), alarm)
    return table


def _cells(row: Mapping[str, Any]) -> Iterator[Text]:
    for name in HEADS:
        found = _oracle(row) if name == "oracle" else _counted(row["columns"][name])
        yield Text(found, style="dim" if found in ("·", "") else "bold")


def _counted(column: Mapping[str, Any]) -> str:
    if column["count"]:
        return f"{column['count']}/{column['of']}"
    return "·" if column["of"] else ""


def _oracle(row: Mapping[str, Any]) -> str:
    """By which of its four comparisons the oracle saw it."""
    parts = {name: row["columns"][name] for name in ORACLE}
    seen = [name for name, column in parts.items() if column["count"]]
    return " ".join(seen) or ("·" if any(column["of"] for column in parts.values()) else "")


def _over_http(row: Mapping[str, Any]) -> Text:
    if row["tiers"]["http"]:
        return Text("seen", style="bold")
    more = row["also_over_http"]
    return Text(f"missed; seen on {', '.join(more[:2])}" if more else "missed")


def sentences(document: Mapping[str, Any]) -> list[str]:
    """What the tables come to."""
    summary = document["summary"]
    lines = []
    if not summary["faults"] and not summary["controls"]:
        return ["Nothing was planted"]
    for tier, words in (("bits", "Bits"), ("truth", "Steps and oracle"), ("http", "Probabilities over HTTP")):
        found = summary["tiers"][tier]
        lines.append(
            f"{words}: {found['faults']} of {summary['faults']} faults, {found['doses']} of {summary['doses']} doses, "
            f"{found['false_alarms']} false alarms on {summary['controls']} controls"
        )
    for tier in ("truth", "http"):
        if summary["missed"][tier]:
            lines.append(f"Not seen by {'steps and oracle' if tier == 'truth' else 'HTTP'}: {', '.join(summary['missed'][tier])}")
    helped = [
        named(fault["name"], row["dose"]) for fault in document["faults"] for row in fault["doses"] if row["also_over_http"]
    ]
    if helped:
        lines.append(f"Of these, seen over HTTP on longer or generated requests: {', '.join(helped)}")
    return lines
