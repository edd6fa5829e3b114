"""How fast the engines are: from a run's records, and measured on purpose.

Covers: `performance_from_records` (performance.json of a run: what the campaign's own exchanges took) and
`run` (`kit bench`: every engine over the whole protocol, called directly and over HTTP). Comparable figures
are the ratios inside one run; absolute ones belong to the machine that made them and say so.
Does not cover: correctness. Speed is shown beside the drift of the same engine where a run has it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.performance.document import CLASSES
from kit.campaign.reading import EngineRecords, RunRecords, read_json, read_run
from kit.campaign.statistics import quantile

if TYPE_CHECKING:
    from kit.campaign.protocol import Protocol
    from kit.profile import Profile

FORMAT = "kit-performance/2"
BENCH_FORMAT = "kit-bench/1"
MACHINE_NOTE = "absolute figures belong to this machine, its libraries and its load; compare ratios within one run"
SYNTHETIC_NOTE = "the weights are synthetic: shapes and arithmetic are real, answers mean nothing"


@dataclass(frozen=True)
class Sample:
    """One timed request. way: "client" or "server" (of records), "call" or "http" (of a bench)."""

    engine: str
    way: str
    pass_number: int
    modality: str
    request: str
    ms: float


def performance_from_records(run_dir: str | Path) -> dict[str, Any]:
    """performance.json: latency of the measured passes by engine, pass and kind of request.

    Workloads are `protocol` (all requests), `protocol-text` and `protocol-image`. way "client" is the whole
    exchange as the client saw it, "server" the latency the server reports. `speedup` is the reference's median
    over this one's, above 1 where the engine is faster; None without a reference. `first_answer_seconds`: from
    starting the worker to its first answer, warm-ups included.
    """
    run = read_run(run_dir)
    reference = run.profile.campaign.reference
    drift_file = run.path / "drift.json"
    worst = read_json(drift_file)["worst"] if drift_file.exists() else {}
    return {
        "format": FORMAT,
        "profile": run.profile.name,
        "reference": reference or None,
        "unit": "milliseconds",
        "notes": notes(run.profile),
        "start_seconds": {figure_name(n): engine.facts.get("start_seconds") for n, engine in run.engines.items()},
        "first_answer_seconds": {figure_name(n): first_answer(engine) for n, engine in run.engines.items()},
        "rows": [uniform_row(row, worst) for row in summaries(list(record_samples(run)), reference)],
    }


def figure_name(engine: str) -> str:
    """An engine as figures name it: the native engine without graphs is the eager one."""
    return "eager" if engine == "native" else engine


def uniform_row(row: Mapping[str, Any], worst: dict[str, Any]) -> dict[str, Any]:
    """A summary in the form all rows of performance.json have. worst: of drift.json."""
    engine, modality = figure_name(row["engine"]), row["modality"]
    return {
        "engine": engine,
        "workload": "protocol" if modality == "all" else f"protocol-{modality}",
        "way": row["way"],
        "pass": row["pass"],
        "tokens": None,  # prompts of many lengths
        "samples": row["n"],
        **{name: row[name] for name in ("median_ms", "p95_ms", "min_ms", "max_ms", "speedup")},
        "peak_gib": None,
        "class": CLASSES[engine],
        "drift": drift_beside(worst, row["engine"]),
    }


def first_answer(engine: EngineRecords) -> float | None:
    """Seconds from starting a worker to holding its first answer; None for a server that was not started here."""
    start = engine.facts.get("start_seconds")
    answered = (x.wall_ms for x in engine.exchanges if x.status == 200)
    first = next(answered, None)
    return None if start is None or first is None else float(start + first / 1000)


def record_samples(run: RunRecords) -> Iterator[Sample]:
    """Every measured exchange that was answered, once as the client and once as the server timed it."""
    for engine in run.engines.values():
        for x in engine.exchanges:
            if x.phase != "measured" or x.status != 200:
                continue
            yield Sample(engine.name, "client", x.pass_number, x.modality, x.request_id, x.wall_ms)
            if x.latency_ms is not None:
                yield Sample(engine.name, "server", x.pass_number, x.modality, x.request_id, x.latency_ms)


def drift_beside(worst: dict[str, Any], engine: str) -> float | None:
    """The worst probability drift of an engine, against the fresh reference if it was compared with it."""
    for against in ("fresh", "frozen"):
        if f"{engine}/{against}" in worst:
            value: float | None = worst[f"{engine}/{against}"]["probability_drift"]
            return value
    return None


def summaries(samples: Sequence[Sample], reference: str) -> list[dict[str, Any]]:
    """One row an engine, way, pass and modality ("all" included): n, median, p95, min, max, speedup."""
    groups: dict[tuple[str, str, int, str], list[float]] = defaultdict(list)
    for s in samples:
        groups[s.engine, s.way, s.pass_number, s.modality].append(s.ms)
        groups[s.engine, s.way, s.pass_number, "all"].append(s.ms)
    medians = {key: quantile(values, 0.5) for key, values in groups.items()}
    rows = []
    for (engine, way, number, modality), values in groups.items():
        median, base = medians[engine, way, number, modality], medians.get((reference, way, number, modality))
        rows.append({
            "engine": engine, "way": way, "pass": number, "modality": modality, "n": len(values),
            "median_ms": median, "p95_ms": quantile(values, 0.95), "min_ms": min(values), "max_ms": max(values),
            "speedup": base / median if base is not None and median > 0 else None,
        })  # fmt: skip
    return rows


def notes(profile: Profile) -> list[str]:
    """What a reader must know before quoting a figure."""
    found = [MACHINE_NOTE]
    if profile.checkpoint.kind == "synthetic":
        found.append(SYNTHETIC_NOTE)
    if profile.runtime.device == "cpu" and "graph" in profile.campaign.engines:
        found.append("on a CPU the graph engine replays recorded ATen calls: it shows machinery, not speed")
    return found


# ---------------------------------------------------------------- kit bench


def run(profile: Profile, engines: Sequence[str], *, repeats: int = 3) -> dict[str, Any]:
    """Measure engines one after another, called directly and over HTTP; a table goes to stderr.

    One untimed round over the protocol comes first (captures happen there), then `repeats` timed rounds.
    Returns the document that `kit bench` prints last. Raises NoDeviceError without the profile's device.
    """
    from kit import runtime
    from kit.campaign.protocol import protocol_of

    runtime.configure(profile)
    names = list(engines) or list(profile.campaign.engines)
    if names != ["remote"]:
        runtime.require_device(profile)
    protocol = protocol_of(profile)
    reference = profile.campaign.reference if profile.campaign.reference in names else names[0]
    samples: list[Sample] = []
    for name in names:
        if name != "remote":
            print(f"{name}: called directly", file=sys.stderr)
            samples += call_samples(profile, protocol, name, repeats)
        print(f"{name}: over HTTP", file=sys.stderr)
        samples += http_samples(profile, protocol, name, repeats)
    rows = summaries([Sample(s.engine, s.way, 0, s.modality, s.request, s.ms) for s in samples], reference)
    for row in rows:
        del row["pass"]
    print(table(rows), file=sys.stderr)
    return {
        "format": BENCH_FORMAT,
        "profile": profile.name,
        "reference": reference,
        "repeats": repeats,
        "settings": runtime.settings(),
        "notes": notes(profile),
        "rows": rows,
    }


def call_samples(profile: Profile, protocol: Protocol, name: str, repeats: int) -> list[Sample]:
    """Latency of prepare and decide in this process."""
    from kit import engine as engines

    loaded = engines.load(name, profile)
    samples = []
    try:
        for number in range(repeats + 1):
            for case in protocol.cases:
                began = time.perf_counter()
                loaded.decide(loaded.prepare(case.body))
                ms = (time.perf_counter() - began) * 1000
                if number:
                    samples.append(Sample(name, "call", number, case.modality, case.id, ms))
    finally:
        loaded.close()
        _free_device_memory(profile)
    return samples


def _free_device_memory(profile: Profile) -> None:
    """Give back what a closed engine held, so that the next one, perhaps in another process, has room."""
    import gc

    gc.collect()
    if profile.runtime.device == "cuda":
        import torch

        torch.cuda.empty_cache()


def http_samples(profile: Profile, protocol: Protocol, name: str, repeats: int) -> list[Sample]:
    """Latency of a whole exchange with a worker on this machine, or with the remote server."""
    from kit.campaign.runner import ROUTE, CampaignStoppedError, open_client

    samples = []
    with _server(profile, name) as url, open_client() as client:
        for number in range(repeats + 1):
            for case in protocol.cases:
                began = time.perf_counter()
                response = client.post(url + ROUTE, content=case.body)
                ms = (time.perf_counter() - began) * 1000
                if response.status_code != 200:
                    raise CampaignStoppedError(
                        f"{name}: {case.id}: expected status 200, got {response.status_code}: {response.text[:200]}"
                    )
                if number:
                    samples.append(Sample(name, "http", number, case.modality, case.id, ms))
    return samples


@contextmanager
def _server(profile: Profile, name: str) -> Iterator[str]:
    """URL of an engine's server; a worker of our own is started and stopped for it."""
    if name == "remote":
        from kit.campaign.runner import ROUTE
        from kit.engine.remote import endpoints

        yield endpoints(profile.campaign.remote_url).decide.removesuffix(ROUTE)
        return
    from kit.serve.process import start_worker

    with tempfile.TemporaryDirectory(prefix="kit-bench-") as folder:
        # A worker reads a profile file; ours may have come from anywhere, so it gets this very profile.
        file = Path(folder) / "profile.toml"
        file.write_text(toml_text(profile.resolved()), encoding="utf-8")
        with start_worker(file, name, log=Path(folder) / "worker.log") as worker:
            yield worker.url


def toml_text(values: Mapping[str, Any], prefix: str = "") -> str:
    """A resolved profile (strings, numbers, booleans, lists of strings, tables of these) as TOML."""
    plain = {key: value for key, value in values.items() if not isinstance(value, dict)}
    # JSON's scalars and lists of strings are written the same way in TOML.
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in plain.items())
    for key, value in values.items():
        if isinstance(value, dict):
            text += f"\n[{prefix}{key}]\n" + toml_text(value, f"{prefix}{key}.")
    return text


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as fixed-width text for people."""
    lines = [f"{'engine':<10}{'way':<8}{'requests':<9}{'n':>5}{'median ms':>12}{'p95 ms':>10}{'speedup':>9}"]
    for row in rows:
        speedup = f"{row['speedup']:.2f}x" if row["speedup"] is not None else "-"
        lines.append(
            f"{row['engine']:<10}{row['way']:<8}{row['modality']:<9}{row['n']:>5}{row['median_ms']:>12.2f}"
            f"{row['p95_ms']:>10.2f}{speedup:>9}"
        )
    return "\n".join(lines)
