"""How far the reference is from the oracle on every question of a protocol, and a candidate beside it.

Covers: `kit oracle`: the reference over the protocol, the candidate over the reference's own tensors (a 27B model
lies on the device once), then the oracle layer by layer when both are gone; a row a question, their summary
(format kit-oracle/1), a table.
Does not cover: a verdict. Forty-nine questions are too few for class `faithful`, and the document says so: the
campaign asks generated prompts for that.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import engine as engines
from kit import runtime
from kit.campaign.oracle_errors import BOUND, errors, noninferiority, problems, ratio
from kit.campaign.protocol import Case, protocol_of
from kit.campaign.run_folder import RunError
from kit.campaign.sensitivity import changed_steps, first_maximum, margin
from kit.contract.answer import softmax
from kit.evidence.records import sha256_bytes, write_json
from kit.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from kit.engine.base import Prepared, QuestionResult
    from kit.engine.oracle import OracleResult
    from kit.profile import Profile

FORMAT = "kit-oracle/1"
REFERENCE = "reference"
Results = list[tuple["QuestionResult", ...]]


def run(profile_path: str, candidate: str = "", out: Path | None = None) -> dict[str, Any]:
    """The document of a profile's protocol, also written to `out`. candidate: "native", "graph" or none.

    Raises RunError where there is neither a reference nor a candidate, NoDeviceError without the profile's device.
    """
    profile = runtime.on_device(profile_path)
    document = measure(profile, protocol_of(profile).cases, candidate)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_json(out, document)
    return document


def measure(profile: Profile, cases: Sequence[Case], candidate: str = "") -> dict[str, Any]:
    """The document of these requests; the process settings of the profile are in force."""
    prepared, found = _engines(profile, cases, candidate)
    from kit.engine.oracle import load_oracle

    oracle = load_oracle(profile)
    truths = oracle.decide_all(prepared)
    temperatures = [oracle.calibration.for_images(bool(one.grids)) for one in prepared]
    rows = [
        row
        for number, case in enumerate(cases)
        for row in _rows(profile, case, temperatures[number], truths[number], {n: r[number] for n, r in found.items()})
    ]
    oracle.close()
    return {
        "format": FORMAT,
        "profile": profile.name,
        "checkpoint_digest": oracle.digest,
        "dtype": profile.runtime.dtype,
        "device": profile.runtime.device,
        "summary": summarise(rows, tuple(found)),
        "questions": rows,
    }


def _engines(profile: Profile, cases: Sequence[Case], candidate: str) -> tuple[list[Prepared], dict[str, Results]]:
    """Every request prepared, and what each engine made of it. All engines are closed again."""
    if not profile.campaign.reference:
        if not candidate:
            raise RunError(f"profile {profile.name} runs no reference: name what to measure, --candidate native or graph")
        engine = engines.load(candidate, profile)
        prepared = [engine.prepare(case.body) for case in cases]
        found = {candidate: _decide(engine, prepared)}
        engine.close()
        return prepared, found
    from kit.engine import autotune, reference

    autotune.install_recorded()
    official = reference.load(profile)
    prepared = [official.prepare(case.body) for case in cases]
    found = {REFERENCE: _decide(official, prepared)}
    if candidate:
        engine = engines.load_beside(candidate, profile, official)
        found[candidate] = _decide(engine, prepared)
        engine.close()
    official.close()
    return prepared, found


def _decide(engine: Any, prepared: Sequence[Prepared]) -> Results:
    return [engine.decide(one).questions for one in prepared]


def _rows(
    profile: Profile,
    case: Case,
    temperature: float,
    truths: tuple[OracleResult, ...],
    found: dict[str, tuple[QuestionResult, ...]],
) -> Iterator[dict[str, Any]]:
    """A row a question: the oracle's winner and margin, and each engine's distance. A request sent again, byte for
    byte, is one content."""
    for place, truth in enumerate(truths):
        engines = {name: _distance(profile, truth, results[place]) for name, results in found.items()}
        yield {
            "request": case.id,
            "content": sha256_bytes(case.body),
            "question": truth.question_id,
            "modality": case.modality,
            "tokens": next(iter(found.values()))[place].tokens,
            "logits": list(truth.logits),
            "winner": first_maximum(truth.logits),
            "margin": margin(softmax(truth.logits, temperature)),
            "engines": engines,
        }


def _distance(profile: Profile, truth: OracleResult, result: QuestionResult) -> dict[str, Any]:
    """hidden, logits: see `Errors`. steps: of the oracle's logit differences, in BF16. same_winner: as the oracle."""
    import torch

    found = errors(truth, result, getattr(torch, profile.runtime.dtype))
    return dataclasses.asdict(found) | {
        "steps": changed_steps(truth.logits, result.logits),
        "same_winner": first_maximum(result.logits) == first_maximum(truth.logits),
    }


def summarise(rows: Sequence[dict[str, Any]], engines: Sequence[str]) -> dict[str, Any]:
    """Medians and extremes of each engine, and the interval of candidate over reference where there are both.

    "not_faithful": why this many questions do not carry class faithful; never empty for a protocol of 49.
    """
    summary: dict[str, Any] = {"questions": len(rows), "engines": {}}
    for name in engines:
        mine = [row["engines"][name] for row in rows]
        summary["engines"][name] = {
            **_spread("hidden", [one["hidden"] for one in mine]),
            **_spread("logits", [one["logits"] for one in mine]),
            "steps_max": max(one["steps"] for one in mine),
            "other_winners": sum(not one["same_winner"] for one in mine),
        }
    if len(engines) == 2:
        base, candidate = engines
        for key in ("hidden", "logits"):
            ratios = [ratio(row["engines"][candidate][key], row["engines"][base][key]) for row in rows]
            interval = noninferiority(ratios, [row["content"] for row in rows])
            summary[f"{key}_ratio"] = dataclasses.asdict(interval)
            if key == "hidden":
                summary["not_faithful"] = problems(interval)
    return summary


def _spread(name: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{name}_median": statistics.median(values), f"{name}_max": max(values)}


def table(document: dict[str, Any]) -> Table:
    """One line a question for people; rows in percent of the oracle's, logits and steps as they are."""
    from rich.table import Table

    engines = list(document["summary"]["engines"])
    shown = Table(title=f"{document['profile']}: distance from the FP64 oracle ({document['dtype']}, {document['device']})")
    shown.add_column("request / question")
    for name in ("tokens", "margin", *(f"{engine}\n{key}" for engine in engines for key in ("row %", "logits", "steps"))):
        shown.add_column(name, justify="right")
    shown.add_column("winner")
    for row in document["questions"]:
        numbers = [
            text
            for name in engines
            for one in (row["engines"][name],)
            for text in (f"{100 * one['hidden']:.2f}", f"{one['logits']:.4f}", f"{one['steps']:.1f}")
        ]
        others = [name for name in engines if not row["engines"][name]["same_winner"]]
        winner = f"not {', '.join(others)}" if others else "same"
        shown.add_row(f"{row['request']} / {row['question']}", str(row["tokens"]), f"{row['margin']:.3f}", *numbers, winner)
    return shown


def show(document: dict[str, Any]) -> None:
    """Table and sentences on standard output."""
    out = console()
    out.print(table(document))
    for sentence in sentences(document):
        out.print(sentence)


def sentences(document: dict[str, Any]) -> list[str]:
    """The summary in words, a line each."""
    summary = document["summary"]
    lines = [
        f"{name}: row {100 * one['hidden_median']:.2f}% of the oracle's (median; largest {100 * one['hidden_max']:.2f}%), "
        f"logits {one['logits_median']:.4f} (largest {one['logits_max']:.4f}), {one['other_winners']} of "
        f"{summary['questions']} winners are not the oracle's"
        for name, one in summary["engines"].items()
    ]
    if "hidden_ratio" in summary:
        found = summary["hidden_ratio"]
        lines.append(
            f"candidate / reference, hidden row: {found['mean']:.4f}, 95% bounds {found['lower']:.4f} and "
            f"{found['upper']:.4f} (class faithful allows {BOUND:.2f})"
        )
        lines += [f"not enough for class faithful: {problem}" for problem in summary["not_faithful"]]
    return lines


def line(document: dict[str, Any]) -> dict[str, Any]:
    """The last line of the command: what was measured, without the rows."""
    return {"oracle": document["profile"], **document["summary"]}
