"""report.html: the verdict of a run on one page that needs nothing else, for people.

Covers: verdict, claim, what is not covered, counts, gates, worst drift, speed beside drift, graph counters,
stages, the machine, and the run's figures embedded in the page. Everything shown is read from the run's JSON
files; nothing is computed here and nothing here is evidence. Does not cover: audits (they come later).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin-bottom: .3rem } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd }
table { border-collapse: collapse; margin: .6rem 0; font-size: 13.5px } th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #eee; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums } .quiet { color: #767676 }
.verdict { display: inline-block; padding: .25rem .9rem; border-radius: .3rem; color: #fff; font-weight: 600; letter-spacing: .04em }
.pass { background: #00704a } .fail { background: #b00020 } tr.failed td { color: #b00020; font-weight: 600 }
figure { margin: 1.2rem 0 } img { max-width: 100% } figcaption { color: #767676; font-size: 13px } code { font-size: 13px }
"""
FIRST_FIGURES = (
    "drift", "probabilities", "detectable", "ladder", "latency_against_tokens", "where_time_goes", "latency", "gates",
)  # fmt: skip

Cell = str | int | float | bool | None


def render(run_dir: str | Path) -> str:
    """The page of a run folder that has run.json and verdict.json; other files are shown where they exist."""
    run = Path(run_dir)
    verdict = _read(run, "verdict.json")
    parts = [
        *_head(_read(run, "run.json"), verdict),
        *_gates(verdict),
        *_drift(verdict, _read(run, "drift.json")),
        *_figures(run),
        *_performance(_read(run, "performance.json")),
        *_counters(_read(run, "counters.json")),
        *_draws(_read(run, "records/draws.json")),
        *_stages(run),
        *_machine(_read(run, "environment.json")),
        *_audit(),
    ]
    body = "\n".join(parts)
    title = escape(f"Run {_read(run, 'run.json').get('id', run.name)}: {verdict.get('verdict')}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _head(facts: Mapping[str, Any], verdict: Mapping[str, Any]) -> Iterator[str]:
    outcome = str(verdict.get("verdict"))
    yield f"<h1>{escape(str(verdict.get('profile')))}, claim “{escape(str(verdict.get('claim')))}”</h1>"
    yield f'<p><span class="verdict {"pass" if outcome == "pass" else "fail"}">{escape(outcome.upper())}</span></p>'
    yield f"<p>{escape(str(verdict.get('scope')))}</p>"
    if verdict.get("failures"):
        yield "<p><b>Failed:</b> " + escape("; ".join(map(str, verdict["failures"]))) + "</p>"
    counts = verdict.get("counts") or {}
    yield _table(
        ("", ""),
        [
            ("run", facts.get("id")),
            ("started (UTC)", facts.get("started_utc")),
            ("kit version", facts.get("kit_version")),
            ("judged against", ", ".join(verdict.get("against", []))),
            ("requests / questions", f"{counts.get('requests')} / {counts.get('questions')}"),
            (
                "posts / answered / refused",
                f"{counts.get('posts')} / {counts.get('ok')} / {counts.get('rejected')}",
            ),
            ("posts by engine", ", ".join(f"{k} {v}" for k, v in (counts.get("by_engine") or {}).items())),
            ("largest probability drift", verdict.get("max_probability_drift")),
        ],
    )
    yield "<p>This says nothing about:</p><ul>"
    yield from (f"<li>{escape(str(line))}</li>" for line in verdict.get("not_covered", []))
    yield "</ul>"


def _gates(verdict: Mapping[str, Any]) -> Iterator[str]:
    gates = verdict.get("gates") or []
    if not gates:
        return
    yield "<h2>Gates</h2><p>A gate that fails is never retried and never widened.</p>"
    yield _table(
        ("gate", "engine", "against", "value", "bound", "outcome", "detail"),
        [
            (
                g["gate"],
                g["engine"],
                g["against"],
                g["value"],
                g["bound"],
                "pass" if g["passed"] else "FAIL",
                g["detail"],
            )
            for g in gates
        ],
        failed=[not gate["passed"] for gate in gates],
    )


def _drift(verdict: Mapping[str, Any], drift: Mapping[str, Any]) -> Iterator[str]:
    if not verdict.get("drift"):
        return
    yield "<h2>Largest drift</h2><p>Steps: change of a logit difference in BF16 steps of the reference.</p>"
    worst = drift.get("worst", {})
    yield _table(
        ("engine / against", "probability", "confidence", "noul", "expected score", "BF16 steps"),
        [
            (
                pair,
                d["probability"],
                d["confidence"],
                d["noul"],
                d["expected_value"],
                worst.get(pair, {}).get("max_steps"),
            )
            for pair, d in verdict["drift"].items()
        ],
    )
    rows = sorted(drift.get("rows", []), key=lambda row: (-row["probability_drift"], row["request"]))[:10]
    yield "<p>Ten questions with the largest drift; “visible from” is the smallest shift of one label logit, in BF16 steps, that a gate would see.</p>"
    yield _table(
        ("engine", "against", "request", "question", "margin", "drift", "steps", "visible from"),
        [
            (r["engine"], r["against"], r["request"], r["question"], r["reference_margin"], r["probability_drift"], r["max_steps"], r["detectable_steps"])
            for r in rows
        ],
    )  # fmt: skip


def _figures(run: Path) -> Iterator[str]:
    files = {file.stem: file for file in sorted((run / "figures").glob("*.png"))}
    order = [name for name in FIRST_FIGURES if name in files] + [
        name for name in files if name not in FIRST_FIGURES
    ]
    if order:
        yield "<h2>Figures</h2>"
    for name in order:
        data = base64.b64encode(files[name].read_bytes()).decode()
        label = escape(name.replace("_", " "))
        yield f'<figure><img alt="{label}" src="data:image/png;base64,{data}"><figcaption>{label}</figcaption></figure>'


def _performance(performance: Mapping[str, Any]) -> Iterator[str]:
    rows = performance.get("rows", [])
    if not rows:
        return
    yield "<h2>Speed, with the drift of the same engine</h2>"
    yield "".join(f'<p class="quiet">{escape(str(note))}</p>' for note in performance.get("notes", []))
    yield from _measured(performance.get("measured"), [row for row in rows if "ratios" in row])
    yield _table(
        ("engine", "timed by", "pass", "requests", "median ms", "p95 ms", "speedup", "largest drift"),
        [
            (r["engine"], r["way"], r["pass"], r["samples"], _ms(r["median_ms"]), _ms(r["p95_ms"]), _times(r["speedup"]), r["drift"])
            for r in rows
            if r["workload"] == "protocol"
        ],
    )  # fmt: skip


def _measured(measured: Mapping[str, Any] | None, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What stage 09 measured on purpose: rows with their ratios, targets, and what was left out."""
    if measured is None:
        return
    yield f'<p class="quiet">{escape(measured["method"])}</p>'
    yield _table(
        ("engine", "class", "workload", "tokens", "samples", "median ms", "p95 ms", "to reference-graph", "95%", "peak GiB", "drift"),
        [
            (r["engine"], r["class"], r["workload"], r["tokens"], r["samples"], _ms(r["median_ms"]), _ms(r["p95_ms"]), *_ratio(r["ratios"]), r["peak_gib"], r["drift"])
            for r in rows
        ],
    )  # fmt: skip
    yield _table(
        ("target", "bound", "measured", "outcome"),
        [(t["target"], t["bound"], t["value"], t["outcome"]) for t in measured["targets"]],
    )
    for item in measured["not_measured"]:
        yield f"<p>Not measured: {escape(item['phase'])}: {escape(item['reason'])}</p>"


def _ratio(ratios: Mapping[str, Mapping[str, float]]) -> tuple[str, str]:
    found = ratios.get("reference-graph")
    return (f"{found['ratio']:.3f}", f"{found['low']:.3f}–{found['high']:.3f}") if found else ("–", "–")


def _counters(counters: Mapping[str, Any]) -> Iterator[str]:
    rows = [
        (engine, cache, *(values.get(name) for name in ("captures", "replays", "evictions", "invalidations", "fallbacks", "entries", "bytes", "pool_bytes")))
        for engine, document in counters.get("engines", {}).items()
        for cache, values in document.get("counters", {}).items()
    ]  # fmt: skip
    if rows:
        yield "<h2>Graph caches</h2>"
        yield _table(
            (
                "engine",
                "cache",
                "captures",
                "replays",
                "evictions",
                "invalidations",
                "fallbacks",
                "entries",
                "bytes",
                "of them shared",
            ),
            rows,
        )


def _draws(document: Mapping[str, Any]) -> Iterator[str]:
    """Several draws of the autotuner, where they were compared."""
    summary = document.get("summary") or {}
    if not summary:
        return
    yield "<h2>Draws of the autotuner</h2>"
    yield (
        "<p>Kernels that time their configurations may choose others in another process; bits that are equal are so "
        "within a draw. The same weights and requests under independent draws:</p>"
    )
    first = {pair["draws"][1]: pair for pair in summary["between"] if pair["draws"][0] == 1}
    names = ("hidden", "logits", "flips", "max_steps", "max_probability")
    yield _table(
        ("draw", "digest", "native differs", "hidden rows off draw 1", "logits", "flips", "BF16 steps", "probability"),
        [
            (n, draw["digest"][:16], f"{different} of {summary['questions']}", *(first.get(n, {}).get(name) for name in names))
            for n, (draw, different) in enumerate(zip(document["draws"], summary["native_different"], strict=True), 1)
        ],
    )  # fmt: skip
    kernels = ", ".join(f"{name.rpartition('.')[2]} ({count} choices)" for name, count in summary["kernels"].items())
    yield f"<p>Kernels whose choice differs: {escape(kernels or 'none')}.</p>"


def _draw_name(chosen: Mapping[str, Any]) -> str:
    """Which draw of the autotuner a run belongs to, in words."""
    if not chosen.get("winners"):
        return "none: no kernel of this run chooses its configuration"
    return f"{chosen['digest']}, {chosen['source']}, {len(chosen['winners'])} winners"


def _stages(run: Path) -> Iterator[str]:
    notebooks = sorted((run / "notebooks").glob("*.ipynb"))
    if not notebooks:
        return
    rows = []
    for notebook in notebooks:
        result = _read(run, f"stages/{notebook.stem}.json")
        rows.append((notebook.stem, "finished" if result.get("sentinel") == "finished" else "NOT FINISHED"))
    attempts = sorted(path.name for path in (run / "attempts").glob("*"))
    yield "<h2>Stages</h2>"
    yield _table(("stage", "outcome"), rows, failed=[row[1] != "finished" for row in rows])
    if attempts:
        yield "<p>Failed or interrupted attempts that were kept: " + escape(", ".join(attempts)) + "</p>"


def _machine(environment: Mapping[str, Any]) -> Iterator[str]:
    if not environment:
        return
    yield "<h2>Machine and libraries</h2>"
    cpu, device = environment.get("cpu") or {}, environment.get("device") or {}
    rows: list[tuple[Cell, ...]] = [
        ("python", environment.get("python")),
        ("processor", f"{cpu.get('model')}, {' '.join(cpu.get('instruction_sets', []))}"),
        ("device", ", ".join(f"{k} {v}" for k, v in device.items())),
        ("autotune draw", _draw_name(environment.get("autotune") or {})),
    ]
    rows += [
        (f"setting {k}", v)
        for k, v in (environment.get("settings") or {}).items()
        if not isinstance(v, Mapping)
    ]
    rows += [
        (f"package {name}", f"{p.get('version', '')} {p.get('status')}".strip())
        for name, p in (environment.get("packages") or {}).items()
    ]
    yield _table(("", ""), rows)


def _audit() -> Iterator[str]:
    yield "<h2>Check it yourself</h2>"
    yield "<p>This page is a summary and proves nothing. In the bundle's folder, with any Python from 3.9 on:</p>"
    yield "<p><code>python audit.py .</code></p>"


def _table(header: Sequence[str], rows: Iterable[Sequence[Cell]], failed: Sequence[bool] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header) if any(header) else ""
    body = []
    for index, row in enumerate(rows):
        kind = ' class="failed"' if index < len(failed) and failed[index] else ""
        body.append(f"<tr{kind}>" + "".join(map(_cell, row)) + "</tr>")
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{''.join(body)}</table>"


def _cell(value: Cell) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return f"<td>{escape('–' if value is None else str(value))}</td>"
    text = str(value) if isinstance(value, int) or value == 0 else f"{value:.6g}"
    return f'<td class="number">{text}</td>'


def _ms(value: float) -> str:
    return f"{value:.2f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _read(run: Path, name: str) -> dict[str, Any]:
    file = run / name
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return document
