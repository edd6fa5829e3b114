"""A diff as tables for people: what changed, what it did to answers, where it did most, and to latencies.

Covers: text for a terminal or a file; long lists are cut and say so. Does not cover: the figures themselves.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.table import Table

from kit.campaign.diff.judgement import NO_FLOOR, changes_by_kind
from kit.terminal import console

# Of a long list of changes these are shown first.
FIRST = (
    "torch", "triton", "transformers", "peft", "fla", "flash-linear-attention", "fla-core", "numpy", "accelerate", "safetensors",
    "tokenizers", "kit/", "params/", "notebooks/", "driver", "name", "cuda",
)  # fmt: skip
MOST_CHANGES, MOST_QUESTIONS, LONGEST = 8, 12, 60


def show(document: dict[str, Any]) -> None:
    """Print all tables to standard output."""
    out = console()
    for side in ("a", "b"):
        facts = document[side]
        out.print(
            f"{side.upper()}: {facts['name']}  {facts['bundle_sha256'][:16]}  audit {facts['audit']}, verdict {facts['verdict']}, {facts['signature'][:60]}"
        )
    for table in tables(document):
        out.print(table)
    for line in remarks(document):
        out.print(line)


def tables(document: dict[str, Any]) -> Iterator[Table]:
    """The tables that have rows."""
    if document["changes"]:
        yield changes_table(document)
    yield engines_table(document["engines"])
    worst = worst_questions(document["rows"])
    if worst:
        yield questions_table(worst)
    if document["latency"]:
        yield latency_table(document["latency"])


def remarks(document: dict[str, Any]) -> Iterator[str]:
    """What the tables do not say, and the verdict in words."""
    if not document["changes"]:
        yield "nothing that the bundles state about the runs changed"
    for side, names in document["only_in"].items():
        if names:
            yield f"engines in {side.upper()} only, not compared: {', '.join(names)}"
    for item in document["lost"][:MOST_QUESTIONS]:
        yield f"lost: {item['engine']} {item['request']}/{item['question']} ({item['reason']})"
    for (questions, reason), count in Counter((item["questions"], item["reason"]) for item in document["unmatched"]).items():
        yield f"not compared: {count} answers to {questions} questions ({reason})"
    if any((change["kind"], change["what"]) == ("checkpoint", "digest") for change in document["changes"]):
        yield "the weights differ: this compares two models, not two ways to run one"
    if not document["floor"]:
        yield f"noise floor: {NO_FLOOR}"
    if document["latency"]:
        yield "latencies are of two runs: another machine, load or clock changes them as well as code does"
    for reason in document["reasons"]:
        yield f"changed: {reason}"
    if document["verdict"] == "same":
        yield "same: no decision changed, and nothing is beyond the gates" + (" or A's noise floor" if document["floor"] else "")


def changes_table(document: dict[str, Any]) -> Table:
    table = Table("changed", "what", "A", "B", title="What changed")
    for kind, found in changes_by_kind(document):
        for change in sorted(found, key=_importance)[:MOST_CHANGES]:
            table.add_row(kind, *(_short(change[key]) for key in ("what", "a", "b")))
        if len(found) > MOST_CHANGES:
            table.add_row(kind, f"and {len(found) - MOST_CHANGES} more", "", "")
    return table


def engines_table(engines: Sequence[dict[str, Any]]) -> Table:
    heads = (
        "engine", "questions", "rows equal", "logits equal", "bits (row)", "row, relative RMS", "steps", "probability", "flipped",
        "beyond gates", "beyond floor",
    )  # fmt: skip
    table = Table(*heads, title="Answers of B against A (largest of each)")
    for e in engines:
        of = e["compared"]
        table.add_row(
            e["engine"], f"{of} {e['questions']}", _of(e["hidden_same"], of), _of(e["logits_same"], of), _figure(e["max_hidden_bits"]),
            _figure(e["max_hidden_rms"]), _figure(e["max_steps"]), _figure(e["max_probability_drift"]), str(e["flipped"]),
            str(e["beyond_gates"]), "no floor" if e["beyond_floor"] is None else str(e["beyond_floor"]),
        )  # fmt: skip
    return table


def worst_questions(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Questions that differ: flipped ones first, then those beyond gates or floor, then by drift."""

    def order(row: dict[str, Any]) -> tuple[bool, bool, float, float]:
        beyond = bool(row["beyond_gates"] or row["beyond_floor"])
        return not row["flipped"], not beyond, -row["probability_drift"], -(row["steps"] or 0)

    return sorted(folded(row for row in rows if _differs(row)), key=order)


def folded(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Engines that differ in the same way on the same question as one row, which names them all."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        alike = {key: value for key, value in row.items() if key != "engine"}
        groups.setdefault(json.dumps(alike, sort_keys=True), []).append(row)
    return [{**group[0], "engine": ", ".join(row["engine"] for row in group)} for group in groups.values()]


def questions_table(rows: Sequence[dict[str, Any]]) -> Table:
    shown = rows[:MOST_QUESTIONS]
    title = f"Where B differs most ({len(shown)} of {len(rows)} questions that differ)"
    table = Table("engines", "question", "A decides", "B decides", "A's margin", "steps", "probability", "beyond", title=title)
    for row in shown:
        beyond = [*row["beyond_gates"], *(f"floor: {figure}" for figure in row["beyond_floor"] or ())]
        winner = row["winner_b"] if row["flipped"] else "the same"
        table.add_row(
            row["engine"], _short(f"{row['request']}/{row['question']}"), row["winner_a"], winner, _figure(row["margin_a"]),
            _figure(row["steps"]), _figure(row["probability_drift"]), ", ".join(beyond),
        )  # fmt: skip
    return table


def latency_table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table("engine", "workload", "A, ms", "B, ms", "B/A", "95% interval", "B is", title="Latency")
    for row in rows:
        interval = "too few samples" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}"
        table.add_row(
            row["engine"], row["workload"], f"{row['a_ms']:.4g}", f"{row['b_ms']:.4g}", f"{row['ratio']:.3f}", interval, row["changed"]
        )
    return table


def _importance(change: dict[str, str]) -> int:
    """Place among FIRST, the rest in their own order behind."""
    what = change["what"]
    places = (i for i, name in enumerate(FIRST) if what == name or (name.endswith("/") and what.startswith(name)))
    return next(places, len(FIRST))


def _differs(row: dict[str, Any]) -> bool:
    return bool(row["probability_drift"] or row["logit_bits"] or row["hidden_same"] is False or row["beyond_gates"])


def _of(count: int | None, whole: int) -> str:
    return "not recorded" if count is None else f"{count} of {whole}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
