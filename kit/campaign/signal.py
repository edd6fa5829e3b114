"""Signal against noise: how much a model's input moves its answer, and how much rounding alone does.

Bitwise equality can be shown with any weights. Whether drift on some weights means anything is another matter: if
rounding moves the last row as far as another input does, agreement in probabilities is luck. So a profile
publishes both, measured on the official reference: the floor (row 0 of a batch of two copies against the row
alone) and the effect of two swapped words, of the adapter, and of another image.

Covers: the forwards, per question numbers, their summary and ratios, signal.json (format kit-signal/1).
Does not cover: a judgement; no gate reads these numbers.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.campaign.sensitivity import changed_steps
from kit.checkpoint.ranks import SPECIAL_TOKENS
from kit.contract.answer import softmax

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from kit.campaign.protocol import Case, Protocol
    from kit.engine.base import Prepared, PreparedQuestion
    from kit.engine.reference import ReferenceEngine

FORMAT = "kit-signal/1"
EFFECTS = ("swap", "adapter", "image")  # an effect each; "floor" is the noise
PROMPTS = {"text": 16, "image": 8}  # questions of each modality, taken across the corpus in order
LONGEST = 512  # tokens: longer prompts add time and no insight, and are taken where shorter ones run out
ENDING = 12  # tokens behind the user's text, the same in every prompt
SEED = 1


@dataclass(frozen=True)
class Outcome:
    """One forward: the final-norm row (FP32, on the CPU) and the candidates' logits."""

    row: Tensor
    logits: tuple[float, ...]


def measure_signal(
    engine: ReferenceEngine, protocol: Protocol, prompts: dict[str, int] | None = None
) -> dict[str, Any]:
    """signal.json of a loaded reference: floor and effects on questions of the protocol, long ones last.

    prompts: how many questions of each modality; by default 16 of text and 8 with images.
    """
    import torch

    chosen = list(_choose(engine, protocol.cases, prompts or PROMPTS))
    with torch.inference_mode():
        questions = [_measure(engine, case, prepared, item) for case, prepared, item in chosen]
    return {
        "format": FORMAT,
        "checkpoint_digest": engine.digest,
        "floor": "row 0 of a batch of two copies against the row alone",
        "summary": summarise(questions),
        "questions": questions,
    }


def _choose(
    engine: ReferenceEngine, cases: Iterable[Case], prompts: dict[str, int]
) -> Iterator[tuple[Case, Prepared, PreparedQuestion]]:
    """Distinct prompts, one question a request in turn, until each modality has its number."""
    found: dict[str, list[tuple[int, Case, Prepared, PreparedQuestion]]] = {name: [] for name in prompts}
    seen: set[tuple[int, ...]] = set()
    for case in cases:
        prepared = engine.prepare(case.body)
        for turn, item in enumerate(prepared.questions):
            key = (*item.input_ids, *(hash(image.rgb) for image in prepared.request.images))
            if key not in seen:
                seen.add(key)
                found[case.modality].append((turn, case, prepared, item))
    for name, count in prompts.items():
        in_turn = sorted(found[name], key=lambda entry: (len(entry[3].input_ids) > LONGEST, entry[0]))
        for _, case, prepared, item in in_turn[:count]:
            yield case, prepared, item


def _measure(engine: ReferenceEngine, case: Case, prepared: Prepared, item: PreparedQuestion) -> dict[str, Any]:
    import torch

    inputs = engine.inputs(prepared, item)
    alone = _run(engine, item, inputs)
    others = {
        "floor": _run(engine, item, {name: torch.cat([value, value]) for name, value in inputs.items()}),
        "swap": _run(engine, item, inputs | {"input_ids": _swapped(engine, inputs["input_ids"])}),
    }
    with engine.model.disable_adapter():
        others["adapter"] = _run(engine, item, inputs)
    if prepared.grids:
        others["image"] = _run(engine, item, inputs | {"pixel_values": _negative_of_the_first(inputs)})
    temperature = engine.calibration.for_images(bool(prepared.grids))
    return {
        "request": case.id,
        "question": item.question.id,
        "modality": case.modality,
        "tokens": len(item.input_ids),
        "probability": max(softmax(alone.logits, temperature)),
        "logits": [min(alone.logits), max(alone.logits)],
        **{name: _distance(alone, other) for name, other in others.items()},
    }


def _run(engine: ReferenceEngine, item: PreparedQuestion, inputs: dict[str, Tensor]) -> Outcome:
    """The first row of a batch."""
    logits, rows = engine.forward(inputs)
    labels = logits[0, list(item.label_ids)].float().tolist()
    return Outcome(rows[0].float().cpu(), tuple(labels))


def _swapped(engine: ReferenceEngine, input_ids: Tensor) -> Tensor:
    """The prompt with two different ordinary tokens of its middle exchanged; which ones depends on the ids alone."""
    import torch

    ids = input_ids[0].tolist()
    (first_special,) = engine.preparer.tokenizer.encode(SPECIAL_TOKENS[0])
    places = [i for i in range(len(ids) // 4, len(ids) - ENDING) if ids[i] < first_special]
    draw = random.Random(f"{SEED}/{ids}")
    for _ in range(1000):
        a, b = draw.sample(places, 2)
        if ids[a] != ids[b]:
            ids[a], ids[b] = ids[b], ids[a]
            break
    return torch.tensor([ids], device=input_ids.device)


def _negative_of_the_first(inputs: dict[str, Tensor]) -> Tensor:
    """Pixels with the first image inverted: they are centred at zero."""
    frames, rows, columns = inputs["image_grid_thw"][0].tolist()
    pixels = inputs["pixel_values"].clone()
    pixels[: frames * rows * columns] *= -1
    return pixels


def _distance(a: Outcome, b: Outcome) -> dict[str, float]:
    """row: root mean square of the change relative to the row's; steps: see `changed_steps`."""
    return {
        "row": float((a.row - b.row).norm() / a.row.norm()),
        "steps": changed_steps(a.logits, b.logits),
    }


def summarise(questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians and extremes of floor and effects, their ratios, and where logits and probabilities lie.

    ratio.row: median effect over median floor. ratio.steps: mean over mean, null where rounding moved no logit.
    """
    if not questions:
        raise ValueError("no question was measured, so there is nothing to summarise")
    found = {name: [q[name] for q in questions if name in q] for name in ("floor", *EFFECTS)}
    spread = {name: _spread(values) for name, values in found.items() if values}
    floor = spread["floor"]
    probabilities = sorted(q["probability"] for q in questions)
    return {
        "questions": len(questions),
        **spread,
        "ratio": {
            name: {
                "row": spread[name]["row_median"] / floor["row_median"] if floor["row_median"] else None,
                "steps": spread[name]["steps_mean"] / floor["steps_mean"] if floor["steps_mean"] else None,
            }
            for name in EFFECTS
            if name in spread
        },
        "logits": [min(q["logits"][0] for q in questions), max(q["logits"][1] for q in questions)],
        "probability": [probabilities[0], statistics.median(probabilities), probabilities[-1]],
    }


def table(document: dict[str, Any]) -> pd.DataFrame:
    """The summary of signal.json for people: one line a change, rows in percent of the row."""
    import pandas as pd

    summary = document["summary"]
    return pd.DataFrame(
        {
            name: {
                "row, median %": round(100 * summary[name]["row_median"], 2),
                "row, smallest %": round(100 * summary[name]["row_min"], 2),
                "row, largest %": round(100 * summary[name]["row_max"], 2),
                "logits, mean BF16 steps": round(summary[name]["steps_mean"], 2),
                "row, times the floor": summary["ratio"].get(name, {}).get("row"),
                "logits, times the floor": summary["ratio"].get(name, {}).get("steps"),
            }
            for name in ("floor", *EFFECTS)
            if name in summary
        }
    ).T


def _spread(values: Sequence[dict[str, float]]) -> dict[str, float]:
    rows, steps = [value["row"] for value in values], [value["steps"] for value in values]
    return {
        "row_median": statistics.median(rows),
        "row_min": min(rows),
        "row_max": max(rows),
        "steps_mean": statistics.fmean(steps),
        "steps_max": max(steps),
    }
