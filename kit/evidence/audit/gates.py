"""Every gate computed once more."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from typing import Any, Dict, Iterator, List, NamedTuple, Tuple

from kit.evidence.audit.accuracy import accuracy_outcomes
from kit.evidence.audit.drift import comparisons, drift_rows, frozen_steps, measured, worst_of
from kit.evidence.audit.exchanges import place
from kit.evidence.audit.generated import generated_gates
from kit.evidence.audit.graph_cache import simulation
from kit.evidence.audit.operators import MISSES
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import GATES, SLACK, STEP_SLACK, SUM_TOLERANCE, Json, Key
from kit.evidence.audit.sources import changed_sources
from kit.evidence.audit.values import short
from kit.evidence.audit.workers import health_misses

FIGURES = {
    "probability": "probability_drift", "confidence": "confidence_drift",
    "noul": "noul_drift", "expected_value": "expected_drift",
}  # fmt: skip
# Of gates over generated questions where they passed; the oracle's has its interval in it and is not compared.
GENERATED_WORDS = {
    "generated": "%d of %d declared questions were answered",
    "generated_hidden_bitwise": "%d hidden rows differ of %d", "generated_logits_bitwise": "%d logit rows differ of %d",
    "generated_flips": "%d winners changed of %d",
}  # fmt: skip


class Gate(NamedTuple):
    """A gate's recomputed outcome. value: None where it could not be measured; detail: its words where it passed."""

    passed: bool
    value: Any
    bound: Any
    detail: str | None


Gates = Dict[Key, List[Gate]]  # (gate, engine, against) -> outcomes, several for one gate a cache


def none_of(count: Any, detail: str) -> Gate:
    """A gate that counts faults and allows none; None: there was nothing to count over."""
    return Gate(count == 0 and count is not None, count, 0, detail)


def recomputed_gates(bundle: Bundle) -> Gates:
    gates: Gates = OrderedDict()
    for key, gate in [*drift_gates(bundle), *engine_gates(bundle), *run_gates(bundle)]:
        gates.setdefault(key, []).append(gate)
    return gates


def drift_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    margin = GATES["winner_margin"]
    counted = (
        ("winner", lambda row: not row["winner_same"] and row["reference_margin"] >= margin and row.get("room", True),
         "0 changed winners where the reference's margin is %s or more of %d" % (margin, asked_questions(bundle))),
        ("tokens", lambda row: not row["tokens_same"], "0 questions with another token total of %d" % asked_questions(bundle)),
        ("shape", lambda row: not row["shape_same"],
         "0 answers of another shape or contradicting themselves of %d" % asked_questions(bundle)),
    )  # fmt: skip
    bitwise = (
        ("hidden_bitwise", lambda row: row["hidden_equal"] is not True, "0 hidden rows that differ of %d"),
        ("logits_bitwise", lambda row: row["logits_equal"] is not True, "0 logit rows that differ of %d"),
    )
    for engine, against in comparisons(bundle):
        mine = {key: row for key, row in rows.items() if key[:2] == (engine, against)}
        if against == "frozen" and frozen_steps(bundle):
            yield steps_gate(engine, frozen_steps(bundle), mine)
        roomy = {key: row for key, row in mine.items() if row.get("room", True)}
        for name, column in FIGURES.items():
            worst = worst_of(roomy, engine, against, column)
            bound = GATES[name] + SLACK
            place = next(("/".join(key[2:]) for key, row in roomy.items() if worst is not None and row[column] == worst), None)
            detail = "no question of this type" if place is None else "largest at %s" % place
            yield (name, engine, against), Gate(bool(mine) and (worst or 0.0) <= bound, worst or 0.0, bound, detail)
        for name, bad, detail in counted:
            yield (name, engine, against), none_of(sum(map(bad, mine.values())), detail)
        if bundle.profile["claim"] == "exact" and against == "fresh" and engine != "remote":
            for name, bad, detail in bitwise:
                yield (name, engine, against), none_of(sum(map(bad, mine.values())), detail % len(mine))


def steps_gate(engine: str, most: int, mine: Dict[Key, Json]) -> Tuple[Key, Gate]:
    """Frozen answers in BF16 steps, all of them; what is left out of the other bounds is named in its words."""
    taken = [(row["max_steps"], "/".join(key[2:])) for key, row in mine.items()]
    if not taken or any(steps is None for steps, _ in taken):
        return ("frozen_steps", engine, "frozen"), Gate(False, None, most + STEP_SLACK, None)
    worst = max(steps for steps, _ in taken)
    place = next(name for steps, name in taken if steps == worst)
    narrow = ["/".join(key[2:]) for key, row in mine.items() if not row.get("room", True)]
    words = "largest at %s; without room for the other bounds: %s" % (place, ", ".join(narrow) or "none")
    return ("frozen_steps", engine, "frozen"), Gate(worst <= most + STEP_SLACK, worst, most + STEP_SLACK, words)


def asked_questions(bundle: Bundle) -> int:
    return sum(len(case["request"]["questions"]) for case in bundle.corpus())


def engine_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    rows = drift_rows(bundle)
    for engine in OrderedDict.fromkeys(pair[0] for pair in comparisons(bundle)):
        mine = {key: row for key, row in rows.items() if key[0] == engine}
        off = sum(not row["lattice"]["holds"] for row in mine.values())
        yield ("lattice", engine, None), none_of(off, "0 answers on no grid of logit differences of %d" % len(mine))
        answers = measured(bundle, engine)
        sums = [
            math.fsum(answers[request].response["answers"][question]["probabilities"].values())
            for _, _, request, question in mine
        ]
        off = sum(not abs(s - 1) <= SUM_TOLERANCE for s in sums)
        yield ("probability_sum", engine, None), none_of(off, "0 answers that do not sum to 1 of %d" % len(mine))
    for key, outcome in accuracy_outcomes(bundle):
        yield key, Gate(*outcome)
    for engine in bundle.engines:
        compared, differences = repeat_differences(bundle, engine)
        detail = "0 differences in %d repeated answers" % compared
        yield ("repeats", engine, None), none_of(differences if compared else None, detail)
    if "graph" in bundle.engines:
        made = simulation(bundle)
        for name, mismatches in made.mismatches.items():
            counts = ", ".join("%d %s" % (count, counter) for counter, count in made.totals["closed"][name].items())
            yield ("graph_counters", "graph", None), none_of(len(mismatches), "%s: %s" % (name, counts))


def run_gates(bundle: Bundle) -> Iterator[Tuple[Key, Gate]]:
    lines = [line for engine in bundle.engines for line in bundle.exchanges(engine)]
    plans = [(engine, item) for engine in bundle.engines for item in bundle.plan(engine)]
    kept = all(plan_kept(bundle, engine) for engine in bundle.engines)
    by_engine = Counter("frontend" if item.target == "frontend" else engine for engine, item in plans)
    told = ", ".join("%s %d" % (name, by_engine[name]) for name in (*bundle.engines, "frontend") if by_engine[name])
    yield ("counts", None, None), Gate(kept and bool(plans), str(len(lines)), str(len(plans)), told)
    wrong = sum(line["status"] != line["expect"] for line in lines)
    yield ("status", None, None), none_of(wrong if lines else None, "%d as planned" % len(lines))
    if bundle.profile["claim"] == "exact" and bundle.operators:
        checks = bundle.json("operators.json")["checks"]
        elements, missed = sum(c["elements"] for c in checks), sum(c[name] for c in checks for name in MISSES)
        detail = "0 of %d elements in %d checks" % (elements, len(checks))
        yield ("operators", None, None), none_of(missed if checks else None, detail)
    yield ("health", None, None), none_of(len(health_misses(bundle)), "READY throughout")
    files = bundle.json("sources.json")["after"]
    changed = len(changed_sources(bundle)) if files else None
    yield ("sources", None, None), none_of(changed, "%d files unchanged" % len(files))
    for key, value, bound, passed in generated_gates(bundle):
        words = GENERATED_WORDS.get(key[0])
        yield key, Gate(passed, value, bound, words % (value, bundle.generated) if words and value is not None else None)


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


def repeat_differences(bundle: Bundle, engine: str) -> Tuple[int, int]:
    """(answers compared with the first measured pass, how many differ): responses but for latency, then raw records."""
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
    return compared, differences


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
            found, words = {name: gate[name] for name in ("passed", "value", "bound", "detail")}, outcome.detail
            compare_figures(bundle, where, found, dict(outcome._asdict(), detail=words if outcome.passed and words is not None else found["detail"]))
        for outcome in outcomes:
            if not outcome.passed:
                bundle.fail(
                    "gate %s" % gate_text(key), "failed: %s, bound %s" % (short(outcome.value), outcome.bound)
                )


def gate_text(key: Key) -> str:
    return " ".join(str(part) for part in key if part)
