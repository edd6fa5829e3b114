"""Every gate computed once more."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from kit.evidence.audit.drift import comparisons, drift_rows, measured, worst_of
from kit.evidence.audit.exchanges import place
from kit.evidence.audit.generated import generated_gates
from kit.evidence.audit.graph_cache import simulation
from kit.evidence.audit.operators import MISSES
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import GATES, SLACK, SUM_TOLERANCE, Json, Key
from kit.evidence.audit.sources import changed_sources
from kit.evidence.audit.values import short
from kit.evidence.audit.workers import health_misses


class Gate(NamedTuple):
    """A gate's recomputed outcome. value: None where it could not be measured."""

    passed: bool
    value: Any
    bound: Any


Gates = Dict[Key, List[Gate]]  # (gate, engine, against) -> outcomes, several for one gate a cache


def none_of(count: Any) -> Gate:
    """A gate that counts faults and allows none; None: there was nothing to count over."""
    return Gate(count == 0 and count is not None, count, 0)


def recomputed_gates(bundle: Bundle) -> Gates:
    gates: Gates = OrderedDict()
    for key, gate in [*drift_gates(bundle), *engine_gates(bundle), *run_gates(bundle)]:
        gates.setdefault(key, []).append(gate)
    return gates


def drift_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    columns = {
        "probability": "probability_drift", "confidence": "confidence_drift",
        "noul": "noul_drift", "expected_value": "expected_drift",
    }  # fmt: skip
    for engine, against in comparisons(bundle):
        mine = [row for key, row in rows.items() if key[:2] == (engine, against)]
        for name, column in columns.items():
            worst = worst_of(rows, engine, against, column) or 0.0
            bound = GATES[name] + SLACK
            yield (name, engine, against), Gate(bool(mine) and worst <= bound, worst, bound)
        margin = GATES["winner_margin"]
        changed = sum(not row["winner_same"] and row["reference_margin"] >= margin for row in mine)
        yield ("winner", engine, against), none_of(changed)
        yield ("tokens", engine, against), none_of(sum(not row["tokens_same"] for row in mine))
        yield ("shape", engine, against), none_of(sum(not row["shape_same"] for row in mine))
        if bundle.profile["claim"] == "exact" and against == "fresh" and engine != "remote":
            yield (
                ("hidden_bitwise", engine, against),
                none_of(sum(row["hidden_equal"] is not True for row in mine)),
            )
            yield (
                ("logits_bitwise", engine, against),
                none_of(sum(row["logits_equal"] is not True for row in mine)),
            )


def engine_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    for engine in OrderedDict.fromkeys(pair[0] for pair in comparisons(bundle)):
        mine = {key: row for key, row in rows.items() if key[0] == engine}
        yield ("lattice", engine, None), none_of(sum(not row["lattice"]["holds"] for row in mine.values()))
        answers = measured(bundle, engine)
        sums = [
            math.fsum(answers[request].response["answers"][question]["probabilities"].values())
            for _, _, request, question in mine
        ]
        yield ("probability_sum", engine, None), none_of(sum(not abs(s - 1) <= SUM_TOLERANCE for s in sums))
    for engine in bundle.engines:
        yield ("repeats", engine, None), none_of(repeat_differences(bundle, engine))
    if "graph" in bundle.engines:
        for mismatches in simulation(bundle).mismatches.values():
            yield ("graph_counters", "graph", None), none_of(len(mismatches))


def run_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    lines = [line for engine in bundle.engines for line in bundle.exchanges(engine)]
    planned = sum(len(bundle.plan(engine)) for engine in bundle.engines)
    kept = all(plan_kept(bundle, engine) for engine in bundle.engines)
    yield ("counts", None, None), Gate(kept and planned > 0, str(len(lines)), str(planned))
    wrong = sum(line["status"] != line["expect"] for line in lines)
    yield ("status", None, None), none_of(wrong if lines else None)
    if bundle.profile["claim"] == "exact" and bundle.operators:
        checks = bundle.json("operators.json")["checks"]
        yield (
            ("operators", None, None),
            none_of(sum(c[name] for c in checks for name in MISSES) if checks else None),
        )
    yield ("health", None, None), none_of(len(health_misses(bundle)))
    yield (
        ("sources", None, None),
        none_of(len(changed_sources(bundle)) if bundle.json("sources.json")["after"] else None),
    )
    for key, value, bound, passed in generated_gates(bundle):
        yield key, Gate(passed, value, bound)


def plan_kept(bundle: Bundle, engine: str) -> bool:
    digests = {case["id"]: case["sha256"] for case in bundle.corpus()}
    planned, lines = bundle.plan(engine), bundle.exchanges(engine)
    return len(planned) == len(lines) and all(
        line["n"] == number
        and place(line) == item[:6]
        and (item.digest is None or line["request_sha256"] == digests[item.request])
        and line["sequence"] == (None if engine == "remote" else number)
        for number, (item, line) in enumerate(zip(planned, lines), 1)
    )


def repeat_differences(bundle: Bundle, engine: str) -> Any:
    """How many answers differ from the first measured pass: responses but for latency, then raw records."""
    lines = [line for line in bundle.exchanges(engine) if line["expect"] == 200]
    first = {
        x["request_id"]: x
        for x in lines
        if x["phase"] == "measured" and x["pass"] == 1 and x["status"] == 200
    }
    compared = differences = 0
    for line in lines:
        base = first.get(line["request_id"])
        if base is line:
            continue
        compared += 1
        if base is None or line["status"] != 200:
            differences += 1
            continue
        texts = [without_latency(bundle.body(x["response_sha256"])) for x in (base, line)]
        differences += texts[0] != texts[1]
        if engine != "remote":
            one, two = (
                {q["question"]: q for q in bundle.post(engine, x["sequence"]).questions} for x in (base, line)
            )
            for name in set(one) | set(two):
                pair = [side.get(name, {}) for side in (one, two)]
                differences += any(
                    pair[0].get(key) != pair[1].get(key) for key in ("logits", "hidden", "tokens")
                )
    return differences if compared else None


def without_latency(response: Json) -> str:
    usage = {key: value for key, value in response["usage"].items() if key != "latency_ms"}
    return json.dumps(dict(response, usage=usage))


def check_gates(bundle: Bundle) -> None:
    """Every gate there must be is there once, with the outcome, value and bound recomputed here."""
    told: Dict[Key, List[Json]] = OrderedDict()
    for gate in bundle.json("verdict.json")["gates"]:
        told.setdefault((gate["gate"], gate["engine"], gate["against"]), []).append(gate)
    expected = recomputed_gates(bundle)
    for key in [key for key in told if key not in expected]:
        bundle.fail("verdict.json gate %s" % gate_text(key), "is no gate of this run")
    for key, outcomes in expected.items():
        where, gates = "verdict.json gate %s" % gate_text(key), told.get(key, [])
        if len(gates) != len(outcomes):
            bundle.fail(where, "is there %d times, expected %d" % (len(gates), len(outcomes)))
        for gate, outcome in zip(gates, outcomes):
            found = {name: gate[name] for name in ("passed", "value", "bound")}
            compare_figures(bundle, where, found, outcome._asdict())
        for outcome in outcomes:
            if not outcome.passed:
                bundle.fail(
                    "gate %s" % gate_text(key), "failed: %s, bound %s" % (short(outcome.value), outcome.bound)
                )


def gate_text(key: Key) -> str:
    return " ".join(str(part) for part in key if part)
