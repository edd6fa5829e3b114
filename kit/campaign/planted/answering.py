"""Faults between tokens and answer: prompt, read-out, temperature, and refusals that are not made.

The forward computes what it should; something around it does not.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.campaign.planted.arithmetic import mantissa
from kit.campaign.planted.fault import IMAGE, Fault, in_engine
from kit.campaign.planted.site import Site, Subject
from kit.checkpoint.tokens import positions
from kit.contract.answer import Calibration
from kit.contract.errors import ContractError
from kit.contract.images import MAX_IMAGES, decode_image
from kit.engine.prepare import Preparer
from kit.model.pixels import MERGE

if TYPE_CHECKING:
    from kit.engine.base import Decision, Prepared, PreparedQuestion
    from kit.engine.native import NativeEngine

OVER_BUDGET, FIVE_IMAGES, NO_BASE64 = "over-budget", "refused-five-images", "refused-invalid-base64"
ENDING = 64  # tokens at the end of a prompt that a truncation keeps


class _NextRows:
    """The label head, every label read one row further on."""

    def __init__(self, head: Any) -> None:
        self._head = head

    def logits(self, hidden: Tensor) -> Tensor:
        rolled: Tensor = self._head.logits(hidden).roll(-1)
        return rolled

    def __getattr__(self, name: str) -> Any:
        return getattr(self._head, name)


def _label_rows_off(engine: NativeEngine, dose: None) -> None:
    engine.head = _NextRows(engine.head)  # type: ignore[assignment]


def _calibrated(change: Callable[[Calibration], Calibration]) -> Callable[[NativeEngine, None], None]:
    def apply(engine: NativeEngine, dose: None) -> None:
        engine.calibration = change(engine.calibration)

    return apply


def _text_for_images(found: Calibration) -> Calibration:
    return Calibration(found.temperature, found.temperature)


def _row_before_the_last(engine: NativeEngine, dose: None) -> None:
    """Nothing later can be seen from a row, so the row before the last is the last of the prompt without its last."""
    prefill = engine.prefill
    engine.prefill = lambda embeddings, cos, sin: prefill(embeddings[:-1], cos[:-1], sin[:-1])  # type: ignore[method-assign]


def _answers(change: Callable[[list[float], Any], list[float]]) -> Callable[[Site, Any], Subject]:
    """A native engine whose probabilities are changed last, with everything derived from them."""

    def plant(site: Site, dose: Any) -> Subject:
        engine = site.native()

        def decide(prepared: Prepared) -> Decision:
            decision = engine.decide(prepared)
            answers = {name: derived(answer, change(list(answer["probabilities"].values()), dose)) for name, answer in decision.answers.items()}
            return dataclasses.replace(decision, answers=answers)

        return Subject(engine, decide=decide)

    return plant


def derived(answer: dict[str, Any], values: Sequence[float]) -> dict[str, Any]:
    """The answer with other probabilities, and confidence, choice, noul and expected value that follow from them."""
    names = list(answer["probabilities"])
    own: dict[str, Any] = {"probabilities": dict(zip(names, values, strict=True)), "confidence": max(values)}
    if "choice" in answer:
        own["choice"] = names[values.index(max(values))]
    if "noul" in answer:
        own["noul"] = values[0]
    if "expected_value" in answer:
        own["expected_value"] = sum(level * value for level, value in enumerate(values))
    return answer | own


def _in_type(values: list[float], bits: int) -> list[float]:
    """A softmax whose shares are rounded to so many fraction bits (23: FP32, 7: BF16)."""
    if bits == 23:
        return [float(x) for x in torch.tensor(values, dtype=torch.float32)]
    return [float(x) for x in mantissa(torch.tensor(values), bits)]


def _decimals(values: list[float], digits: int) -> list[float]:
    return [round(value, digits) for value in values]


def _prompted(change: Callable[[str], str]) -> Callable[[Site, Any], Subject]:
    """A native engine whose prompts say something else."""

    def plant(site: Site, dose: Any) -> Subject:
        engine = site.native()

        def prepare(body: bytes) -> Prepared:
            prepared = engine.prepare(body)
            questions = tuple(_asked(engine, prepared, item, change(item.prompt)) for item in prepared.questions)
            return dataclasses.replace(prepared, questions=questions)

        return Subject(engine, prepare=prepare)

    return plant


def _asked(engine: NativeEngine, prepared: Prepared, item: PreparedQuestion, prompt: str) -> PreparedQuestion:
    tokenizer = engine.preparer.tokenizer
    tokens = [frames * rows * columns // MERGE**2 for frames, rows, columns in prepared.grids]
    ids = tokenizer.expand(tokenizer.encode(prompt), tokens)
    axes = positions(ids, prepared.grids, tokenizer.image_token_id, MERGE)
    return dataclasses.replace(item, prompt=prompt, input_ids=tuple(ids), positions=axes)


def _thinking(prompt: str) -> str:
    return prompt.removesuffix("<think>\n\n</think>\n\n") + "<think>\n"


def _one_blank_more(prompt: str) -> str:
    return prompt.replace("\n\nCandidates:\n", " \n\nCandidates:\n")


def _no_system_message(prompt: str) -> str:
    return prompt[prompt.index("<|im_start|>user") :]


def _keys_sorted(site: Site, dose: None) -> Subject:
    """A JSON parser that does not keep the order of keys."""
    engine = site.native()
    return Subject(engine, prepare=lambda body: engine.prepare(json.dumps(json.loads(body), sort_keys=True).encode()))


def _cut_to_budget(site: Site, dose: None) -> Subject:
    """A prompt over its budget is cut to it, in the middle, where it has to be refused."""
    engine, limits = site.native(), site.profile.limits
    wide = dataclasses.replace(site.profile, limits=dataclasses.replace(limits, text_tokens=1 << 20, image_tokens=1 << 20))
    preparer = Preparer(engine.preparer.tokenizer, wide)

    def prepare(body: bytes) -> Prepared:
        prepared = preparer.prepare(body)
        budget = limits.image_tokens if prepared.grids else limits.text_tokens
        questions = tuple(_cut(engine, prepared, item, budget) for item in prepared.questions)
        return dataclasses.replace(prepared, questions=questions)

    return Subject(engine, prepare=prepare)


def _cut(engine: NativeEngine, prepared: Prepared, item: PreparedQuestion, budget: int) -> PreparedQuestion:
    ids = item.input_ids
    if len(ids) <= budget:
        return item
    kept = ids[: budget - ENDING] + ids[-ENDING:]
    axes = positions(kept, prepared.grids, engine.config.image_token_id, MERGE)
    return dataclasses.replace(item, input_ids=kept, positions=axes)


def _images_dropped(readable: bool) -> Callable[[Site, Any], Subject]:
    """readable: drop the images over the limit; else drop those that cannot be decoded."""

    def plant(site: Site, dose: Any) -> Subject:
        engine = site.native()

        def prepare(body: bytes) -> Prepared:
            request = json.loads(body)
            images = request.get("images") or []
            request["images"] = images[:MAX_IMAGES] if readable else [item for item in images if _decodes(item)]
            return engine.prepare(json.dumps(request).encode())

        return Subject(engine, prepare=prepare)

    return plant


def _decodes(item: Any) -> bool:
    try:
        decode_image(item)
    except ContractError:
        return False
    return True


FAULTS = (
    Fault("labels-off-by-one", "response", "every label's logit read one row further on", in_engine(_label_rows_off)),
    Fault("last-token-off", "response", "the row before the last is read", in_engine(_row_before_the_last)),
    Fault("text-temperature", "response", "the text temperature for images", in_engine(_calibrated(_text_for_images)), shows=(IMAGE,)),
    Fault("no-temperature", "response", "no temperature", in_engine(_calibrated(lambda found: Calibration(1.0, 1.0)))),
    Fault("softmax-narrow", "response", "the softmax of the answer in a narrower type", _answers(_in_type), (("FP32", 23), ("BF16", 7))),
    Fault("decimals", "response", "probabilities rounded to decimals", _answers(_decimals), (("12", 12), ("9", 9), ("6", 6), ("4", 4), ("2", 2))),
    Fault("thinking", "request", "the prompt ends as if the model were to think", _prompted(_thinking)),
    Fault("one-blank-more", "request", "one blank more behind the question", _prompted(_one_blank_more)),
    Fault("no-system-message", "request", "the prompt without its system message", _prompted(_no_system_message)),
    Fault("keys-sorted", "request", "a JSON parser that sorts keys", _keys_sorted, shows=("policy-structured-reversed",)),
    Fault("truncated", "request", "a prompt over its budget is cut instead of refused", _cut_to_budget, shows=(OVER_BUDGET,), also=(OVER_BUDGET,)),
    Fault("fifth-image-dropped", "request", "images over the limit are dropped instead of refused", _images_dropped(True), shows=(FIVE_IMAGES,)),
    Fault("bad-image-ignored", "request", "an image that cannot be decoded is left out instead of refused", _images_dropped(False), shows=(NO_BASE64,)),
)  # fmt: skip
