"""The top of the page: what was claimed, what came of it, what it covers and what not; then gates and a diagnosis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.evidence.report.html import (
    Cell,
    Raw,
    Section,
    details,
    facts,
    listed,
    mark,
    number,
    paragraph,
    table,
    text,
)
from kit.evidence.report.reading import RunFiles

CLAIMS = {
    "exact": "final hidden rows and label logits are bit for bit those of the reference on this machine",
    "faithful": "no further from an FP64 oracle than the reference is, within 10%",
    "baseline": "nothing but the seed's gates; its speed is shown beside its drift",
}
TEMPERATURES = {
    "declared": "as declared", "swapped": "swapped", "text": "text's for all", "image": "image's for all", "none": "none",
    "fitted": "those that fit best",
}  # fmt: skip
NOTHING = 1e-9  # logits, between two computations of one softmax


def head(run: RunFiles) -> str:
    """Verdict, scope, not covered, failures, and the figures a reader asks for first."""
    verdict, about = run.verdict, run.json("run.json")
    outcome = str(verdict.get("verdict"))
    claim = str(verdict.get("claim"))
    parts = [
        f"<h1>{text(verdict.get('profile'))}</h1>",
        f'<p><span class="badge {"pass" if outcome == "pass" else "fail"}">{text(outcome.upper())}</span></p>',
        f"<p>Claim <b>{text(claim)}</b>{': ' + text(CLAIMS[claim]) if claim in CLAIMS else ''}.</p>",
        _alerts(run),
        '<div class="cards">',
        f'<section class="card"><h2>Scope</h2>{paragraph(verdict.get("scope"))}</section>',
        f'<section class="card"><h2>Not covered</h2>{listed(verdict.get("not_covered") or ["nothing is named"])}</section>',
        "</div>",
        facts(_facts(run, about)),
    ]
    return "".join(parts)


def _alerts(run: RunFiles) -> str:
    """What failed, and what it resembles: cards of their own, above all others."""
    cards = [("Failed", run.verdict.get("failures") or []), ("Diagnosis", sentences(run.json("diagnosis.json")))]
    shown = "".join(f'<section class="card alert"><h2>{title}</h2>{listed(items)}</section>' for title, items in cards if items)
    return f'<div class="cards">{shown}</div>' if shown else ""


def _facts(run: RunFiles, about: dict[str, Any]) -> Iterator[tuple[str, Cell | Raw]]:
    verdict = run.verdict
    counts = verdict.get("counts") or {}
    gates = verdict.get("gates") or []
    yield "run", about.get("id")
    yield "started (UTC)", str(about.get("started_utc", "–"))[:19].replace("T", " ")
    yield "gates passed", f"{sum(gate['passed'] is True for gate in gates)} of {len(gates)}"
    yield "requests / questions", f"{number(counts.get('requests'))} / {number(counts.get('questions'))}"
    posts = " / ".join(number(counts.get(name)) for name in ("posts", "ok", "rejected"))
    yield "posts / answered / refused", posts
    yield "posts by engine", ", ".join(f"{name} {count}" for name, count in (counts.get("by_engine") or {}).items())
    yield "judged against", ", ".join(map(str, verdict.get("against", [])))
    right = verdict.get("accuracy")
    told = "not judged: the checkpoint was not trained to decide, or its profile does not ask"
    yield "right answers", f"{right['correct']} of {right['of']} ({right['engine']}, first pass)" if right else told
    yield "largest probability drift", verdict.get("max_probability_drift")
    yield "kit version", about.get("kit_version")


# ---------------------------------------------------------------- gates


def gates(run: RunFiles) -> Section | None:
    """Gate by engine, then every gate with its detail."""
    found = run.verdict.get("gates") or []
    if not found:
        return None
    passed = sum(gate["passed"] is True for gate in found)
    body = paragraph(f"{passed} of {len(found)} gates passed. A gate that fails is never retried and never widened.")
    rows = [
        (gate["gate"], gate["engine"], gate["against"], mark(gate["passed"] is True), gate["value"], gate["bound"], gate["detail"])
        for gate in found
    ]
    header = ("gate", "engine", "against", "outcome", "value", "bound", "detail")
    failed = [row for row, gate in zip(rows, found, strict=True) if gate["passed"] is not True]
    if failed:
        body += table("Gates that failed", header, failed, failed=[True] * len(failed))
    body += _matrix(found)
    body += details("Every gate with its value, bound and detail", table("All gates", header, rows))
    return Section("gates", "Gates", body)


def _matrix(found: list[dict[str, Any]]) -> str:
    """One line a gate, one column an engine and what it was judged against."""
    columns = list(dict.fromkeys(_who(gate) for gate in found))
    names = list(dict.fromkeys(str(gate["gate"]) for gate in found))
    by_place: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for gate in found:
        by_place.setdefault((str(gate["gate"]), _who(gate)), []).append(gate)
    rows: list[list[Cell | Raw]] = []
    for name in names:
        row: list[Cell | Raw] = [name]
        for column in columns:
            here = by_place.get((name, column), [])
            row.append(mark(all(gate["passed"] is True for gate in here)) if here else Raw(""))
        rows.append(row)
    return table("Each gate, by engine and what it was judged against", ("gate", *columns), rows)


def _who(gate: dict[str, Any]) -> str:
    return " / ".join(str(gate[name]) for name in ("engine", "against") if gate[name]) or "run"


# ---------------------------------------------------------------- diagnosis


def sentences(document: dict[str, Any]) -> list[str]:
    """What diagnosis.json says."""
    if not document:
        return []
    if document.get("made") is not True:
        return [f"no diagnosis: {document.get('reason')}"]
    engines = document.get("engines")
    return [str(entry["words"]) for entry in engines.values()] if isinstance(engines, dict) else []


def diagnosis(run: RunFiles) -> Section | None:
    """Which known change of the reference each failed engine resembles, with the distances."""
    document = run.json("diagnosis.json")
    said = sentences(document)
    if not said:
        return None
    body = paragraph(
        "The official reference was run again with one thing changed at a time. Distances are the root mean square over all "
        "candidates of the change of a logit, as the answers' probabilities imply it; a change explains an engine only "
        "if it at least halves the distance."
    )
    body += listed(said)
    for name, entry in (document.get("engines") or {}).items():
        rows = _rows(entry)
        body += table(
            f"{name}: nearest first",
            ("the reference", "temperatures", "distance, logits", "questions equal", "nearer than plain", "farther"),
            [
                (
                    document["forms"].get(match["form"], "as it is"), TEMPERATURES.get(match["rule"], match["rule"]),
                    0 if match["distance"] < NOTHING else match["distance"], match["equal"], match["nearer"], match["farther"],
                )
                for match in rows
            ],
            strong=[match == entry["nearest"] for match in rows],
        )  # fmt: skip
    return Section("diagnosis", "Diagnosis", body)


def _rows(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The finding first; then every form at the declared temperatures, and the plain reference at others, by distance."""
    plain = entry["plain"]["form"]
    told = [m for m in entry["matches"] if m["rule"] == "declared" or (m["form"] == plain and m["rule"] != "fitted")]
    rows: list[dict[str, Any]] = [entry["nearest"], *(match for match in told if match != entry["nearest"])]
    return sorted(rows, key=lambda match: (match != entry["nearest"], match["distance"]))
