"""kit-diagnosis/1: what each candidate was found nearest to, the distances, and the library they were measured against.

Covers: the document, its sentences, the table for people. Does not cover: measuring (`matching`), or where the document
is kept (`evidence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kit.campaign.diagnosis.matching import DECLARED, FITTED, PLAIN, Finding, Match, Temperatures, find, words

if TYPE_CHECKING:
    from rich.table import Table

    from kit.campaign.diagnosis.candidates import Candidate
    from kit.campaign.diagnosis.matching import Answers

FORMAT = "kit-diagnosis/1"
SHOWN = 6  # rows of the table


def document(
    candidates: Sequence[Candidate],
    library: Mapping[str, Answers],
    forms: Mapping[str, str],
    modalities: Mapping[str, str],
    declared: Temperatures,
    checkpoint_digest: str,
) -> dict[str, Any]:
    """The diagnosis of every candidate. forms: words by name of form; modalities: by request."""
    findings = {one.name: find(one.probabilities, library, modalities, declared) for one in candidates}
    return {
        "format": FORMAT,
        "made": True,
        "checkpoint_digest": checkpoint_digest,
        "temperatures": {"text": declared.text, "image": declared.image},
        "forms": {name: text for name, text in forms.items() if name in library},
        "engines": {
            one.name: _engine(one, findings[one.name], forms, declared) for one in candidates
        },
        "library": _library(library),
    }  # fmt: skip


def not_made(reason: str) -> dict[str, Any]:
    """The document where the reference could not be run again, so nothing was compared."""
    return {"format": FORMAT, "made": False, "reason": reason, "engines": {}}


def _engine(candidate: Candidate, finding: Finding, forms: Mapping[str, str], declared: Temperatures) -> dict[str, Any]:
    return {
        "outcome": finding.outcome,
        "words": sentence(candidate.name, finding, forms, declared) + _left_out(candidate.missing),
        "questions": finding.questions,
        "missing": list(candidate.missing),
        "nearest": _match(finding.nearest),
        "plain": _match(finding.plain),
        "next": _match(finding.next) if finding.next else None,
        "same": [_match(match) for match in finding.same],
        "matches": [_match(match) for match in finding.matches],
    }


def _left_out(missing: Sequence[str]) -> str:
    """What no comparison says anything about."""
    if not missing:
        return ""
    return f"; {len(missing)} answer{'s' if len(missing) > 1 else ''} could not be compared, first {missing[0]}"


def _match(match: Match) -> dict[str, Any]:
    return {
        "form": match.form,
        "rule": match.rule,
        "temperatures": {"text": match.temperatures.text, "image": match.temperatures.image},
        "distance": match.distance,
        "equal": match.equal,
        "nearer": match.nearer,
        "farther": match.farther,
    }


def _library(library: Mapping[str, Answers]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Label logits by form, request and question; of a form only what is not the plain reference's."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for form, answers in library.items():
        told = found.setdefault(form, {})
        for (request, question), logits in answers.items():
            if form == PLAIN or logits != library[PLAIN][request, question]:
                told.setdefault(request, {})[question] = list(logits)
    return found


def sentence(engine: str, finding: Finding, forms: Mapping[str, str], declared: Temperatures) -> str:
    """The diagnosis in words, e.g. "native answers as the reference does with its adapter off"."""
    near, plain = finding.nearest, finding.plain
    if finding.outcome == "same":
        return f"{engine} answers as the reference does, on all {finding.questions} questions"
    if finding.outcome == "explained":
        other = " or ".join(dict.fromkeys(words(match, forms, declared) or "plainly" for match in finding.same))
        return (
            f"{engine} answers as the reference does {words(near, forms, declared)}"
            + (f" (or {other}: these requests cannot tell)" if other else "")
            + f": {_logits(near.distance)} away, {_logits(plain.distance)} from the plain reference, "
            f"equal on {near.equal} of {finding.questions} questions"
        )
    closest = min(finding.matches[1:], key=lambda match: match.distance)
    told = words(closest, forms, declared)
    return (
        f"nothing in the library explains {engine}: the plain reference is {_logits(plain.distance)} away, "
        + (f"the reference {told} {_logits(closest.distance)}" if closest.distance < plain.distance else "and nothing is nearer")
    )  # fmt: skip


def _logits(distance: float) -> str:
    return "0 logits" if distance < 1e-9 else f"{distance:.2g} logits"


def table(entry: Mapping[str, Any], forms: Mapping[str, str], name: str) -> Table:
    """The nearest counterfactuals of one engine, each form under its best rule, the plain reference among them."""
    from rich.table import Table

    shown = Table(title=f"{name}: distance to the reference with one thing changed", title_justify="left")
    for head in ("the reference", "temperatures"):
        shown.add_column(head)
    for head in ("distance, logits", "equal", "nearer", "farther"):
        shown.add_column(head, justify="right", no_wrap=True)
    for match in ranked(entry):
        shown.add_row(
            forms.get(match["form"], "as it is"), match["rule"], f"{match['distance']:.4f}", str(match["equal"]),
            str(match["nearer"]), str(match["farther"]), style="bold" if match == entry["nearest"] else "",
        )  # fmt: skip
    return shown


def ranked(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Matches for people: the finding, then every form at the declared temperatures and the plain reference at others."""
    told = [m for m in entry["matches"] if m["rule"] == DECLARED or (m["form"] == PLAIN and m["rule"] != FITTED)]
    rest = sorted((m for m in told if m != entry["nearest"]), key=lambda match: float(match["distance"]))
    rows = [entry["nearest"], *rest][:SHOWN]
    return rows if entry["plain"] in rows else [*rows, entry["plain"]]
