"""From samples to rows: what a reader, and an auditor, gets to see of a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.campaign.performance.document import drift, measured_rows, samples_document
from kit.campaign.performance.record import measures_device, with_measured
from kit.campaign.performance.targets import Target, targets
from kit.contract.answer import Calibration, softmax
from kit.profile import load_profile
from tests.campaign.performance.synthetic_session import DRIFTED, LOGITS, WEIGHT_BYTES, measured

CALIBRATION = Calibration(1.5, 2.0, None)
Row = dict[str, Any]


@pytest.fixture
def samples() -> Row:
    document: Row = json.loads(json.dumps(samples_document(measured(), CALIBRATION)))
    return document


@pytest.fixture
def rows(samples: Row) -> list[Row]:
    return measured_rows(samples)


def row(rows: list[Row], engine: str, workload: str = "text", tokens: int = 98) -> Row:
    (match,) = [r for r in rows if (r["engine"], r["workload"], r["tokens"]) == (engine, workload, tokens)]
    return match


def test_the_samples_of_a_whole_session_are_a_small_file(samples: Row) -> None:
    assert len(json.dumps(samples)) < 300_000


def test_a_row_has_the_figures_of_its_samples(rows: list[Row]) -> None:
    found = row(rows, "graph")
    assert found["samples"] == 12
    assert found["min_ms"] < found["median_ms"] < found["p95_ms"] <= found["max_ms"]
    assert found["device_median_ms"] < found["median_ms"]
    assert found["peak_gib"] == 50 + 0.25 + 0.5
    assert (found["class"], found["drift"], found["pool_gib"]) == ("candidate", 0.0, 0.5)
    assert found["ratios"].keys() == {"reference", "reference-graph"}
    assert found["ratios"]["reference-graph"]["ratio"] == pytest.approx(25 / 46)


def test_anchors_are_no_rows_but_carry_the_ratios_of_their_round(samples: Row, rows: list[Row]) -> None:
    assert len(rows) == len(samples["entries"]) - 4
    merged = row(rows, "merged")
    assert merged["ratios"].keys() == {"reference-graph"}
    assert merged["ratios"]["reference-graph"]["ratio"] == pytest.approx(140 / 46)


def test_a_baseline_carries_the_drift_of_its_answer(rows: list[Row]) -> None:
    found = row(rows, "merged")
    p, q = (softmax(side[0], 1.5) for side in (LOGITS, DRIFTED))
    assert found["class"] == "baseline"
    assert found["drift"] == pytest.approx(max(abs(a - b) for a, b in zip(p, q, strict=True)))
    assert row(rows, "reference-graph")["drift"] == 0.0
    assert row(rows, "gemm-floor")["drift"] is None


def test_drift_needs_both_sides() -> None:
    assert drift(None, ["00000000"], 1.0) is None
    assert drift(["00000000"], ["00000000"], 1.0) == 0.0


def test_memory_that_cannot_be_seen_is_no_figure(samples: Row) -> None:
    samples["entries"][0]["extra_bytes"] = None
    assert measured_rows(samples)[0]["peak_gib"] is None


def test_targets_are_met_missed_or_not_measured(rows: list[Row]) -> None:
    outcome = {item["target"]: item for item in targets(rows, WEIGHT_BYTES)}
    assert outcome["graph / reference-graph, 98 tokens"]["outcome"] == "met"
    assert outcome["reference / graph, 98 tokens"]["value"] == pytest.approx(6.4, rel=1e-5)  # times have four digits
    assert outcome["graph: vision 768x512, ms"]["outcome"] == "met"
    assert outcome["graph: GiB above the weights"]["value"] == pytest.approx(0.75)
    assert all(item["outcome"] == "not measured" for item in targets([], WEIGHT_BYTES))
    assert len(outcome) == 9


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        (Target("x", 0.65, 0.65), "met"),
        (Target("x", 0.65, 0.651), "missed"),
        (Target("x", 5.0, 4.9, at_least=True), "missed"),
        (Target("x", 5.0, 5.1, at_least=True), "met"),
        (Target("x", 5.0, None), "not measured"),
    ],
)
def test_a_bound_has_a_direction(target: Target, outcome: str) -> None:
    assert target.outcome == outcome


def test_the_document_keeps_the_records_rows_and_everything_found(samples: Row) -> None:
    base = {"format": "kit-performance/2", "rows": [{"engine": "eager", "workload": "protocol"}]}
    found = with_measured(base, samples, measured())
    assert found["rows"][-1] == base["rows"][0]
    assert found["measured"].keys() >= {"method", "floors", "profile", "device", "seconds", "not_measured", "targets"}
    assert json.loads(json.dumps(found)) == found


def test_only_a_gpu_with_a_reference_and_both_native_engines_is_measured() -> None:
    assert not measures_device(load_profile("params/cpu-tiny.toml"))
    assert measures_device(load_profile("params/jemm-27b.toml"))
