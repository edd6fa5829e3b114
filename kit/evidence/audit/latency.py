"""What the recorded exchanges took, row by row."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Dict, List

from kit.evidence.audit.drift import comparisons, drift_rows, worst_of
from kit.evidence.audit.measured import FIGURE_CLASSES, check_measured, figure_key, sampled_rows
from kit.evidence.audit.numbers import quantile
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import Json, Key
from kit.evidence.audit.values import same, short


def check_performance(bundle: Bundle) -> None:
    """performance.json is what the recorded exchanges took, and the samples of a profile that measures a GPU."""
    document, expected = bundle.json("performance.json"), latency_rows(bundle)
    if bundle.measured:
        expected.update(sampled_rows(bundle))
        check_measured(bundle, document)
    else:
        bundle.expect("performance.json measured", document.get("measured"), None)
    found = {figure_key(row): row for row in document["rows"]}
    bundle.expect("performance.json number of rows", len(document["rows"]), len(expected))
    for key in sorted(set(found) | set(expected), key=str):
        where = "performance.json %s" % "/".join(map(str, key))
        if key not in found or key not in expected:
            bundle.fail(where, "has no row" if key not in found else "is no measurement of this run")
        else:
            compare_figures(bundle, where, flat(found[key]), flat(expected[key]))
    check_starts(bundle, document)


def check_starts(bundle: Bundle, document: Json) -> None:
    engines = sorted(map(figure_name, bundle.engines))
    for name in ("start_seconds", "first_answer_seconds"):
        if set(document.get(name, {})) - set(engines):
            bundle.expect("performance.json %s engines" % name, sorted(document[name]), engines)
    for engine in bundle.engines:
        recorded = bundle.json("records/%s/engine.json" % engine).get("start_seconds")
        answers = (line for line in bundle.exchanges(engine) if line["status"] == 200)
        line = next(answers, None)
        first = None
        if line is not None and recorded is not None:
            first = recorded + (line["finished_ns"] - line["started_ns"]) / 1e9
        for name, value in (("start_seconds", recorded), ("first_answer_seconds", first)):
            told = document.get(name, {}).get(figure_name(engine))
            if not same(told, value):
                message = "is %s, recomputed %s"
                bundle.fail("performance.json %s %s" % (name, engine), message % (short(told), short(value)))


def figure_name(engine: str) -> str:
    return "eager" if engine == "native" else engine


def flat(row: Json) -> Json:
    """A row with its ratios as columns of their own."""
    columns = {name: value for name, value in row.items() if name != "ratios"}
    for base, figures in (row.get("ratios") or {}).items():
        columns.update({"%s to %s" % (name, base): value for name, value in figures.items()})
    return columns


def latency_rows(bundle: Bundle) -> Dict[Key, Json]:
    """The row performance.json must have for each engine, way, pass and kind of recorded request."""
    groups: Dict[Key, List[float]] = OrderedDict()
    for engine in bundle.engines:
        for line in bundle.exchanges(engine):
            if line["phase"] == "measured" and line["status"] == 200:
                told = bundle.body(line["response_sha256"])["usage"]["latency_ms"]
                for way, ms in (
                    ("client", (line["finished_ns"] - line["started_ns"]) / 1e6),
                    ("server", told),
                ):
                    for workload in ("protocol-%s" % line["modality"], "protocol"):
                        groups.setdefault((engine, way, line["pass"], workload), []).append(ms)
    rows = OrderedDict()
    for key, values in groups.items():
        base, engine = groups.get((bundle.reference, *key[1:])), figure_name(key[0])
        row = {
            "engine": engine, "way": key[1], "pass": key[2], "workload": key[3], "tokens": None, "samples": len(values),
            "median_ms": quantile(values, 0.5), "p95_ms": quantile(values, 0.95),
            "min_ms": min(values), "max_ms": max(values), "peak_gib": None,
            "speedup": quantile(base, 0.5) / quantile(values, 0.5) if base and quantile(values, 0.5) > 0 else None,
            "class": FIGURE_CLASSES[engine], "drift": drift_beside(bundle, key[0]),
        }  # fmt: skip
        rows[figure_key(row)] = row
    return rows


def drift_beside(bundle: Bundle, engine: str) -> Any:
    against = next((kind for kind in ("fresh", "frozen") if (engine, kind) in comparisons(bundle)), None)
    return worst_of(drift_rows(bundle), engine, against, "probability_drift") if against else None
