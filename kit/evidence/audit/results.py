"""What each stage said it found, which is what the records and documents of the bundle say."""

from __future__ import annotations

from typing import Any, Callable, Dict

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import ENGINE_STAGES, LEDGER, Json


def check_results(bundle: Bundle) -> None:
    """The result a stage finished with follows from what the bundle holds."""
    for stage in bundle.stages():
        name = "stages/%s.json" % stage
        expected = expected_result(bundle, stage)
        if expected is not None and bundle.exists(name):
            bundle.expect("%s result" % name, bundle.json(name).get("result"), expected)


def expected_result(bundle: Bundle, stage: str) -> Any:
    """The result a stage must have ended with; None for one whose own section looks at it."""
    if stage in ENGINE_STAGES:
        return engine_result(bundle, ENGINE_STAGES[stage])
    makers: Dict[str, Callable[[Bundle], Json]] = {
        "01_preflight": preflight_result,
        "02_checkpoint": lambda b: {"digest": b.json("checkpoint.json")["digest"]},
        "06_operators": lambda b: {"different": 0, "unchecked": [], "passed": True},
        "07_faults": lambda b: {"drills": len(b.jsonl("records/drills.jsonl")) - 1, "passed": True},
        "08_drift": lambda b: {"worst": b.json("drift.json")["worst"], "passed": True},
        "09_performance": performance_result,
        "10_evidence": lambda b: {name: b.json("verdict.json")[name] for name in ("verdict", "failures")},
    }
    return makers[stage](bundle) if stage in makers else None


def preflight_result(bundle: Bundle) -> Json:
    packages = bundle.json("environment.json")["packages"]
    told = {name: package["status"] for name, package in packages.items()}
    return {"draw": bundle.json(LEDGER)["digest"], "packages": told}


def engine_result(bundle: Bundle, engine: str) -> Json:
    lines = bundle.exchanges(engine)
    return {
        "posts": len(lines), "planned": len(bundle.plan(engine)), "ok": sum(line["status"] == 200 for line in lines),
        "rejected": sum(line["status"] == 422 for line in lines), "unexpected": 0, "passed": True,
    }  # fmt: skip


def performance_result(bundle: Bundle) -> Json:
    document = bundle.json("performance.json")
    targets = (document.get("measured") or {}).get("targets", [])
    told = {item["target"]: item["outcome"] for item in targets}
    return {"rows": len(document["rows"]), "targets": told, "passed": True}
