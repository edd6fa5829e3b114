"""Layers of a few generated questions: stages calmed, bounds loosened, prompts and pairs exchanged or left out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from kit.evidence.attack.deeds import assign, change, double, drop, swap, together
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.refigure import CANNOT, layer_figures
from kit.evidence.attack.suspect import Content, Document, Suspect
from kit.evidence.audit.rules import LAYERS

BITS, TRUTH = 0, 1  # pairs: candidate against reference, reference against oracle


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    if not clean.has(LAYERS):
        return
    made = partial(Mutation, "walks", sealing="resealed", files=(LAYERS,))
    told = clean.json(LAYERS)
    prompt = chance.randrange(len(told["pairs"][TRUTH]["prompts"]))
    stage = chance.randrange(1, len(told["pairs"][TRUTH]["prompts"][prompt]["stages"]))
    for what, deed in {**of_a_stage(prompt, stage), **of_a_prompt(prompt), **of_a_pair(told)}.items():
        yield made(what, together(deed, follow))
    for what, deed in {**of_the_document(), **of_the_figures(told)}.items():
        yield made(what, deed)


def follow(suspect: Suspect) -> None:
    """What is said of all prompts, as they now are; a walk that gives nothing any more stays as the deed left it."""
    with suppress(*CANNOT):
        suspect.edit(LAYERS, layer_figures)


def of_a_stage(prompt: int, stage: int) -> dict[str, Deed]:
    here: tuple[Any, ...] = ("pairs", TRUTH, "prompts", prompt)
    exact: tuple[Any, ...] = ("pairs", BITS, "prompts", prompt)
    return {
        "elements that differ by nothing": assign(LAYERS, *exact, "different", stage, to=1),
        "more elements that differ than there are": change(LAYERS, *here, "different", stage, by=lambda n: n + 10**12),
        "a negative number of elements": assign(LAYERS, *here, "different", stage, to=-1),
        "no elements": assign(LAYERS, *here, "elements", stage, to=0),
        "half an element": assign(LAYERS, *here, "elements", stage, to=0.5),
        "a negative error": assign(LAYERS, *here, "relative_rms", stage, to=-1.0),
        "an error in words": assign(LAYERS, *here, "relative_rms", stage, to="small"),
        "no error where elements differ": together(
            assign(LAYERS, *here, "relative_rms", stage, to=0.0), assign(LAYERS, *here, "max_steps", stage, to=0.0)
        ),
        "an error over its limit, unsaid": assign(LAYERS, *here, "relative_rms", stage, to=1e6),
        "a stage over its limit that is not": assign(LAYERS, *here, "over", stage, to=True),
        "a limit where no bit may differ": assign(LAYERS, *exact, "limit", stage, to=1.0),
        "a negative limit": assign(LAYERS, *here, "limit", stage, to=-1.0),
        "a stage's figure left out": drop(LAYERS, *here, "relative_rms", stage),
        "a stage twice": double(LAYERS, *here, "stages", stage),
        "a problem that was none": assign(LAYERS, *here, "problems", "hidden", to="other shapes"),
    }


def of_a_prompt(prompt: int) -> dict[str, Deed]:
    here: tuple[Any, ...] = ("pairs", TRUTH, "prompts", prompt)
    return {
        "a prompt of another request": assign(LAYERS, *here, "request", to="text-9999"),
        "a prompt of another question": assign(LAYERS, *here, "question", to="another"),
        "a prompt of another modality": assign(LAYERS, *here, "modality", to="sound"),
        "a prompt with more tokens": change(LAYERS, *here, "tokens", by=lambda n: n + 1),
        "a first stage over its bound": assign(LAYERS, *here, "first_over", to="embedding"),
        "a prompt left out": drop(LAYERS, *here),
        "a prompt twice": double(LAYERS, *here),
        "last stages left out": together(
            *(change(LAYERS, *here, name, by=lambda items: items[:-1]) for name in
              ("stages", "elements", "different", "relative_rms", "max_steps", "limit", "over"))
        ),
    }  # fmt: skip


def of_a_pair(told: Document) -> dict[str, Deed]:
    return {
        "a pair left out": drop(LAYERS, "pairs", len(told["pairs"]) - 1),
        "pairs in another order": swap(LAYERS, "pairs", BITS, other=TRUTH),
        "a pair of other engines": assign(LAYERS, "pairs", BITS, "engine", to="native"),
        "a looser bound between engines of one dtype": assign(LAYERS, "pairs", BITS, "bound", to="rounding"),
        "stages over their bound that are not counted": change(LAYERS, "pairs", TRUTH, "over", by=lambda n: n + 1),
        "no prompts": assign(LAYERS, "pairs", BITS, "prompts", to=[]),
    }


def of_the_document() -> dict[str, Deed]:
    return {
        "a walk of another checkpoint": assign(LAYERS, "checkpoint_digest", to="0" * 64),
        "last rows alone": assign(LAYERS, "rows", to="last"),
        "another format": assign(LAYERS, "format", to="kit-layers/0"),
        "a key nobody knows": assign(LAYERS, "note", to="calm"),
        "no steps": drop(LAYERS, "steps"),
        "steps of another size": assign(LAYERS, "steps", to="of FP32"),
    }


def of_the_figures(told: Document) -> dict[str, Deed]:
    candidate = told["pairs"][BITS]["engine"]
    return {
        "a better ratio to the oracle": assign(LAYERS, "oracle_ratio", candidate, "hidden", to=0.5),
        "a ratio left out": drop(LAYERS, "oracle_ratio", candidate, "hidden"),
        "ratios of another engine": assign(LAYERS, "oracle_ratio", "native", to=told["oracle_ratio"][candidate]),
        "a smaller worst error": assign(LAYERS, "pairs", TRUTH, "worst", "hidden", to=0.0),
        "a worst error left out": drop(LAYERS, "pairs", TRUTH, "worst", "hidden"),
    }
