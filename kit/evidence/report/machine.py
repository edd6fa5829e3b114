"""What it ran on and how fast: performance, graph caches, draws of the autotuner, stages, machine and libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kit.evidence.report.html import (
    Cell,
    Raw,
    Section,
    details,
    facts,
    listed,
    mark,
    number,
    paragraph,
    table,
)
from kit.evidence.report.reading import RunFiles

COUNTERS = ("captures", "replays", "evictions", "invalidations", "fallbacks", "entries", "bytes", "pool_bytes")


def performance(run: RunFiles) -> Section | None:
    """Latencies with the drift of the same engine in the row."""
    document = run.json("performance.json")
    rows = document.get("rows", [])
    if not rows:
        return None
    body = listed(document.get("notes", []))
    body += _measured(document.get("measured"), [row for row in rows if "ratios" in row])
    body += table(
        "The protocol's requests over HTTP",
        ("engine", "timed by", "pass", "requests", "median ms", "p95 ms", "speedup", "largest drift"),
        [
            (r["engine"], r["way"], r["pass"], r["samples"], _ms(r["median_ms"]), _ms(r["p95_ms"]), _times(r["speedup"]), r["drift"])
            for r in rows
            if r["workload"] == "protocol"
        ],
    )  # fmt: skip
    return Section("performance", "Performance, with the drift of the same engine", body)


def _measured(measured: Mapping[str, Any] | None, rows: Sequence[Mapping[str, Any]]) -> str:
    """What stage 09 measured on purpose: rows with their ratios, targets, and what was left out."""
    if measured is None:
        return ""
    head = ("engine", "class", "workload", "tokens", "samples", "median ms", "p95 ms", "of the captured reference", "95%", "peak GiB", "drift")
    body = paragraph(measured["method"], "quiet")
    shown = [
        (
            r["engine"], r["class"], r["workload"], r["tokens"], r["samples"], _ms(r["median_ms"]), _ms(r["p95_ms"]),
            *_ratio(r["ratios"]), r["peak_gib"], r["drift"],
        )
        for r in sorted(rows, key=lambda r: _order((r["workload"], r["tokens"])))
    ]  # fmt: skip
    body += _side_by_side(rows)
    body += details(f"All {len(shown)} rows, with their intervals", table("Every workload and form", head, shown))
    body += table(
        "Targets set before the run",
        ("target", "bound", "measured", "outcome"),
        [(t["target"], t["bound"], t["value"], t["outcome"]) for t in measured["targets"]],
    )
    left = [f"{item['phase']}: {item['reason']}" for item in measured["not_measured"]]
    return body + ("<h3>Not measured</h3>" + listed(left) if left else "")


def _side_by_side(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a workload, one column a form of the model."""
    engines = list(dict.fromkeys(r["engine"] for r in rows if r["workload"] == "text")) or list(dict.fromkeys(r["engine"] for r in rows))
    found: dict[tuple[str, Any], dict[str, Mapping[str, Any]]] = {}
    for r in rows:
        found.setdefault((r["workload"], r["tokens"]), {})[r["engine"]] = r
    order = sorted(found, key=_order)
    shown = [
        (
            workload, tokens, *(_ms(found[workload, tokens][e]["median_ms"]) if e in found[workload, tokens] else None for e in engines),
            " ".join(_ratio(found[workload, tokens].get("graph", {}).get("ratios", {}), "({})")),
            found[workload, tokens].get("graph", {}).get("drift"),
        )
        for workload, tokens in order
    ]  # fmt: skip
    return table(
        "Median milliseconds from a prepared request to label logits on the host, and the graph engine's share of the captured reference",
        ("workload", "tokens", *engines, "graph / reference-graph (95%)", "drift of graph"),
        shown,
    )


def _order(key: tuple[str, Any]) -> tuple[bool, str, int]:
    """Of a workload and its tokens: plain text first, each by length; they were measured in order of importance."""
    workload, tokens = key
    return workload != "text", workload, tokens or 0


def _ratio(ratios: Mapping[str, Mapping[str, float]], interval: str = "{}") -> tuple[str, str]:
    found = ratios.get("reference-graph")
    if not found:
        return "–", ""
    return f"{found['ratio']:.3f}", interval.format(f"{found['low']:.3f} to {found['high']:.3f}")


def counters(run: RunFiles) -> Section | None:
    """Graph caches of each engine, and whether they did what their policy predicts."""
    engines = run.json("counters.json").get("engines", {})
    rows: list[tuple[Cell | Raw, ...]] = []
    for engine, document in engines.items():
        mismatches = document.get("mismatches", {})
        for cache, values in document.get("counters", {}).items():
            wrong = bool(mismatches.get(cache))
            outcome = mark(not wrong, "NOT AS PREDICTED" if wrong else "as predicted")
            rows.append((engine, cache, *(values.get(name) for name in COUNTERS), outcome))
    if not rows:
        return None
    header = ("engine", "cache", *COUNTERS[:6], "bytes", "of them shared", "policy")
    return Section("counters", "Graph caches", table("Counters when the engine was closed", header, rows))


def draws(run: RunFiles) -> Section | None:
    """Several draws of the autotuner, where they were compared."""
    document = run.json("records/draws.json")
    summary = document.get("summary") or {}
    if not summary:
        return None
    first = {pair["draws"][1]: pair for pair in summary["between"] if pair["draws"][0] == 1}
    names = ("hidden", "logits", "flips", "max_steps", "max_probability")
    body = paragraph(
        "Kernels that time their configurations may choose others in another process; bits that are equal are so within a "
        "draw. The same weights and requests under independent draws:"
    )
    body += table(
        "Draws",
        ("draw", "digest", "native differs", "hidden rows off draw 1", "logits", "flips", "BF16 steps", "probability"),
        [
            (n, draw["digest"][:16], f"{different} of {summary['questions']}", *(first.get(n, {}).get(name) for name in names))
            for n, (draw, different) in enumerate(zip(document["draws"], summary["native_different"], strict=True), 1)
        ],
    )
    kernels = ", ".join(f"{name.rpartition('.')[2]} ({count} choices)" for name, count in summary["kernels"].items())
    return Section("draws", "Draws of the autotuner", body + paragraph(f"Kernels whose choice differs: {kernels or 'none'}."))


def environment(run: RunFiles) -> Section | None:
    """Machine, device, settings, libraries, weights."""
    found = run.json("environment.json")
    if not found:
        return None
    body = facts(_machine(run, found))
    packages = found.get("packages") or {}
    if packages:
        body += table(
            "Libraries, held to their own checksums",
            ("package", "version", "files", "outcome"),
            [(name, p.get("version"), p.get("files"), p.get("status")) for name, p in packages.items()],
        )
    settings = {k: v for k, v in (found.get("settings") or {}).items() if not isinstance(v, Mapping)}
    if settings:
        body += details("Settings in force", table("Settings", ("setting", "value"), list(settings.items())))
    return Section("environment", "Machine, libraries, weights", body)


def _machine(run: RunFiles, found: Mapping[str, Any]) -> Iterator[tuple[str, Cell]]:
    cpu, device = found.get("cpu") or {}, found.get("device") or {}
    yield "device", device.get("name") or device.get("kind")
    if device.get("memory_bytes"):
        yield "device memory", f"{device['memory_bytes'] / 2**30:.0f} GiB"
    for name in ("driver", "cuda", "capability"):
        if device.get(name):
            yield name, str(device[name])
    yield "device to itself", (run.json("device.json").get("verdict") or {}).get("alone")
    yield "processor", cpu.get("model")
    yield "instruction sets", " ".join(cpu.get("instruction_sets", []))
    yield "Python", found.get("python")
    weights = run.json("checkpoint.json")
    if weights:
        yield "weights", f"{weights.get('kind')}: {weights.get('source')}"
        yield "weights digest", weights.get("digest")
    yield "autotune draw", draw_name(found.get("autotune") or {})


def draw_name(chosen: Mapping[str, Any]) -> str:
    """Which draw of the autotuner a run belongs to, in words."""
    if not chosen.get("winners"):
        return "none: no kernel of this run chooses its configuration"
    return f"{chosen['digest']}, {chosen['source']}, {len(chosen['winners'])} winners"


def stages(run: RunFiles) -> Section | None:
    """Which stages finished, and failed attempts that were kept."""
    names = sorted(path.stem for path in (run.path / "notebooks").glob("*.ipynb"))
    if not names:
        return None
    finished = [run.json(f"stages/{name}.json").get("sentinel") == "finished" for name in names]
    rows = [(name, mark(done, "finished" if done else "NOT FINISHED")) for name, done in zip(names, finished, strict=True)]
    body = table("Stages, each an executed notebook in the bundle", ("stage", "outcome"), rows, failed=[not done for done in finished])
    attempts = sorted(path.name for path in (run.path / "attempts").glob("*"))
    if attempts:
        body += "<h3>Failed or interrupted attempts that were kept</h3>" + listed(attempts)
    return Section("stages", "Stages", body)


def _ms(value: float) -> str:
    return f"{value:.2f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{number(round(value, 2))}×"
