"""Phases of a session against what it has of each: nothing left out without a reason, no reason beside what is there.

Covers: a phase that ran and left nothing, one said to be left out whose samples are there, seconds that are fewer than the
samples took. Does not cover: rows missing within a phase (`measured`), phases nobody knows (`session`), or whether a
reason is true. A phase of several rounds (http, changed forms) may fail after some of them: its reason then stands
beside samples.
"""

from __future__ import annotations

from typing import Any, Dict, List

from kit.evidence.audit.measured import PHASES, TEXT_ENGINES, WORKLOAD_PHASES
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import SAMPLES, Json
from kit.evidence.audit.values import short

CHANGED_FORMS = {
    "compiled-graph": "compiled", "merged": "merged", "merged-graph": "merged", "merged-compiled-graph": "merged compiled",
}  # fmt: skip
OWN_PARTS = {"adapter swap": "adapter_swap", "profile": "profile", "stream": "stream"}  # of performance.json's measured
OF_SEVERAL_ROUNDS = ("http", *CHANGED_FORMS.values())
MILLISECOND = 0.001  # seconds are rounded to one


def check_phases(bundle: Bundle) -> None:
    """Every phase left what it is for or a reason, not both, and took at least as long as its samples."""
    if not bundle.measured:
        return
    measured, entries = bundle.json("performance.json")["measured"], entries_by_phase(bundle)
    left_out = {item["phase"] for item in measured["not_measured"]}
    for phase in PHASES:
        where, begun = "performance.json measured not_measured", phase in measured["seconds"]
        found = "performance.json measured %s" % OWN_PARTS[phase] if phase in OWN_PARTS else SAMPLES
        there = bool(measured.get(OWN_PARTS[phase])) if phase in OWN_PARTS else phase in entries
        if begun and not there and phase not in left_out:
            bundle.fail(where, "has no reason for %s, expected one, as nothing is in %s" % (short(phase), found))
        if there and phase in left_out and not (begun and phase in OF_SEVERAL_ROUNDS):
            bundle.fail(where, "lists %s, expected no reason, as it is in %s" % (short(phase), found))
        if begun and there:
            compare_seconds(bundle, phase, measured["seconds"][phase], entries.get(phase, []))


def entries_by_phase(bundle: Bundle) -> Dict[str, List[Json]]:
    """Entries of the samples by the phase that took them; anchors, which were measured again, are of none."""
    phases: Dict[str, List[Json]] = {}
    for entry in bundle.json(SAMPLES)["entries"]:
        phase = phase_of(entry)
        if phase and not entry["anchor"]:
            phases.setdefault(phase, []).append(entry)
    return phases


def phase_of(entry: Json) -> str:
    """The phase that an entry must be of, "" where there is none."""
    if entry["engine"] in CHANGED_FORMS:
        return CHANGED_FORMS[entry["engine"]]
    if entry["way"] == "http":
        return "http"
    if entry["workload"] == "text" and entry["engine"] in TEXT_ENGINES:
        return "text %d" % entry["tokens"]
    return str(entry["workload"]) if entry["workload"] in WORKLOAD_PHASES else ""


def compare_seconds(bundle: Bundle, phase: str, seconds: Any, entries: List[Json]) -> None:
    """A phase took some time, and every sample and first call one after another within it."""
    sampled = sum(ms for entry in entries for block in entry["wall_ms"] for ms in block)
    least = (sampled + sum(entry["cold_ms"] or 0 for entry in entries)) / 1e3
    if not seconds > 0 or seconds + MILLISECOND < least:
        message = "is %s, expected %s"
        wanted = "the %.3f or more that its samples in %s took" % (least, SAMPLES) if entries else "more than none"
        bundle.fail("performance.json measured seconds %s" % phase, message % (short(seconds), wanted))
