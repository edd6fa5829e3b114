"""Latency figures: medians, ratios inside one run, and the notes that go with them."""

import contextlib
from pathlib import Path

import pytest

from kit.campaign import bench
from kit.campaign.drift import compute_drift
from kit.evidence.records import write_json
from kit.profile import load_profile
from tests.campaign.fake_worker import Behaviour, Starter
from tests.campaign.synthetic_run import profile_toml, write_protocol, write_run


def test_speedup_is_the_reference_s_median_over_the_engine_s() -> None:
    samples = [
        bench.Sample(engine, "client", 1, modality, f"r{i}", ms * (i + 1))
        for engine, ms in (("reference", 10.0), ("graph", 2.0))
        for i, modality in enumerate(("text", "text", "image"))
    ]
    rows = {(row["engine"], row["modality"]): row for row in bench.summaries(samples, "reference")}
    assert rows["graph", "text"]["speedup"] == 5.0
    assert rows["reference", "all"]["speedup"] == 1.0
    assert rows["graph", "all"]["n"] == 3
    assert all(row["speedup"] is None for row in bench.summaries(samples, ""))


def test_a_run_s_own_exchanges_give_its_performance(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    write_json(tmp_path / "run" / "drift.json", compute_drift(tmp_path / "run"))
    performance = bench.performance_from_records(tmp_path / "run")
    keys = {(r["engine"], r["workload"], r["way"], r["pass"]) for r in performance["rows"]}
    assert len(keys) == len(performance["rows"]) == 3 * 2 * 2 * 3
    assert {r["engine"] for r in performance["rows"]} == {"reference", "eager", "graph"}
    wanted = ("graph", "protocol-text", "client", 2)
    row = next(r for r in performance["rows"] if (r["engine"], r["workload"], r["way"], r["pass"]) == wanted)
    assert row["samples"] == 5
    assert row["min_ms"] <= row["median_ms"] <= row["p95_ms"] <= row["max_ms"]
    assert (row["tokens"], row["peak_gib"], row["class"], row["drift"]) == (None, None, "candidate", 0.0)
    for name in ("start_seconds", "first_answer_seconds"):
        assert performance[name].keys() == {"reference", "eager", "graph"}
    assert performance["first_answer_seconds"]["graph"] > performance["start_seconds"]["graph"]
    assert performance["reference"] == "reference"
    assert any("this machine" in note for note in performance["notes"])
    assert any("synthetic" in note for note in performance["notes"])
    assert any("machinery, not speed" in note for note in performance["notes"])


def test_a_profile_survives_the_copy_a_worker_is_started_with(tmp_path: Path) -> None:
    for name in ("cpu-tiny",):
        profile = load_profile(f"params/{name}.toml")
        (tmp_path / "copy.toml").write_text(bench.toml_text(profile.resolved()), encoding="utf-8")
        assert load_profile(tmp_path / "copy.toml") == profile


def test_bench_over_http_times_every_round_but_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kit.campaign.protocol import load_protocol

    write_protocol(tmp_path / "protocol")
    (tmp_path / "p.toml").write_text(
        profile_toml(engines=("native",), passes=1, claim="baseline", reference="")
    )
    start = Starter(Behaviour())
    monkeypatch.setattr(bench, "_server", lambda profile, name: _url(start(tmp_path / "p.toml", name, log=tmp_path / "log")))
    protocol = load_protocol(tmp_path / "protocol")
    samples = bench.http_samples(load_profile(tmp_path / "p.toml"), protocol, "native", 2)
    assert len(samples) == 2 * len(protocol.cases)
    assert start.workers[0].sequence == 3 * len(protocol.cases)
    assert "native" in bench.table(bench.summaries(samples, "native"))


@contextlib.contextmanager
def _url(context):
    with context as worker:
        yield worker.url
