"""Right answers of a judged profile: by engine and pass, the wrong ones by name, confidence against being right.

Covers: the part of the page about what `expected` says. A profile that is not judged has no such part; the top of the
page says so. Does not cover: drift, which no right answer makes up for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.evidence.report.html import Section, details, number, paragraph, table
from kit.evidence.report.reading import RunFiles


def right_answers(run: RunFiles) -> Section | None:
    """Counts, wrong answers, McNemar's test between engines, and the bins of the reliability diagram."""
    found = run.json("drift.json").get("accuracy")
    if not found:
        return None
    least = run.json("profile.json").get("protocol", {}).get("least_right", 0)
    asked = f"{number(least)} of {number(found['requests'])} requests must be right in every question." if least else "No number is demanded."
    body = paragraph(
        "Every question of the protocol has one answer that a careful person gives. These are counted beside the drift: being "
        f"right repairs none of it, and the gates compare with the reference, right or wrong. {asked}"
    )
    body += table(
        "Right answers of every engine and measured pass",
        ("engine", "pass", "right", "of", "requests wholly right", "of"),
        [(p["engine"], p["pass"], p["correct"], p["of"], p["requests_right"], found["requests"]) for p in found["passes"]],
    )
    wrong = [(p["engine"], w) for p in found["passes"] if p["pass"] == 1 for w in p["wrong"]]
    body += table(
        "Wrong answers of the first pass; margin: how far the chosen one leads",
        ("engine", "request", "question", "expected", "chosen", "margin"),
        [(engine, w["request"], w["question"], w["expected"], w["chosen"], w["margin"]) for engine, w in wrong],
    ) if wrong else paragraph("No engine got a question wrong in its first pass.")  # fmt: skip
    body += table(
        "Between engines: right answers lost and won, and McNemar's exact p, which needs six answers right on one side only",
        ("engine", "against", "lost", "won", "p"),
        [(m["engine"], m["against"], m["lost"], m["won"], "not enough" if m["p"] is None else m["p"]) for m in found["mcnemar"]],
    )
    body += reliability_table("Engines", {item["engine"]: item for item in found["reliability"]})
    return Section("right-answers", "Right answers", body)


def reliability_table(title: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """Confidence against being right: one line a bin; the expected calibration error of each side above them."""
    errors = ", ".join(f"{name} {number(item['ece'])}" for name, item in found.items())
    rows = [
        (name, one["over"], one["to"], one["questions"], one["confidence"], one["right"], one["right"] / one["questions"])
        for name, item in found.items()
        for one in item["bins"]
    ]
    header = ("side", "confidence over", "to", "answers", "mean confidence", "right", "share")
    return paragraph(f"Expected calibration error: {errors}.") + details(
        f"{title}: confidence against being right", table("Bins of the reliability diagram", header, rows)
    )
