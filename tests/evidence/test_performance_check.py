"""What the auditor makes of measured speed: rows, intervals, drift and targets follow from the samples, or fail."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[dict[str, Any]], object]
SAMPLES = "records/performance_samples.json"


@pytest.fixture
def tamper(on_gpu: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(on_gpu, tmp_path / "bundle"))


def problems(path: Path) -> list[str]:
    return [problem for problem in audit_problems(path) if problem.startswith(("performance: ", "roles: ", "unreadable: "))]


def test_honest_figures_are_no_problem(on_gpu: Path) -> None:
    assert problems(on_gpu) == []


def graph(document: dict[str, Any]) -> dict[str, Any]:
    """The row, or the entry, of the graph engine at 98 tokens."""
    rows = document.get("rows") or document["entries"]
    wanted = ("graph", "text", 98)
    return next(row for row in rows if (row["engine"], row["workload"], row["tokens"]) == wanted)


def merged(document: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in document.get("rows") or document["entries"] if row["engine"] == "merged")


def slow_base(document: dict[str, Any]) -> dict[str, Any]:
    """The captured reference of the graph's round once more, three times as slow."""
    mine = (graph(document)["round"], "reference-graph")
    base = next(entry for entry in document["entries"] if (entry["round"], entry["engine"]) == mine)
    return base | {"anchor": True, "wall_ms": [[3 * ms for ms in block] for block in base["wall_ms"]]}


DOCUMENT: list[tuple[str, Edit, str]] = [
    ("a faster median", lambda d: graph(d).update(median_ms=1.0), "graph/text/call/98/None median_ms: is 1.0, recomputed"),
    ("another p95", lambda d: graph(d).update(p95_ms=1.0), "p95_ms: is 1.0"),
    ("a narrower interval", lambda d: graph(d)["ratios"]["reference"].update(high=0.1), "high to reference: is 0.1"),
    ("a ratio more", lambda d: graph(d)["ratios"].update(merged={"ratio": 0.1}), "ratio to merged: is 0.1"),
    ("less memory", lambda d: graph(d).update(peak_gib=50.0), "peak_gib: is 50.0"),
    ("fewer samples", lambda d: graph(d).update(samples=3), "samples: is 3"),
    ("a baseline without drift", lambda d: merged(d).update(drift=None), "merged/text/call/98/None drift: is null"),
    ("a baseline passed off as a candidate", lambda d: merged(d).update({"class": "candidate"}), 'class: is "candidate"'),
    ("a row dropped", lambda d: d["rows"].remove(graph(d)), "graph/text/call/98/None: has no row"),
    ("a row invented", lambda d: d["rows"].append(graph(d) | {"tokens": 5}), "is no measurement of this run"),
    ("an unknown engine", lambda d: d["rows"].append(graph(d) | {"engine": "quick"}), "is no measurement of this run"),
    ("a target turned", lambda d: d["measured"]["targets"][0].update(outcome="missed"), "performance.json targets"),
    ("a target's bound", lambda d: d["measured"]["targets"][0].update(bound=0.99), "performance.json targets"),
    ("a target the other way round", lambda d: d["measured"]["targets"][0].update(at_least=True), "performance.json targets"),
    ("other weights under the memory", lambda d: d["measured"].update(weight_bytes=1), "measured weight_bytes: found 1"),
    ("a target's value", lambda d: d["measured"]["targets"][0].update(value=0.1), "98 tokens: is 0.1, recomputed"),
    ("a phase dropped", lambda d: d["measured"]["not_measured"].clear(), "stream was neither measured nor listed"),
    ("a phase without reason", lambda d: d["measured"]["not_measured"][0].update(reason=""), "stream was neither measured"),
    ("the record's latencies", lambda d: d["rows"][-1].update(median_ms=0.5), "median_ms: is 0.5"),
    ("a quicker start", lambda d: d["start_seconds"].update(graph=0.1), "start_seconds graph: is 0.1"),
    ("a quicker first answer", lambda d: d["first_answer_seconds"].update(eager=0.1), "first_answer_seconds native: is 0.1"),
    ("a stale adapter", lambda d: d["measured"]["adapter_swap"].update(same_as_reference=False), "adapter_swap same_as_reference: found false"),
    ("no measured part", lambda d: d.pop("measured"), 'performance.json has no "measured"'),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "message"), [pytest.param(e, m, id=n.replace(" ", "-")) for n, e, m in DOCUMENT])
def test_an_edited_figure_is_found(tamper: Tamper, edit: Edit, message: str) -> None:
    tamper.json("performance.json", edit)
    tamper.reseal()
    assert any(message in problem for problem in problems(tamper.path)), problems(tamper.path)[:10]


ENTRIES: list[tuple[str, Edit, str]] = [
    ("samples that are faster", lambda d: graph(d).update(wall_ms=[[1.0, 1.0]] * 6), "median_ms: is"),
    ("an engine nobody knows", lambda d: graph(d).update(engine="quick"), '"quick": is no engine that is measured'),
    ("another round's base", lambda d: graph(d).update(round=99), "ratio"),
    ("a slow base beside the true one", lambda d: d["entries"].append(slow_base(d)), "reference-graph: is there more than once"),
    ("a workload of its own in a round", lambda d: graph(d).update(tokens=392), "was measured on another workload"),
    ("fewer blocks than its base", lambda d: graph(d)["wall_ms"].pop(), "in other blocks than the rest of its round"),
    ("negative memory", lambda d: graph(d).update(pool_bytes=-1), "holds a size in bytes that is none"),
    ("a first time that is no time", lambda d: graph(d).update(cold_ms="fast"), 'cold_ms is "fast"'),
    ("logits that are no numbers", lambda d: graph(d)["logits"].__setitem__(0, "0000c07f" * 2), "holds logits that are not finite"),
    ("an exact engine that drifts", lambda d: graph(d).update(logits=merged(d)["logits"]), "drifts by "),
    ("too few blocks", lambda d: graph(d).update(wall_ms=[[1.0]] * 4), "holds no 5 or more equal blocks"),
    ("unequal blocks", lambda d: graph(d)["wall_ms"][0].pop(), "holds no 5 or more equal blocks"),
    ("a time that is nothing", lambda d: graph(d)["wall_ms"][0].__setitem__(0, 0.0), "holds no 5 or more equal blocks"),
    ("logits taken away", lambda d: merged(d).update(logits=None), "merged/text/call/98: has no drift beside its speed"),
    ("logits of the reference", lambda d: merged(d).update(logits=graph(d)["logits"]), "drift: is"),
    ("other temperatures", lambda d: d["temperatures"].update(text=9.0), "temperatures: found"),
    ("lighter weights", lambda d: d.update(weight_bytes=1), "peak_gib: is"),
    ("an entry twice", lambda d: d["entries"].append(graph(d)), "is there more than once"),
    ("a text row dropped", lambda d: d["entries"].remove(graph(d)), "graph/text/98: is missing and not listed as left out"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "message"), [pytest.param(e, m, id=n.replace(" ", "-")) for n, e, m in ENTRIES])
def test_edited_samples_are_found(tamper: Tamper, edit: Edit, message: str) -> None:
    tamper.json(SAMPLES, edit)
    tamper.reseal()
    assert any(message in problem for problem in problems(tamper.path)), problems(tamper.path)[:10]


def test_samples_must_be_there(tamper: Tamper) -> None:
    (tamper.path / SAMPLES).unlink()
    tamper.reseal()
    assert f"roles: {SAMPLES}: is missing" in problems(tamper.path)


def test_a_cpu_profile_has_no_measured_part(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path)
    tamper = Tamper(bundle)
    tamper.json("performance.json", lambda d: d.update(measured={"targets": []}))
    (bundle / SAMPLES).write_text('{"format": "kit-performance-samples/1"}')
    tamper.reseal()
    found = problems(bundle)
    assert any("performance.json measured: found" in problem for problem in found)
    assert f"roles: {SAMPLES}: has no role in a bundle of this profile" in found
