"""Pieces of the page: escaped text, tables, figures, notes. Everything a bundle says passes through `text`.

Covers: HTML strings that are safe whatever a bundle holds, and accessible: table heads with scope, captions, alternative
texts, regions that scroll. Does not cover: what is shown (the sections).
"""

from __future__ import annotations

import base64
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

LONGEST = 2000  # letters of one value; a bundle may hold anything
UNSHOWN = "\ufffd"  # stands for control and direction characters, which could rearrange a page
FIGURE = re.compile(r"[-+−]?\d[\d\u2009.]*(e[-+]\d+)?[×%]?")  # text that is aligned like a number
NONE, NONE_NUMBER = '<td class="narrow">–</td>', '<td class="number">–</td>'
NARROW = 18  # letters of a cell that is not broken into lines

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Raw:
    """HTML made here, to be put into a table cell as it is."""

    html: str


@dataclass(frozen=True)
class Section:
    """One part of the page. anchor: its id, and its place in the list of contents."""

    anchor: str
    title: str
    body: str


def text(value: object) -> str:
    """Any value as safe HTML text."""
    found = "–" if value is None else str(value)
    found = found if len(found) <= LONGEST else found[: LONGEST - 1] + "…"
    return escape("".join(UNSHOWN if _steers(c) else c for c in found), quote=True)


def _steers(character: str) -> bool:
    """Control, format, surrogate and separator characters: nothing a reader sees, but a browser acts on."""
    return character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def paragraph(content: object, kind: str = "") -> str:
    return f'<p class="{kind}">{text(content)}</p>' if kind else f"<p>{text(content)}</p>"


def listed(items: Iterable[object]) -> str:
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def details(summary: object, body: str) -> str:
    """Something long that is folded on a screen and open on paper."""
    return f"<details><summary>{text(summary)}</summary>{body}</details>"


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Cell | Raw]],
    failed: Sequence[bool] = (),
    strong: Sequence[bool] = (),
) -> str:
    """A table that scrolls sideways by itself. failed, strong: rows that stand out."""
    shown = [[*map(cell, row)] for row in rows]
    aligned = [_is_figures([row[i] for row in shown if i < len(row)]) for i in range(len(header))]
    head = "".join(f'<th scope="col"{" class=number" if right else ""}>{text(name)}</th>' for name, right in zip(header, aligned, strict=False))
    body = []
    for index, row in enumerate(shown):
        kinds = [name for name, flags in (("failed", failed), ("strong", strong)) if index < len(flags) and flags[index]]
        kind = f' class="{" ".join(kinds)}"' if kinds else ""
        lined = (NONE_NUMBER if item == NONE and aligned[i] else item for i, item in enumerate(row))
        body.append(f"<tr{kind}>" + "".join(lined) + "</tr>")
    if not body:
        return ""
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(caption)}"><table>'
        f"<caption>{text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _is_figures(column: Sequence[str]) -> bool:
    """Whether a column holds figures, and nothing else but dashes."""
    figures = sum(item.startswith('<td class="number"') for item in column)
    return 0 < figures == len(column) - column.count(NONE)


def cell(value: Cell | Raw) -> str:
    if isinstance(value, Raw):
        return f"<td>{value.html}</td>"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td class="number">{number(value)}</td>'
    told = {True: "yes", False: "no", None: "–"}[value] if value is None or isinstance(value, bool) else value
    kind = ' class="number"' if FIGURE.fullmatch(told) else ' class="narrow"' if len(told) <= NARROW else ""
    return f"<td{kind}>{text(told)}</td>"


def number(value: float | None) -> str:
    """A figure for people: whole numbers with thin spaces, others to four digits."""
    if value is None:
        return "–"
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}".replace(",", "\u2009")
    return f"{value:.4g}"


def facts(pairs: Iterable[tuple[str, Cell | Raw]]) -> str:
    """Names and values, side by side where there is room."""
    items = "".join(
        f"<div><dt>{text(name)}</dt><dd>{value.html if isinstance(value, Raw) else _shown(value)}</dd></div>"
        for name, value in pairs
    )
    return f'<dl class="facts">{items}</dl>'


def _shown(value: Cell) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else text(value)


def mark(passed: bool, word: str = "") -> Raw:
    """Pass or fail, told by a word and not by colour alone."""
    kind, said = ("ok", word or "pass") if passed else ("bad", word or "FAIL")
    return Raw(f'<span class="{kind}">{text(said)}</span>')


def picture(name: str, png: bytes, caption: str) -> str:
    """A PNG inlined. name: its file, for the alternative text."""
    data = base64.b64encode(png).decode()
    return (
        f'<figure><img alt="{text(caption)}" src="data:image/png;base64,{data}" loading="eager">'
        f"<figcaption>{text(caption)} <span class='quiet'>({text(name)})</span></figcaption></figure>"
    )


def chart(svg: str, caption: str) -> str:
    return f'<figure class="chart">{svg}<figcaption>{text(caption)}</figcaption></figure>'


def ordered(values: Mapping[str, object], first: Sequence[str]) -> list[str]:
    """Names of a mapping, the known ones first."""
    return [*(name for name in first if name in values), *(name for name in values if name not in first)]
