"""How far other input moves the reference on these weights (signal.json); no gate reads it."""

from __future__ import annotations

import statistics
from typing import Dict, Iterator, List, Sequence, Tuple

from kit.evidence.audit.drift import measured
from kit.evidence.audit.numbers import floats, softmax
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import Json
from kit.evidence.audit.values import short

# Which questions are measured: distinct prompts of each modality, short ones and first questions first.
PROMPTS = (("text", 16), ("image", 8))
LONGEST = 512
NOISE = "row 0 of a batch of two copies against the row alone"


def check_signal(bundle: Bundle) -> None:
    """Floor and effects are of this checkpoint and of the reference's records; their summary follows from the questions.

    No gate reads them: they say what drift on these weights can mean. How far a change moved a row is the
    stage's own word, for the changed forward is recorded nowhere.
    """
    if not bundle.operators:
        return
    document = bundle.json("signal.json")
    bundle.expect("signal.json floor", document["floor"], NOISE)
    bundle.expect(
        "signal.json checkpoint_digest", document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"]
    )
    questions = document["questions"]
    if not questions:
        bundle.fail("signal.json", "measures nothing, expected questions")
        return
    bundle.expect("signal.json summary", document["summary"], signal_summary(questions))
    known = {case["id"]: case["request"]["questions"] for case in bundle.corpus()}
    for question in questions:
        if question["question"] not in known.get(question["request"], {}):
            bundle.fail("signal.json %s" % short(question["request"]), "was not asked %s" % short(question["question"]))
    if bundle.reference in bundle.recorded_engines:
        compare_with_reference(bundle, questions)
    else:
        bundle.leave("signal.json against a reference (none ran)")


def compare_with_reference(bundle: Bundle, questions: List[Json]) -> None:
    """The questions are those that must be measured, with the tokens, logits and probability that were recorded."""
    planned = list(planned_questions(bundle))
    found = [(question["request"], question["question"]) for question in questions]
    bundle.expect("signal.json questions", found, [(case["id"], name) for case, name, _ in planned])
    for question, (case, name, line) in zip(questions, planned):
        where = "signal.json %s/%s" % (case["id"], name)
        logits = floats(line["logits"])
        told = {key: question[key] for key in ("modality", "tokens", "logits", "probability")}
        chance = max(softmax(logits, bundle.temperatures()[case["modality"]]))
        expected = {
            "modality": case["modality"], "tokens": line["tokens"], "logits": [min(logits), max(logits)],
            "probability": chance,
        }  # fmt: skip
        compare_figures(bundle, where, told, expected)
        bundle.expect("%s image" % where, "image" in question, case["modality"] == "image")
        for change in ("floor", "swap", "adapter", "image"):
            moved = question.get(change, {"row": 0.0, "steps": 0.0})
            if moved["row"] < 0 or moved["steps"] < 0 or (moved["steps"] and not moved["row"]):
                bundle.fail("%s %s" % (where, change), "moves logits by %s steps and the row by %s, expected distances of 0 or more" % (moved["steps"], moved["row"]))


def planned_questions(bundle: Bundle) -> Iterator[Tuple[Json, str, Json]]:
    """(request, question, the reference's line) of every question that must be measured, in order."""
    sides, seen = measured(bundle, bundle.reference), set()
    found: Dict[str, List[Tuple[bool, int, Json, str, Json]]] = {kind: [] for kind, _ in PROMPTS}
    for case in bundle.corpus():
        for turn, name in enumerate(case["request"]["questions"]):
            line = sides[case["id"]].lines[name]
            if line["hidden"] not in seen:  # one prompt, one row: the same prompt again is not measured again
                seen.add(line["hidden"])
                found[case["modality"]].append((line["tokens"] > LONGEST, turn, case, name, line))
    for kind, count in PROMPTS:
        for _, _, case, name, line in sorted(found[kind], key=lambda entry: entry[:2])[:count]:
            yield case, name, line


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
