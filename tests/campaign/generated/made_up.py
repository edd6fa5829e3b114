"""Generated lines without a model: both sides' answers made up, in a run folder of the campaign's tests."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from kit.campaign.generated import lines, record, source, summary
from kit.campaign.generated.gates import generated_gates
from kit.campaign.generated.lines import Truth
from kit.campaign.layer_bounds import bits, uniform
from kit.campaign.layer_drift import StageDrift, layers_document, pair_entry, prompt_entry
from kit.campaign.reading import read_run
from kit.engine.base import Event, QuestionResult
from kit.evidence.records import write_json
from kit.profile import Generated
from tests.campaign.synthetic_run import MM_TEMPERATURE, TEMPERATURE

TEMPERATURES = {"text": TEMPERATURE, "image": MM_TEMPERATURE}
WALK = ("embedding", "layer.00.mixer", "layer.00.mlp", "layer.00", "hidden", "logits")
Origin = Literal["composed", "held-out"]
Change = Callable[[int, tuple[float, ...]], tuple[float, ...]]


def same(number: int, logits: tuple[float, ...]) -> tuple[float, ...]:
    return logits


def write(
    folder: Path, questions: int, seed: int = 1, *, change: Change = same, reached: int | None = None,
    declared: int | None = None, candidate: str = "graph", error: float = 0.02, origin: Origin = "composed",
) -> None:  # fmt: skip
    """records/generated.jsonl and generated.json. change: the candidate's logits from the reference's, question by question.

    error: the candidate's distance from the oracle; the reference's is 0.02.
    """
    chance = random.Random(7)
    found = []
    wanted = Generated(declared or questions, seed, origin)
    for number, case in enumerate(source.declared(wanted, questions if reached is None else reached)):
        (question,) = case.questions
        logits = tuple(chance.randrange(-96, 96) / 32 for _ in question.candidates)
        moved = change(number, logits)
        row = hashlib.sha256(repr(logits).encode()).digest()
        other = row if moved == logits else row[::-1]
        reference = QuestionResult(question.id, logits, row, 100, Event())
        mine = QuestionResult(question.id, moved, other, 100, Event(action="replay"))
        truth = Truth(tuple(x + 0.01 for x in logits), 0.02, 0.02 if moved == logits else error)
        found.append(lines.line(case, reference, mine, truth if number < 600 else None))
    lines.write(folder / lines.FILE, wanted, candidate, found)
    document = summary.summarise(
        [lines.decoded(item) for item in found], TEMPERATURES, wanted=wanted, candidate=candidate
    )
    how = {"reference": "called", "replays": 0, "shapes": 0, "shapes_refused": 0}
    seconds = {"answering": 1.0, "layers": 1.0, "oracle": 1.0}
    write_json(folder / "generated.json", document | {"how": how, "budget_s": 0.0, "seconds": seconds})


def layers(folder: Path) -> dict[str, Any]:
    """layers.json of the first lines: two layers, nothing differs between the sides, both are off the oracle alike."""
    walked = [
        item for kind in ("text", "image") for item in [x for x in raw(folder) if x["modality"] == kind][:2]
    ]
    sides = [("graph", "reference", 0.0), ("reference", "oracle", 0.01), ("graph", "oracle", 0.01)]
    pairs = []
    for engine, against, error in sides:
        bound = bits() if not error else replace(uniform(0.1, WALK), name="rounding")
        prompts = [
            prompt_entry(
                item["request"], item["question"], item["modality"], item["tokens"],
                [StageDrift(name, 8, 8 if error else 0, error, 3.0 if error else 0.0, (), (bound.limits or {}).get(name)) for name in WALK],
            )
            for item in walked
        ]  # fmt: skip
        pairs.append(pair_entry(engine, against, bound, prompts))
    return layers_document(pairs, "0" * 64)


def stage_result(folder: Path) -> dict[str, Any]:
    """What stage 08_generated leaves as its result."""
    facts, passed = record.facts_of(json.loads((folder / "generated.json").read_text()), list(generated_gates(read_run(folder))))
    return {"facts": facts, "passed": passed}


def raw(folder: Path) -> list[dict[str, Any]]:
    """The lines as they are in the file."""
    return [json.loads(line) for line in (folder / lines.FILE).read_text().splitlines()[1:]]
