"""Gates over the records themselves: was the whole campaign run, and did every engine stay what it was.

Covers: repeated answers, counts and order of requests, statuses, graph counters against the cache policy,
operator checks, health and unchanged sources. Missing evidence fails its gate.
Does not cover: drift (`kit.campaign.gates`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from kit.campaign.gates import Gate
from kit.campaign.graph_policy import CACHES, check_policy
from kit.campaign.plan import FRONTEND, planned_counts, planned_exchanges
from kit.campaign.reading import EngineRecords, Exchange, RunRecords, read_json

# Counts of a line of operators.json that must be zero: against the reference, no numbers, against the plain
# form on changed inputs, a graph's replay against an eager run, one run against another.
OPERATOR_MISSES = ("different", "nan", "changed_different", "replay_different", "repeats_different")

def integrity_gates(run: RunRecords) -> Iterator[Gate]:
    """All gates of this module, in a fixed order."""
    engines = run.profile.campaign.engines
    for engine in engines:
        yield repeats_gate(run, engine)
    yield counts_gate(run)
    yield status_gate(run)
    if "graph" in engines:
        yield from graph_gates(run)
    if run.profile.claim == "exact" and "native" in engines:
        yield operators_gate(run)
    yield health_gate(run)
    yield sources_gate(run)


def repeats_gate(run: RunRecords, engine: str) -> Gate:
    """Every answered request against the same request of the first measured pass: bytes but for latency, bits."""
    records = run.engines.get(engine)
    first = records.measured(1) if records else {}
    compared, found = 0, []
    for exchange in records.exchanges if records else ():
        if exchange.expect != 200 or first.get(exchange.request_id) is exchange:
            continue
        compared += 1
        differences = repeat_differences(first.get(exchange.request_id), exchange)
        found += [f"{exchange.phase} {exchange.request_id} {what}" for what in differences]
    if compared == 0:
        return Gate("repeats", engine, None, False, None, 0, "no request was answered twice")
    detail = f"{len(found)} differences in {compared} repeated answers" + "".join(f"; {x}" for x in found[:3])
    return Gate("repeats", engine, None, not found, len(found), 0, detail)


def repeat_differences(first: Exchange | None, again: Exchange) -> list[str]:
    """What differs between two answers to the same request: the response, then each question's raw record."""
    if first is None or first.response is None or again.response is None:
        return ["has no answer to compare"]
    found = [] if without_latency(first.response) == without_latency(again.response) else ["response"]
    for question in dict.fromkeys((*first.questions, *again.questions)):
        a, b = first.questions.get(question), again.questions.get(question)
        if a is None or b is None or (a.logits, a.hidden, a.tokens) != (b.logits, b.hidden, b.tokens):
            found.append(f"logits or hidden row of {question}")
    return found


def without_latency(response: Mapping[str, Any]) -> str:
    """A response as text in its own key order, its latency taken out."""
    usage = response.get("usage")
    kept = {key: value for key, value in usage.items() if key != "latency_ms"} if isinstance(usage, dict) else usage
    return json.dumps({**response, "usage": kept}, ensure_ascii=False)


def counts_gate(run: RunRecords) -> Gate:
    """The recorded requests are exactly the planned ones, in order, with the bytes of the protocol."""
    planned = planned_counts(run.protocol, run.profile)
    total = str(sum(planned.values()))
    found = campaign_counts(run)
    deviations = [text for engine in run.profile.campaign.engines for text in plan_deviations(run, engine)]
    passed = not deviations and found["by_engine"] == planned and sum(planned.values()) > 0
    detail = deviations[0] if deviations else ", ".join(f"{name} {count}" for name, count in planned.items())
    return Gate("counts", None, None, passed, str(found["posts"]), total, detail)


def campaign_counts(run: RunRecords) -> dict[str, Any]:
    """The counts of a verdict, from what was recorded."""
    exchanges = [(e.name, x) for e in run.engines.values() for x in e.exchanges]
    by_engine = Counter(FRONTEND if x.target == "frontend" else name for name, x in exchanges)
    order = (*run.profile.campaign.engines, FRONTEND)
    return {
        "requests": len(run.protocol.cases),
        "questions": sum(len(json.loads(case.body)["questions"]) for case in run.protocol.cases),
        "posts": len(exchanges),
        "ok": sum(x.status == 200 for _, x in exchanges),
        "rejected": sum(x.status == 422 for _, x in exchanges),
        "by_engine": {name: by_engine[name] for name in order if by_engine[name]},
    }


def plan_deviations(run: RunRecords, engine: str) -> list[str]:
    """Where one engine's recorded exchanges depart from its plan; the first departure only."""
    records = run.engines.get(engine)
    if records is None:
        return [f"{engine} left no records"]
    planned = planned_exchanges(run.protocol, run.profile, engine)
    for plan, found in zip(planned, records.exchanges, strict=False):
        wanted = (plan.n, plan.target, plan.phase, plan.pass_number, plan.request_id, plan.modality, plan.expect)
        got = (
            found.n, found.target, found.phase, found.pass_number, found.request_id, found.modality, found.expect,
        )  # fmt: skip
        if wanted != got:
            return [f"{engine} n={plan.n}: planned {wanted[2:5]}, recorded {got[2:5]}"]
        if hashlib.sha256(plan.body).hexdigest() != found.request_sha256:
            return [f"{engine} n={plan.n}: the bytes sent for {plan.request_id} are not the protocol's"]
        if engine != "remote" and found.sequence != plan.n:
            return [f"{engine} n={plan.n}: the worker numbered this request {found.sequence}"]
    if len(planned) != len(records.exchanges):
        return [f"{engine}: {len(planned)} requests planned, {len(records.exchanges)} recorded"]
    return []


def status_gate(run: RunRecords) -> Gate:
    """No request got another status than planned."""
    exchanges = [(e.name, x) for e in run.engines.values() for x in e.exchanges]
    wrong = [f"{name} n={x.n}: {x.status}, expected {x.expect}" for name, x in exchanges if x.status != x.expect]
    if not exchanges:
        return Gate("status", None, None, False, None, 0, "no request was recorded")
    return Gate("status", None, None, not wrong, len(wrong), 0, wrong[0] if wrong else f"{len(exchanges)} as planned")


def graph_gates(run: RunRecords) -> Iterator[Gate]:
    """Recorded graph events and counters of each cache against the policy replayed over the same stream."""
    records = run.engines.get("graph")
    if records is None or not records.worker_lines:
        for cache in CACHES:
            yield Gate("graph_counters", "graph", None, False, None, 0, f"{cache}: no records")
        return
    check = check_policy(records.worker_lines, run.profile.graph, records.facts.get("counters") or {})
    for cache in CACHES:
        found = check.mismatches[cache]
        counters = check.predicted_closed[cache]
        summary = found[0] if found else ", ".join(f"{count} {name}" for name, count in counters.items())
        yield Gate("graph_counters", "graph", None, not found, len(found), 0, f"{cache}: {summary}")


def operators_gate(run: RunRecords) -> Gate:
    """Every op of the table was compared with the reference's module, and no element differed in any way."""
    file = run.path / "operators.json"
    if not file.exists():
        return Gate("operators", None, None, False, None, 0, "operators.json is missing")
    document = read_json(file)
    checks = document.get("checks") or []
    unchecked = sorted(set(document.get("ops") or ()) - {check["op"] for check in checks})
    bad = sum(check[name] for check in checks for name in OPERATOR_MISSES)
    if not checks or unchecked:
        detail = f"not compared: {', '.join(unchecked)}" if unchecked else "no operator was compared"
        return Gate("operators", None, None, False, None, 0, detail)
    elements = sum(check["elements"] for check in checks)
    return Gate("operators", None, None, bad == 0, bad, 0, f"{bad} of {elements} elements in {len(checks)} checks")


def health_gate(run: RunRecords) -> Gate:
    """READY before and after every engine and after each refused request."""
    misses = [text for engine in run.profile.campaign.engines for text in health_misses(run, engine)]
    detail = misses[0] if misses else "READY throughout"
    return Gate("health", None, None, not misses, len(misses), 0, detail)


def health_misses(run: RunRecords, engine: str) -> list[str]:
    """Moments at which an engine should have been READY and was not seen to be."""
    records = run.engines.get(engine) or EngineRecords(engine, (), (), {})
    facts = records.facts
    refused = sum(item.expect == 422 for item in planned_exchanges(run.protocol, run.profile, engine))
    after_refused = list(facts.get("health_after_refused") or ())
    moments = {"before": facts.get("health_before"), "after": facts.get("health_after")}
    for number in range(refused):
        moments[f"after refusal {number + 1}"] = after_refused[number] if number < len(after_refused) else None
    return [f"{engine} {when}: {health}" for when, health in moments.items() if not is_ready(health)]


def is_ready(health: Any) -> bool:
    """A health answer that says READY."""
    return isinstance(health, dict) and health.get("status") == "READY"


def sources_gate(run: RunRecords) -> Gate:
    """No source file changed, appeared or vanished between the start and the end of the run."""
    file = run.path / "sources.json"
    document = read_json(file) if file.exists() else {}
    before, after = document.get("before"), document.get("after")
    if not before or not after:
        return Gate("sources", None, None, False, None, 0, "hashes from before and after the run are missing")
    changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    detail = f"changed: {', '.join(changed[:3])}" if changed else f"{len(after)} files unchanged"
    return Gate("sources", None, None, not changed, len(changed), 0, detail)
