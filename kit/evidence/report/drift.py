"""How far apart the answers are: one question's logits on their rungs, every question's drift, and the noise floor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kit.evidence.floats import decode_float32, decode_float64
from kit.evidence.report.accuracy import reliability_table
from kit.evidence.report.charts import Marks, Strip, ladder, strip
from kit.evidence.report.html import Cell, Section, chart, details, listed, number, paragraph, table, text
from kit.evidence.report.reading import Answered, RunFiles

FLOOR, GENERATED = "records/floor.json", "records/generated.jsonl"
LISTED = 10


def logits(run: RunFiles) -> Section | None:
    """The question that a gate sees the smallest move of, and a generated one with the oracle beside it."""
    charts = [*_protocol_ladder(run), *_generated_ladder(run)]
    if not charts:
        return None
    body = paragraph(
        "A label logit is a BF16 number, so it can stand on rungs only: 1/8 apart from 16 to 32, 1/16 from 8 to 16, finer below. "
        "A step from rung to rung is the unit drift happens in; what it does to a probability depends on the question."
    )
    return Section("ladder", "Logits on their rungs", body + "".join(charts))


def _protocol_ladder(run: RunFiles) -> Iterator[str]:
    rows = [row for row in run.json("drift.json").get("rows", []) if row.get("detectable_steps") is not None]
    answers = run.answers(run.reference) if run.reference and rows else {}
    rows = [row for row in rows if (row["request"], row["question"]) in answers]
    if not rows:
        return
    row = min(rows, key=lambda row: (-row["max_steps"] if row["max_steps"] else 0, row["detectable_steps"], _width(answers, row)))
    key = (row["request"], row["question"])
    sides = {"reference": answers[key].logits}
    for engine in run.json("profile.json").get("campaign", {}).get("engines", []):
        found = {} if engine == run.reference else run.answers(engine)
        if key in found and len(found[key].logits) == len(answers[key].logits):
            sides[str(engine)] = found[key].logits
    moved = max((r["max_steps"] or 0 for r in rows if (r["request"], r["question"]) == key), default=0)
    said = f"the largest move is {number(moved)} steps" if moved else "all engines stand on the reference's rungs"
    said = said if len(sides) > 1 else "the reference stands alone, as no other engine's logits are known"
    yield f"<h3>{text(key[0])} / {text(key[1])}</h3>"
    seen = f"{number(row['detectable_steps'])} BF16 step{'s' if row['detectable_steps'] != 1 else ''}"
    yield paragraph(f"Here {said}; the first move of one logit that a gate sees is {seen}.")
    yield chart(ladder(Marks(answers[key].candidates, sides)), "Label logits of one question; each mark tells its value when pointed at")


def _width(answers: Mapping[tuple[str, str], Answered], row: Mapping[str, Any]) -> tuple[int, float]:
    """Questions of four to six candidates near each other show rungs best."""
    values = sorted(answers[row["request"], row["question"]].logits, reverse=True)
    return int(not 4 <= len(values) <= 6), values[0] - values[min(3, len(values) - 1)]


def _generated_ladder(run: RunFiles) -> Iterator[str]:
    """The generated question whose winner leads least, of those the oracle was asked."""
    known = [line for line in run.lines(GENERATED)[1:] if line.get("oracle") and len(line.get("candidates", ())) >= 3]
    if not known:
        return
    engine = str(run.lines(GENERATED)[0].get("candidate"))
    line = min(known, key=lambda line: _lead(decode_float32(line["reference"]["logits"])))
    sides = {
        "reference": decode_float32(line["reference"]["logits"]),
        "oracle": decode_float64(line["oracle"]["logits"]),
        engine: decode_float32(line["candidate"]["logits"]),
    }
    yield f"<h3>{text(line['request'])}: with the oracle</h3>"
    yield paragraph(
        "The generated question whose winner leads least. The green bar is the same model in FP64: between rungs, where neither "
        "side can stand."
    )
    yield chart(ladder(Marks(tuple(map(str, line["candidates"])), sides)), "Reference, candidate and oracle on one question")


def _lead(values: tuple[float, ...]) -> float:
    first, second = sorted(values, reverse=True)[:2]
    return first - second


# ---------------------------------------------------------------- drift


def drift(run: RunFiles) -> Section | None:
    """The largest drift of each comparison, every question on a strip, and the ten that drift most."""
    document, verdict = run.json("drift.json"), run.verdict
    rows = document.get("rows", [])
    if not rows or not verdict.get("drift"):
        return None
    worst = document.get("worst", {})
    body = table(
        "Largest drift of each engine",
        ("engine / against", "probability", "confidence", "noul", "expected score", "BF16 steps"),
        [
            (pair, d["probability"], d["confidence"], d["noul"], d["expected_value"], worst.get(pair, {}).get("max_steps"))
            for pair, d in verdict["drift"].items()
        ],
    )
    body += "".join(_strips(run, rows))
    order = sorted(rows, key=lambda row: (-row["probability_drift"], row["detectable_steps"] or 1e9, row["request"]))[:LISTED]
    body += table(
        "The ten questions with the largest drift; then those a gate sees best. Visible from: BF16 steps of one label logit",
        ("engine", "against", "request", "question", "margin", "drift", "steps", "visible from"),
        [
            (
                r["engine"], r["against"], r["request"], r["question"], r["reference_margin"], r["probability_drift"],
                r["max_steps"], r["detectable_steps"],
            )
            for r in order
        ],
    )  # fmt: skip
    if document.get("missing"):
        body += "<h3>Not compared</h3>" + listed(
            f"{m['engine']} / {m['against']}: {m['request']} / {m['question']}: {m['reason']}" for m in document["missing"]
        )
    return Section("drift", "Drift", body)


def _strips(run: RunFiles, rows: list[dict[str, Any]]) -> Iterator[str]:
    against = "fresh" if any(row["against"] == "fresh" for row in rows) else rows[0]["against"]
    mine = [row for row in rows if row["against"] == against]
    questions = sorted({(row["modality"] != "text", row["request"], row["question"]) for row in mine})
    place = {key[1:]: index for index, key in enumerate(questions)}
    kinds = ["image" if key[0] else "text" for key in questions]
    groups = [(kind, kinds.index(kind), len(kinds) - 1 - kinds[::-1].index(kind)) for kind in dict.fromkeys(kinds)]
    band = run.json(FLOOR).get("band", {})
    gate = run.json("profile.json").get("gates", {}).get("probability", 0.02)
    for measure, key, bound, title in (
        ("probability", "probability_drift", float(gate), f"Largest change of a probability, question by question, against the {against} reference"),
        ("steps", "max_steps", None, "Largest change of a logit difference, in BF16 steps of the reference"),
    ):  # fmt: skip
        points = {
            engine: [
                (place[row["request"], row["question"]], float(row[key]), f"{row['request']} / {row['question']}")
                for row in mine
                if row["engine"] == engine and row[key] is not None
            ]
            for engine in dict.fromkeys(str(row["engine"]) for row in mine)
        }
        if any(points.values()):
            found = {kind: float(values[measure]) for kind, values in band.items()}
            drawn = strip(Strip(title, {name: p for name, p in points.items() if p}, groups, bound, found))
            note = (
                "yellow: how far the reference is from itself under harmless changes (99% of generated questions)"
                if band
                else "no noise floor was measured for this run"
            )
            yield f'<div class="scroll wide" role="region" tabindex="0" aria-label="{text(title)}">{chart(drawn, note)}</div>'


# ---------------------------------------------------------------- noise floor


def floor(run: RunFiles) -> Section | None:
    """The reference against itself under changes proven harmless."""
    document = run.json(FLOOR)
    if not document:
        return None
    rows: list[tuple[Cell, ...]] = []
    for form, groups in document["summary"].items():
        for group, found in groups.items():
            rows.append((form, group, found["questions"], found["flips"], *(_interval(found[name]) for name in ("hidden", "steps", "probability"))))
    body = paragraph(document.get("says"))
    body += table(
        "99th percentile and its 95% interval, resampled by content",
        ("change", "questions", "count", "flips", "hidden row, relative", "BF16 steps", "probability"),
        rows,
    )
    body += table(
        "Changes that were tried, each first proven harmless on the FP64 oracle",
        ("change", "what", "on this machine", "measured"),
        [(form["name"], form["what"], form["detail"], bool(form["measured"])) for form in document["forms"]],
    )
    return Section("floor", "Noise floor of the reference", body)


def _interval(found: Mapping[str, Any]) -> str:
    p99 = found["p99"]
    return f"{number(p99['value'])} ({number(p99['low'])} to {number(p99['high'])})"


# ---------------------------------------------------------------- generated questions


def generated(run: RunFiles) -> Section | None:
    """Flips with their exact bound, divergence, right answers lost and won, distance from the oracle."""
    document = run.json("generated.json")
    strata = [(name, document[name]) for name in ("all", "text", "image") if name in document]
    if not strata:
        return None
    body = paragraph(
        f"{number(document['reached'])} of {number(document['declared'])} questions made from seed {document['seed']}, answered by the "
        f"reference and by the {document['candidate']} engine. Tie rule: {document['tie_rule']}."
    )
    body += table(
        f"Changed winners; the bound is the exact {100 * float(document['confidence']):g}% one",
        ("questions", "count", "contents", "flips", "rate is under", "ties", "hidden rows that differ", "largest steps",
         "probability, p99", "largest", "KL, mean", "p99", "largest"),
        [
            (
                name, found["questions"], found["contents"], found["flips"], f"{100 * found['flip_rate_upper']:.3g}%", found["ties"],
                found["hidden_different"], found["steps"]["max"], found["probability"]["p99"], found["probability"]["max"],
                found["kl"]["mean"], found["kl"]["p99"], found["kl"]["max"],
            )
            for name, found in strata
        ],
    )  # fmt: skip
    body += _oracle(document.get("oracle"))
    body += details("Flips against the reference's margin, and right answers", _margins(document))
    if document.get("reliability"):
        body += reliability_table("Both sides", document["reliability"])
    return Section("generated", "Generated questions: flips, divergence, oracle", body)


def _oracle(found: Mapping[str, Any] | None) -> str:
    if not found:
        return paragraph("No question was put to the oracle.")
    rows = []
    for name in ("hidden", "logits"):
        ratio = found[name]["ratio"]
        rows.append(
            (
                {"hidden": "hidden row, relative", "logits": "logits, root mean square"}[name],
                found[name]["reference"]["p50"], found[name]["candidate"]["p50"], ratio["mean"],
                f"{number(ratio['lower'])} to {number(ratio['upper'])}",
            )
        )  # fmt: skip
    return table(
        f"Distance from the FP64 oracle on {found['questions']} questions; class faithful asks for an upper end of at most {found['bound']}",
        ("of", "reference, median", "candidate, median", "ratio of errors", "95%"),
        rows,
    )


def _margins(document: Mapping[str, Any]) -> str:
    labels = document["labels"]
    told = "no test: it needs six answers that are right on one side only"
    p = labels["mcnemar_p"]
    return table(
        "Flips by the reference's lead, in probability",
        ("lead over", "to", "questions", "flips"),
        [(m["over"], m["to"], m["questions"], m["flips"]) for m in document["margins"]],
    ) + paragraph(
        f"Of {labels['questions']} questions with a known answer the reference has {labels['reference_right']} right, the candidate "
        f"{labels['candidate_right']}; {labels['lost']} lost, {labels['won']} won; McNemar: {told if p is None else number(p)}."
    )
