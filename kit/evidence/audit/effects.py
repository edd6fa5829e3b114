"""How far other input moves the reference on these weights (signal.json); no gate reads it."""

from __future__ import annotations

import statistics
from typing import Sequence

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json
from kit.evidence.audit.values import short


def check_signal(bundle: Bundle) -> None:
    """Floor and effects are of this checkpoint and corpus, and their summary follows from the questions.

    No gate reads them: they say what drift on these weights can mean.
    """
    if not bundle.operators:
        return
    document = bundle.json("signal.json")
    if bundle.recorded_engines:
        bundle.expect(
            "signal.json checkpoint_digest",
            document["checkpoint_digest"],
            bundle.json("checkpoint.json")["digest"],
        )
    known = {case["id"]: case["request"]["questions"] for case in bundle.corpus()}
    questions = document["questions"]
    for question in questions:
        if question["question"] not in known.get(question["request"], {}):
            bundle.fail(
                "signal.json %s" % short(question["request"]),
                "was not asked %s" % short(question["question"]),
            )
    if not questions:
        bundle.fail("signal.json", "measures nothing")
    else:
        bundle.expect("signal.json summary", document["summary"], signal_summary(questions))


def signal_summary(questions: Sequence[Json]) -> Json:
    """Medians and extremes of what each change did to rows and logits, and what rounding alone did."""
    spread = {}
    for name in ("floor", "swap", "adapter", "image"):
        rows = [question[name]["row"] for question in questions if name in question]
        steps = [question[name]["steps"] for question in questions if name in question]
        if rows:
            spread[name] = {
                "row_median": statistics.median(rows), "row_min": min(rows), "row_max": max(rows),
                "steps_mean": statistics.fmean(steps), "steps_max": max(steps),
            }  # fmt: skip
    ratio = {
        effect: {
            kind: spread[effect][name] / spread["floor"][name] if spread["floor"][name] else None
            for kind, name in (("row", "row_median"), ("steps", "steps_mean"))
        }
        for effect in spread
        if effect != "floor"
    }
    chances = sorted(question["probability"] for question in questions)
    return dict(
        spread,
        questions=len(questions),
        ratio=ratio,
        logits=[min(q["logits"][0] for q in questions), max(q["logits"][1] for q in questions)],
        probability=[chances[0], statistics.median(chances), chances[-1]],
    )
