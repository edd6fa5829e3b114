"""records/floor.json: what each harmless change did to every question, and quantiles of it with how sure they are.

Covers: format kit-floor/1; change of the hidden row (relative RMS), of logits (BF16 steps) and of probabilities; p50,
p90, p99 and largest, text and images apart, and the protocol's questions by themselves; 95% intervals by resampling
request contents, one draw of contents for all three measures. Standard library, so that the audit computes it again.
Does not cover: measuring (`running`) or drawing (`kit.campaign.figures`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kit.campaign.floor.asking import Answer, Question
from kit.campaign.floor.forms import WHAT
from kit.campaign.floor.proof import Proof
from kit.campaign.generated.source import generator_of
from kit.campaign.oracle_errors import decoded, relative_l2
from kit.campaign.reading import RecordsError, read_json
from kit.campaign.sensitivity import changed_steps, first_maximum
from kit.campaign.statistics import quantile, quantile_of_sorted, resample
from kit.contract.answer import softmax
from kit.evidence.floats import decode_float32, float32_hex
from kit.evidence.records import sha256_bytes
from kit.profile import Profile

FORMAT = "kit-floor/1"
FILE = "records/floor.json"
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
MEASURES = ("hidden", "steps", "probability")
GROUPS = ("text", "image", "protocol")  # generated text, generated images, all of the protocol
RESAMPLES, SEED, SHARE = 1000, 20261130, 0.95
SAYS = "the reference against itself under harmless changes; it explains a result and never widens a gate"


def rows_of(
    asked: Sequence[Question], alone: Sequence[Answer], changed: Mapping[str, Sequence[Answer]], profile: Profile
) -> list[dict[str, Any]]:
    """One row a question: its logits alone, and under each form the logits and how far the hidden row moved."""
    import torch

    dtype = getattr(torch, profile.runtime.dtype)
    rows = []
    for number, (question, base) in enumerate(zip(asked, alone, strict=True)):
        truth = decoded(base.row, dtype)
        rows.append(
            {
                "request": question.request,
                "question": question.name,
                "modality": question.modality,
                "source": question.source,
                "content": question.content,
                "request_sha256": sha256_bytes(question.body),
                "logits": float32_hex(base.logits),
                "forms": {
                    name: {
                        "logits": float32_hex(answers[number].logits),
                        "hidden": relative_l2(decoded(answers[number].row, dtype), truth),
                    }
                    for name, answers in changed.items()
                },
            }
        )
    return rows


def document(
    profile: Profile,
    checkpoint_digest: str,
    temperatures: Mapping[str, float],
    rows: Sequence[Mapping[str, Any]],
    proofs: Mapping[str, Proof],
    details: Mapping[str, str],
) -> dict[str, Any]:
    """floor.json. proofs: of every form that was tried; details: what each was on this machine."""
    measured = [name for name in proofs if name in rows[0]["forms"]]
    forms = [
        {"name": name, "what": WHAT[name], "detail": details[name], "proof": proof.to_json(), "measured": name in measured}
        for name, proof in proofs.items()
    ]
    summary = {name: summarise(rows, name, temperatures) for name in measured}
    return {
        "format": FORMAT,
        "says": SAYS,
        "profile_sha256": profile.sha256(),
        "checkpoint_digest": checkpoint_digest,
        "generator": generator_of(profile.generated),
        "seed": profile.generated.seed,
        "temperatures": dict(temperatures),
        "forms": forms,
        "summary": summary,
        "band": band(summary),
        "rows": list(rows),
    }


def summarise(
    rows: Sequence[Mapping[str, Any]], form: str, temperatures: Mapping[str, float]
) -> dict[str, dict[str, Any]]:
    """Group -> figures of one form."""
    found = {}
    for group in GROUPS:
        mine = [row for row in rows if group_of(row) == group]
        if mine:
            changes = [change(row, form, temperatures) for row in mine]
            contents = [row["content"] for row in mine]
            draws = resampled(contents)
            found[group] = {
                "questions": len(mine),
                "contents": len(set(contents)),
                "flips": sum(flip for _, flip in changes),
                **{
                    measure: spread([values[measure] for values, _ in changes], contents, draws) for measure in MEASURES
                },
            }
    return found


def group_of(row: Mapping[str, Any]) -> str:
    """Which group a row is counted in."""
    return "protocol" if row["source"] == "protocol" else str(row["modality"])


def change(row: Mapping[str, Any], form: str, temperatures: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """The three measures of one row under one form, and whether the winner changed."""
    alone, other = decode_float32(row["logits"]), decode_float32(row["forms"][form]["logits"])
    p, q = (softmax(values, temperatures[row["modality"]]) for values in (alone, other))
    measures = {
        "hidden": row["forms"][form]["hidden"],
        "steps": changed_steps(alone, other),
        "probability": max(abs(a - b) for a, b in zip(p, q, strict=True)),
    }
    return measures, first_maximum(alone) != first_maximum(other)


def resampled(contents: Sequence[str]) -> list[dict[str, int]]:
    """How often each content was drawn, a resample each: contents in order by name, see `resample`."""
    names, source = sorted(set(contents)), random.Random(SEED)
    drawn = (Counter(resample(source, len(names))) for _ in range(RESAMPLES))
    return [{name: counts[place] for place, name in enumerate(names)} for counts in drawn]


def spread(
    values: Sequence[float], contents: Sequence[str], draws: Sequence[Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """Quantile -> its value and the ends of its 95% interval."""
    ordered = sorted(zip(values, contents, strict=True))
    drawn = [weighted(ordered, counts) for counts in draws]
    tail = (1 - SHARE) / 2
    return {
        name: {
            "value": quantile(values, q),
            "low": quantile([found[name] for found in drawn], tail),
            "high": quantile([found[name] for found in drawn], 1 - tail),
        }
        for name, q in QUANTILES.items()
    }


def weighted(ordered: Sequence[tuple[float, str]], counts: Mapping[str, int]) -> dict[str, float]:
    """The quantiles of values in order, each as often as its content was drawn."""
    sample = [value for value, content in ordered for _ in range(counts[content])]
    return {name: quantile_of_sorted(sample, q) for name, q in QUANTILES.items()}


def band(summary: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Modality -> measure -> the largest p99 of any form: what is drawn behind a drift."""
    return {
        modality: {
            measure: max(form[modality][measure]["p99"]["value"] for form in summary.values()) for measure in MEASURES
        }
        for modality in ("text", "image")
        if any(modality in form for form in summary.values())
    }


def band_of(run_dir: Path) -> dict[str, dict[str, float]] | None:
    """The band of a run's floor.json, None where it has none. Raises RecordsError for a file that is not one."""
    file = run_dir / FILE
    if not file.exists():
        return None
    found = read_json(file)
    if found.get("format") != FORMAT:
        raise RecordsError(f"{FILE}: format is {found.get('format')!r}, expected {FORMAT!r}")
    return dict(found["band"])
