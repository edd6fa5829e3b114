"""What figures, gates and counts of a doctored bundle must now be, so that they follow from its records again.

Covers: counters, drift and right answers, performance, operator totals, signal summary, figures over generated questions,
the verdict, and each stage's own result; and, for deeds that edit their rows, the figures of layers, of a noise floor and
of planted faults. What an auditor can recompute a forger can recompute as well, so the auditor's own functions do it. A
document that the deed itself wrote stays as written.
Does not cover: names, digests and lists (`reseal`).
"""

from __future__ import annotations

import struct
import tarfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from kit.evidence.attack.suspect import Document, Suspect, as_text, canonical
from kit.evidence.audit.accuracy import accuracy_document, accuracy_headline, is_judged
from kit.evidence.audit.drift import comparisons, drift_rows, worst_of
from kit.evidence.audit.effects import signal_summary
from kit.evidence.audit.floor import floor_band, floor_summary
from kit.evidence.audit.gates import recomputed_gates
from kit.evidence.audit.generated_figures import generated_summary, stage_facts
from kit.evidence.audit.graph_cache import graph_phases, simulation
from kit.evidence.audit.latency import figure_name, latency_rows
from kit.evidence.audit.layers import median_ratios, worst_stages
from kit.evidence.audit.measured import sampled_rows, targets
from kit.evidence.audit.operators import MISSES
from kit.evidence.audit.planted import PLANTED_TIERS, planted_summary
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.results import expected_result
from kit.evidence.audit.rules import CACHES, FROZEN_ONLY, GENERATED, GENERATED_STAGE, LAYERS, UnreadableError

# What recomputing raises where a deed broke what it would follow from.
CANNOT = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, UnreadableError, RecursionError,
    tarfile.TarError, EOFError, struct.error, MemoryError, SyntaxError,
)  # fmt: skip
PREFIXES = ("generated", "oracle")  # gates over generated questions
FIGURES = {
    "probability": "probability_drift", "confidence": "confidence_drift",
    "noul": "noul_drift", "expected_value": "expected_drift",
}  # fmt: skip
WORST = ("probability_drift", "confidence_drift", "noul_drift", "expected_drift", "max_steps")


def derived(suspect: Suspect, name: str, change: Callable[[Document, Bundle], object]) -> None:
    """Rebuild a document in place, unless the deed wrote it or this bundle has none."""
    if name in suspect.written or not suspect.has(name):
        return
    document = suspect.json(name)
    before = canonical(document)
    change(document, suspect.as_read())
    if canonical(document) != before:
        suspect.put(name, as_text(document))


def counters(suspect: Suspect) -> None:
    def change(document: Document, bundle: Bundle) -> None:
        for engine in bundle.engines:
            facts = bundle.json(f"records/{engine}/engine.json")
            document["engines"].setdefault(engine, {})["counters"] = facts["counters"]
        if "graph" in bundle.engines:
            made, told = simulation(bundle), document["engines"]["graph"]
            for moment in ("ready", "closed"):
                told[moment] = {"reported": made.reported.get(moment), "predicted": made.totals[moment]}
            told["mismatches"] = {name: [] for name in CACHES}
            told["phases"] = graph_phases(bundle)

    derived(suspect, "counters.json", change)


def drift(suspect: Suspect) -> None:
    def change(document: Document, bundle: Bundle) -> None:
        rows = drift_rows(bundle)
        names = ("engine", "against", "request", "question")
        document["rows"] = [{**dict(zip(names, key, strict=True)), **row} for key, row in rows.items()]
        document["worst"] = {
            f"{engine}/{against}": {column: worst_of(rows, engine, against, column) for column in WORST}
            for engine, against in comparisons(bundle)
        }
        if is_judged(bundle):
            document["accuracy"] = accuracy_document(bundle)

    derived(suspect, "drift.json", change)


def performance(suspect: Suspect) -> None:
    def change(document: Document, bundle: Bundle) -> None:
        rows = latency_rows(bundle)
        if bundle.measured:
            samples = sampled_rows(bundle)
            rows.update(samples)
            weight = bundle.json("records/performance_samples.json")["weight_bytes"]
            for item, (name, value, bound, least, outcome) in zip(
                document["measured"]["targets"], targets(samples, weight), strict=False
            ):
                item.update(target=name, value=value, bound=bound, at_least=least, outcome=outcome)
        old = {place_of(row): row for row in document["rows"]}
        document["rows"] = [{**old.get(place_of(row), {}), **row} for row in in_old_order(old, list(rows.values()))]
        starts(document, bundle)

    derived(suspect, "performance.json", change)


def place_of(row: Document) -> tuple[Any, ...]:
    return (row["engine"], row["workload"], row["way"], row["tokens"], row.get("pass"))


def in_old_order(old: dict[Any, Document], rows: list[Document]) -> list[Document]:
    order = {place: number for number, place in enumerate(old)}
    return sorted(rows, key=lambda row: order.get(place_of(row), len(order)))


def starts(document: Document, bundle: Bundle) -> None:
    """How long each engine took to start and to its first answer."""
    for engine in bundle.engines:
        recorded = bundle.json(f"records/{engine}/engine.json").get("start_seconds")
        line = next((line for line in bundle.exchanges(engine) if line["status"] == 200), None)
        if recorded is not None and line is not None:
            first = recorded + (line["finished_ns"] - line["started_ns"]) / 1e9
            document["start_seconds"][figure_name(engine)] = recorded
            document["first_answer_seconds"][figure_name(engine)] = first


def operator_totals(suspect: Suspect) -> None:
    """Totals are sums; an operators.json that the deed wrote itself says so already or was meant not to."""

    def change(document: Document, _: Bundle) -> None:
        checks = document["checks"]
        sums = {name: sum(check[name] for check in checks) for name in ("elements", *MISSES)}
        document["totals"] = {**document["totals"], **sums, "checks": len(checks)}

    derived(suspect, "operators.json", change)


def signal(suspect: Suspect) -> None:
    derived(suspect, "signal.json", lambda d, _: d.update(summary=signal_summary(d["questions"])))


def generated(suspect: Suspect) -> None:
    """Figures over all generated questions, and the worst of each layer."""
    derived(suspect, GENERATED, lambda document, bundle: document.update(generated_summary(bundle)))
    derived(suspect, LAYERS, lambda document, _: layer_figures(document))


def layer_figures(document: Document) -> None:
    """What layers.json says of all its prompts."""
    for pair in document["pairs"]:
        pair["worst"] = worst_stages(pair["prompts"])
    if len(document["pairs"]) > 2:
        document["oracle_ratio"] = {document["pairs"][0]["engine"]: median_ratios(document["pairs"])}


def floor_figures(document: Document) -> None:
    """Quantiles and band of floor.json, from its rows."""
    measured = [form["name"] for form in document["forms"] if form["measured"]]
    document["summary"] = {name: floor_summary(document["rows"], name, document["temperatures"]) for name in measured}
    document["band"] = floor_band(document["summary"])


def fault_figures(document: Document) -> None:
    """What faults.json says of tiers, doses and in all, from the counts of its columns."""
    for fault in document["faults"]:
        doses = fault["doses"]
        for row in doses:
            row["tiers"] = tiers_of(row)
        fault["seen"] = {tier: any(row["tiers"][tier] for row in doses) for tier in PLANTED_TIERS}
        fault["smallest"] = {tier: next((row["dose"] for row in doses if row["tiers"][tier]), None) for tier in PLANTED_TIERS}
    for control in document["controls"]:
        control["tiers"] = tiers_of(control)
        control["alarms"] = [tier for tier in control["asked"] if control["tiers"][tier]]
    document["summary"] = planted_summary(document["faults"], document["controls"])


def tiers_of(row: Document) -> Document:
    return {tier: any(row["columns"][name]["count"] for name in names) for tier, names in PLANTED_TIERS.items()}


def results(suspect: Suspect) -> None:
    """What each stage says it found."""

    def change(document: Document, bundle: Bundle) -> None:
        expected = expected_result(bundle, document["stage"])
        if document["stage"] == GENERATED_STAGE:
            failed = [gate["gate"] for gate in bundle.json("verdict.json")["gates"] if not gate["passed"]]
            document["result"]["facts"] = stage_facts(bundle, [name for name in failed if name.startswith(PREFIXES)])
        elif expected is not None:
            document["result"] = expected

    for name in suspect.names():
        if name.startswith("stages/"):
            derived(suspect, name, change)


def verdict(suspect: Suspect) -> None:
    """Gates, counts and headline as recomputed; scope and what is not covered as the profile now has them."""

    def change(document: Document, bundle: Bundle) -> None:
        rows, pairs, declared = drift_rows(bundle), comparisons(bundle), bundle.profile
        document.update(claim=declared["claim"], not_covered=declared["not_covered"], profile=declared["name"])
        document["scope"] = declared["scope"] if bundle.reference else f"{declared['scope']}; {FROZEN_ONLY}"
        document["run"] = bundle.json("run.json")["id"]
        document["counts"] = counts(bundle)
        document["against"] = [kind for kind in ("fresh", "frozen") if any(pair[1] == kind for pair in pairs)]
        worst = [worst_of(rows, *pair, "probability_drift") for pair in pairs if pair[1] == document["against"][0]]
        document["max_probability_drift"] = max(worst)
        document["drift"] = {
            f"{engine}/{against}": {name: worst_of(rows, engine, against, column) for name, column in FIGURES.items()}
            for engine, against in pairs
        }
        if is_judged(bundle):
            document["accuracy"] = accuracy_headline(bundle)
        document["gates"] = gates(document["gates"], bundle)
        document["failures"] = list(dict.fromkeys(gate["gate"] for gate in document["gates"] if not gate["passed"]))
        document["verdict"] = "fail" if document["failures"] else "pass"

    derived(suspect, "verdict.json", change)


def counts(bundle: Bundle) -> Document:
    """Requests, questions and what became of every post."""
    lines = [(engine, line) for engine in bundle.engines for line in bundle.exchanges(engine)]
    return {
        "requests": len(bundle.corpus()),
        "questions": sum(len(case["request"]["questions"]) for case in bundle.corpus()),
        "posts": len(lines),
        "ok": sum(line["status"] == 200 for _, line in lines),
        "rejected": sum(line["status"] == 422 for _, line in lines),
        "by_engine": dict(Counter("frontend" if line["target"] == "frontend" else name for name, line in lines)),
    }


def gates(told: list[Document], bundle: Bundle) -> list[Document]:
    """Every recomputed gate in the order of the told ones, in its own words where it has any, else in the told ones."""
    texts: dict[Any, list[str]] = {}
    for gate in told:
        texts.setdefault((gate["gate"], gate["engine"], gate["against"]), []).append(gate["detail"])
    expected = recomputed_gates(bundle)
    ordered = [key for key in texts if key in expected] + [key for key in expected if key not in texts]
    found = []
    for gate, engine, against in ordered:
        key = (gate, engine, against)
        for number, outcome in enumerate(expected[key]):
            detail = [outcome.detail] if outcome.detail is not None else texts.get(key, [])[number : number + 1] or [""]
            found.append({
                "gate": gate, "engine": engine, "against": against, "passed": outcome.passed, "value": outcome.value,
                "bound": outcome.bound, "detail": detail[0],
            })  # fmt: skip
    return found
