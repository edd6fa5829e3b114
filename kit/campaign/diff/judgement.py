"""What a diff comes to: same, changed, or not to be judged, with the reasons in words.

Covers: the document `kit-diff/1` and its verdict. "changed" is a decision that flipped, a figure beyond the fixed
gates or beyond A's noise floor, another token count, or a question that only one side answered. "same" is none of
these. Latency is reported and decides nothing: two runs differ in more than code. Does not cover: showing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kit.campaign.diff.answers import GATES, Comparison, compare_answers
from kit.campaign.diff.changes import KINDS, changes
from kit.campaign.diff.evidence import DiffError, Evidence
from kit.campaign.diff.latency import REQUESTS, changed, compare_latency
from kit.campaign.diff.noise import beyond, read_floor

FORMAT = "kit-diff/1"
EXIT_CODES = {"same": 0, "changed": 1, "not-judged": 2}
NO_FLOOR = "none: A has no records/floor.json; kit floor --run makes one"


def compare(a: Evidence, b: Evidence) -> dict[str, Any]:
    """The whole comparison. Raises DiffError where no question is the same on both sides."""
    comparison, floor = compare_answers(a, b), read_floor(a)
    if not comparison.rows:
        raise DiffError(
            "no engine of both bundles answered the same question: compare bundles of one protocol and one engine at least"
        )
    rows = [{**row, "beyond_floor": beyond(row, floor)} for row in comparison.rows]
    reasons = list(_reasons(rows, comparison))
    return {
        "format": FORMAT,
        "verdict": "changed" if reasons else "same",
        "reasons": reasons,
        "a": _side(a),
        "b": _side(b),
        "changes": [change.as_json() for change in changes(a, b)],
        "floor": dict(floor.levels) if floor else None,
        "engines": [summary(rows, engine, questions) for engine, questions in _groups(rows)],
        "only_in": {side: list(names) for side, names in comparison.only_in.items()},
        "rows": rows,
        "lost": comparison.lost,
        "unmatched": comparison.unmatched,
        "latency": [{**row, "changed": changed(row)} for row in compare_latency(a, b)],
    }


def summary(rows: Sequence[dict[str, Any]], engine: str, questions: str) -> dict[str, Any]:
    """One engine on one set of questions. Counts of equal rows and logits are of those recorded; None if none are."""
    mine = [row for row in rows if (row["engine"], row["questions"]) == (engine, questions)]
    floors = [row["beyond_floor"] for row in mine if row["beyond_floor"] is not None]
    return {
        "engine": engine,
        "questions": questions,
        "compared": len(mine),
        "hidden_same": _count(row["hidden_same"] for row in mine),
        "logits_same": _count(None if row["logit_bits"] is None else row["logit_bits"] == 0 for row in mine),
        **{f"max_{name}": _most(mine, name) for name in ("hidden_bits", "hidden_rms", "logit_bits", "steps", "probability_drift")},
        "flipped": sum(row["flipped"] for row in mine),
        "beyond_gates": sum(bool(row["beyond_gates"]) for row in mine),
        "beyond_floor": sum(map(bool, floors)) if floors else None,
    }


def headline(document: dict[str, Any]) -> dict[str, Any]:
    """The last line of `kit diff`: the verdict and the figures behind it."""
    engines, floors = document["engines"], [e["beyond_floor"] for e in document["engines"] if e["beyond_floor"] is not None]
    return {
        "diff": document["verdict"],
        "a": document["a"],
        "b": document["b"],
        "changes": dict(Counter(change["kind"] for change in document["changes"])),
        "questions": len({(row["questions"], row["request"], row["question"]) for row in document["rows"]}),
        "answers": sum(engine["compared"] for engine in engines),
        "flipped": sum(engine["flipped"] for engine in engines),
        "beyond_gates": sum(engine["beyond_gates"] for engine in engines),
        "beyond_floor": sum(floors) if floors else None,
        "floor": "records/floor.json of A" if document["floor"] else NO_FLOOR,
        "lost": len(document["lost"]),
        "unmatched": len(document["unmatched"]),
        **{name: _most(engines, name) for name in ("max_steps", "max_hidden_rms", "max_probability_drift")},
        "engines": [engine["engine"] for engine in engines if engine["questions"] == "frozen"],
        "latency": {
            row["engine"]: {key: row[key] for key in ("ratio", "low", "high")}
            for row in document["latency"]
            if row["workload"] == REQUESTS
        },
        "reasons": document["reasons"],
    }


def not_judged(reason: str) -> dict[str, Any]:
    """The last line where nothing can be said."""
    return {"diff": "not-judged", "reasons": [reason]}


def changes_by_kind(document: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Kinds that have changes, in their order."""
    for kind in KINDS:
        found = [change for change in document["changes"] if change["kind"] == kind]
        if found:
            yield kind, found


def _reasons(rows: Sequence[dict[str, Any]], comparison: Comparison) -> Iterator[str]:
    flipped = [row for row in rows if row["flipped"]]
    if flipped:
        clear = sum(row["margin_a"] >= GATES.winner_margin for row in flipped)
        yield f"{_answers(flipped)}: decided otherwise, {clear} of them where A leads by {GATES.winner_margin} or more"
    gates = Counter(gate for row in rows for gate in row["beyond_gates"])
    if gates:
        yield f"{_answers([row for row in rows if row['beyond_gates']])}: beyond the gates ({_names(gates)})"
    floor = Counter(figure for row in rows for figure in row["beyond_floor"] or ())
    if floor:
        yield f"{_answers([row for row in rows if row['beyond_floor']])}: beyond A's noise floor ({_names(floor)})"
    if comparison.lost:
        yield f"{_answers(comparison.lost)}: given on one side only"


def _groups(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["engine"], row["questions"]) for row in rows))


def _side(bundle: Evidence) -> dict[str, Any]:
    audit = bundle.audit
    return {
        "name": bundle.name, "bundle_sha256": bundle.digest, "audit": audit["audit"], "verdict": audit["verdict"],
        "signature": audit["signature"],
    }  # fmt: skip


def _answers(rows: Sequence[Any]) -> str:
    """Every engine answers by itself, so there are more answers than questions."""
    questions = len({(row["questions"], row["request"], row["question"]) for row in rows})
    return f"{len(rows)} {'answer' if len(rows) == 1 else 'answers'} to {questions} {'question' if questions == 1 else 'questions'}"


def _names(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _count(values: Any) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    return max((row[name] for row in rows if row[name] is not None), default=None)
