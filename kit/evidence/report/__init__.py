"""report.html: the verdict of a run on one page that needs nothing else, for people.

Verdict, scope and what is not covered come first; then gates, one question's logits on their rungs, drift with the noise
floor, right answers of a judged profile, generated questions, layers, planted faults, operators, signal, graph caches,
performance, the machine, and how to check all of it. Everything shown is read from the run's files; nothing is judged
here and nothing here is evidence. A document that a bundle does not have, or that cannot be read, leaves its section out
or says so: the page never stops a run from being packaged. Whatever a bundle says is escaped; nothing is loaded from
elsewhere, and no script runs.

Covers: `render`, and the order of the page. Does not cover: audits (they come later).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kit.evidence.report import accuracy, drift, inside, machine, verdict
from kit.evidence.report.html import Section, paragraph, picture, text
from kit.evidence.report.reading import RunFiles
from kit.evidence.report.style import STYLE

# In this order: what a reader asks first. A section that has nothing to show is left out.
SECTIONS: tuple[tuple[str, Callable[[RunFiles], Section | None]], ...] = (
    ("Diagnosis", verdict.diagnosis),
    ("Gates", verdict.gates),
    ("Logits on their rungs", drift.logits),
    ("Drift", drift.drift),
    ("Right answers", accuracy.right_answers),
    ("Noise floor", drift.floor),
    ("Generated questions", drift.generated),
    ("Layers", inside.layers),
    ("Planted faults", inside.faults),
    ("Operators", inside.operators),
    ("Signal against rounding", inside.signal),
    ("Graph caches", machine.counters),
    ("Performance", machine.performance),
    ("Draws of the autotuner", machine.draws),
    ("Machine", machine.environment),
    ("Stages", machine.stages),
)
# Figures that stages keep, by the anchor of the section they belong to; others stand together at the end.
PLACED = {
    "gates": ("gates",),
    "ladder": ("ladder",),
    "drift": ("drift", "probabilities", "detectable"),
    "right-answers": ("reliability",),
    "generated": ("flips", "oracle", "reliability_generated"),
    "layers": ("layers",),
    "operators": ("operators",),
    "performance": ("latency_against_tokens", "where_time_goes", "latency"),
}
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def render(run_dir: str | Path) -> str:
    """The page of a run folder that has run.json and verdict.json; other files are shown where they exist."""
    run = RunFiles(Path(run_dir))
    sections = [section for title, make in SECTIONS if (section := _made(run, title, make))]
    left = {name: png for name, png in run.figures.items() if not any(name in names for names in PLACED.values())}
    placed = {section.anchor for section in sections}
    left |= {name: run.figures[name] for anchor, names in PLACED.items() if anchor not in placed for name in names if name in run.figures}
    if left:
        pictures = "".join(_picture(name, png) for name, png in left.items())
        sections.append(Section("figures", "Other figures", f'<div class="gallery">{pictures}</div>'))
    sections.append(Section("audit", "Check it yourself", _audit(run)))
    contents = "".join(f'<li><a href="#{section.anchor}">{text(section.title)}</a></li>' for section in sections)
    body = "".join(
        f'<section><h2 id="{section.anchor}">{text(section.title)}</h2>{section.body}{_pictures(run, section.anchor)}</section>\n'
        for section in sections
    )
    about = f"{run.json('run.json').get('id', run.path.name)}: {run.verdict.get('verdict')}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">\n'
        f"<title>{text(about)}</title><style>{STYLE}</style></head>\n<body>\n"
        '<a class="skip" href="#contents">Skip to contents</a>\n'
        f"<header>{_top(run)}</header>\n"
        f'<nav id="contents" aria-label="Contents"><ul>{contents}</ul></nav>\n<main>\n{body}</main>\n'
        f"<footer>{paragraph('A summary for people. It proves nothing: the records do, and audit.py checks them.', 'quiet')}</footer>\n"
        "</body></html>\n"
    )


def _top(run: RunFiles) -> str:
    try:
        return verdict.head(run)
    except UNREADABLE as error:
        return f"<h1>{text(run.path.name)}</h1>" + _unreadable(error)


def _made(run: RunFiles, title: str, make: Callable[[RunFiles], Section | None]) -> Section | None:
    try:
        return make(run)
    except UNREADABLE as error:
        return Section(title.lower().replace(" ", "-"), title, _unreadable(error))


def _unreadable(error: Exception) -> str:
    return paragraph(f"This part of the run cannot be shown ({type(error).__name__}): a file is not of the form expected.")


def _pictures(run: RunFiles, anchor: str) -> str:
    return "".join(_picture(name, run.figures[name]) for name in PLACED.get(anchor, ()) if name in run.figures)


def _picture(name: str, png: bytes) -> str:
    return picture(f"{name}.png", png, f"Figure: {name.replace('_', ' ')}")


def _audit(run: RunFiles) -> str:
    signed = "SHA256SUMS.sig" if (run.path / "SHA256SUMS.sig").exists() else "none in the folder when this page was made"
    return (
        paragraph("In the bundle's folder, with any Python from 3.9 on and nothing installed:")
        + "<pre>python audit.py .</pre>"
        + paragraph(
            "A bundle's own audit.py is a suspect's witness. With a copy of the kit, which refuses an auditor it does not know:"
        )
        + "<pre>python -m kit audit path/to/bundle\nsha256sum -c SHA256SUMS</pre>"
        + paragraph(
            "The audit verifies every hash, recomputes every answer from the recorded logits, the logits from the recorded hidden "
            "rows, then drift, gates, counts and the graph caches, and lists all problems. It cannot refuse a forgery that is "
            "consistent throughout: compare the bundle_sha256 it prints with the one its author published elsewhere, or run it again."
        )
        + paragraph(f"Signature: {signed}. Whether one is good is for the audit to say, with --allowed-signers.", "quiet")
    )
