"""The verdict says what it is about, what was counted, and pass only where nothing failed."""

from __future__ import annotations

from collections import Counter, OrderedDict

from kit.evidence.audit.drift import comparisons, drift_rows, worst_of
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import FROZEN_ONLY, Json
from kit.evidence.audit.values import same, short


def check_verdict(bundle: Bundle) -> None:
    """verdict.json says what it is about, what was counted, and pass only where nothing failed."""
    verdict, profile = bundle.json("verdict.json"), bundle.profile
    for name in ("claim", "not_covered"):
        bundle.expect("verdict.json %s" % name, verdict[name], profile[name])
    bundle.expect("verdict.json profile", verdict["profile"], profile["name"])
    bundle.expect("verdict.json run", verdict["run"], bundle.json("run.json")["id"])
    scope = profile["scope"] if bundle.reference else "%s; %s" % (profile["scope"], FROZEN_ONLY)
    bundle.expect("verdict.json scope", verdict["scope"], scope)
    failed = [gate["gate"] for gate in verdict["gates"] if gate["passed"] is not True]
    if verdict["verdict"] != "pass":
        bundle.fail("verdict.json", "the run failed: %s" % "; ".join(map(str, verdict["failures"])))
    elif failed or verdict["failures"]:
        bundle.fail("verdict.json", "says pass although %s failed" % ", ".join(failed or verdict["failures"]))
    if not verdict["gates"]:
        bundle.fail("verdict.json gates", "there are none")
        return
    bundle.expect("verdict.json failures", verdict["failures"], list(OrderedDict.fromkeys(failed)))
    compare_counts(bundle, verdict["counts"])


def compare_counts(bundle: Bundle, told: Json) -> None:
    lines = [(engine, line) for engine in bundle.engines for line in bundle.exchanges(engine)]
    names = ["frontend" if line["target"] == "frontend" else engine for engine, line in lines]
    expected = {
        "requests": len(bundle.corpus()),
        "questions": sum(len(case["request"]["questions"]) for case in bundle.corpus()),
        "posts": len(lines),
        "ok": sum(line["status"] == 200 for _, line in lines),
        "rejected": sum(line["status"] == 422 for _, line in lines),
        "by_engine": dict(Counter(names)),
    }
    compare_figures(bundle, "verdict.json counts", told, expected)


def check_headline(bundle: Bundle) -> None:
    """The figures a reader sees first are the largest of the recomputed ones."""
    verdict, rows, pairs = bundle.json("verdict.json"), drift_rows(bundle), comparisons(bundle)
    kinds = [kind for kind in ("fresh", "frozen") if any(against == kind for _, against in pairs)]
    bundle.expect("verdict.json against", verdict["against"], kinds)
    worst = [
        worst_of(rows, engine, against, "probability_drift")
        for engine, against in pairs
        if against == kinds[0]
    ]
    if not same(verdict["max_probability_drift"], max(worst)):
        message = "is %s, recomputed %s"
        bundle.fail(
            "verdict.json max_probability_drift",
            message % (short(verdict["max_probability_drift"]), max(worst)),
        )
    columns = {
        "probability": "probability_drift", "confidence": "confidence_drift",
        "noul": "noul_drift", "expected_value": "expected_drift",
    }  # fmt: skip
    bundle.expect("verdict.json drift", list(verdict["drift"]), ["%s/%s" % pair for pair in pairs])
    for engine, against in pairs:
        told = verdict["drift"].get("%s/%s" % (engine, against), {})
        expected = {name: worst_of(rows, engine, against, column) for name, column in columns.items()}
        compare_figures(bundle, "verdict.json drift %s/%s" % (engine, against), told, expected)
