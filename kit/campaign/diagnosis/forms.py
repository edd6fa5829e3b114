"""The reference with one change each: adapter off, another prompt, other images, another resize.

Covers: `FORMS`, each run on the official reference itself, and `library`: label logits by form and question. A
request that a form leaves alone is taken from the plain run, since the reference repeats itself bit for bit. The
engine is as before afterwards. Temperatures need no run and are `matching`'s.
Does not cover: changes inside the forward (`kit.campaign.planted` has those), or comparing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kit.model.pixels import MERGE, PATCH, patches

if TYPE_CHECKING:
    from torch import Tensor

    from kit.campaign.protocol import Case
    from kit.contract.images import Image
    from kit.engine.base import Prepared, PreparedQuestion
    from kit.engine.reference import ReferenceEngine

Logits = tuple[float, ...]
Answers = dict[tuple[str, str], Logits]  # (request, question) -> label logits, candidate order
PLAIN = "plain"
THINKING_OFF, THINKING_ON = "<think>\n\n</think>\n\n", "<think>\n"
USER = "<|im_start|>user"


@dataclass(frozen=True)
class Form:
    """One change. words: completes "answers as the reference does ...".

    model: in force during each forward. prompt, request, pixels: what the change makes of a chat-templated prompt, of a
    request, and of decoded images with their grids; None leaves that alone.
    """

    name: str
    words: str
    model: Callable[[ReferenceEngine], AbstractContextManager[Any]] | None = None
    prompt: Callable[[str], str] | None = None
    request: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    pixels: Callable[[Prepared], Tensor] | None = None


def library(engine: ReferenceEngine, cases: Sequence[Case], forms: Sequence[Form] = ()) -> dict[str, Answers]:
    """Label logits of the plain reference and of each form, by form name; all of `FORMS` unless told otherwise."""
    plain = {case.id: _plain(engine, case) for case in cases}
    found = {PLAIN: _flat(plain)}
    for form in forms or FORMS:
        found[form.name] = _flat({case.id: changed(engine, form, case) or plain[case.id] for case in cases})
    return found


def changed(engine: ReferenceEngine, form: Form, case: Case) -> dict[str, Logits]:
    """Logits by question of one request under a form; empty where the form leaves the request as it is."""
    prepared = engine.prepare(case.body)
    if form.request is not None:
        request = json.loads(case.body)
        other = form.request(request)
        if other == request:
            return {}
        prepared = engine.prepare(json.dumps(other, ensure_ascii=False, separators=(",", ":")).encode())
    pixels = prepared.pixels
    if form.pixels is not None:
        if prepared.pixels is None:
            return {}
        pixels = form.pixels(prepared)
        if pixels.equal(prepared.pixels):
            return {}
    if form.prompt is not None and all(form.prompt(item.prompt) == item.prompt for item in prepared.questions):
        return {}
    with form.model(engine) if form.model else nullcontext():
        return {item.question.id: _forward(engine, form, prepared, item, pixels) for item in prepared.questions}


def _plain(engine: ReferenceEngine, case: Case) -> dict[str, Logits]:
    return {result.question_id: result.logits for result in engine.decide(engine.prepare(case.body)).questions}


def _flat(answers: dict[str, dict[str, Logits]]) -> Answers:
    return {(request, question): logits for request, found in answers.items() for question, logits in found.items()}


def _forward(
    engine: ReferenceEngine, form: Form, prepared: Prepared, item: PreparedQuestion, pixels: Tensor | None
) -> Logits:
    """One forward of the reference over the form's own token ids and pixels."""
    import torch

    inputs = engine.inputs(prepared, item)
    if form.pixels is not None and pixels is not None:
        inputs["pixel_values"] = pixels.to(engine.device)
    if form.prompt is not None:
        ids = torch.tensor([_ids(engine, prepared, form.prompt(item.prompt))], device=engine.device)
        inputs |= {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if prepared.grids:
            inputs["mm_token_type_ids"] = (ids == engine.preparer.tokenizer.image_token_id).int()
    with torch.inference_mode():
        logits, _ = engine.forward(inputs)
    return tuple(logits[0, list(item.label_ids)].float().tolist())


def _ids(engine: ReferenceEngine, prepared: Prepared, prompt: str) -> list[int]:
    tokenizer = engine.preparer.tokenizer
    tokens = [frames * rows * columns // MERGE**2 for frames, rows, columns in prepared.grids]
    return tokenizer.expand(tokenizer.encode(prompt), tokens)


# ---------------------------------------------------------------- the adapter


def _adapter_off(engine: ReferenceEngine) -> AbstractContextManager[Any]:
    off: AbstractContextManager[Any] = engine.model.disable_adapter()
    return off


def _layers(engine: ReferenceEngine) -> list[Any]:
    from peft.tuners.lora import LoraLayer

    return [module for module in engine.model.modules() if isinstance(module, LoraLayer)]


@contextmanager
def _alpha_forgotten(engine: ReferenceEngine) -> Iterator[None]:
    """Every pair weighs 1 in place of alpha / rank."""
    layers = _layers(engine)
    scales = [dict(layer.scaling) for layer in layers]
    try:
        for layer in layers:
            layer.scaling = dict.fromkeys(layer.scaling, 1.0)
        yield
    finally:
        for layer, scale in zip(layers, scales, strict=True):
            layer.scaling = scale


@contextmanager
def _merged(engine: ReferenceEngine) -> Iterator[None]:
    """Each adapted layer merged by PEFT for its own forward, in the weight's dtype, and put back bit by bit.

    So the merged model never lies in memory beside the other one.
    """
    import torch

    kept: dict[int, Tensor] = {}

    def merge(layer: Any, _: Any) -> None:
        kept[id(layer)] = layer.get_base_layer().weight.detach().clone()
        layer.merge()

    def restore(layer: Any, _: Any, output: Any) -> None:
        with torch.no_grad():
            layer.get_base_layer().weight.copy_(kept.pop(id(layer)))
        layer.merged_adapters.clear()

    handles = [handle for layer in _layers(engine) for handle in
               (layer.register_forward_pre_hook(merge), layer.register_forward_hook(restore))]  # fmt: skip
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


# ---------------------------------------------------------------- the prompt


def _thinking_on(prompt: str) -> str:
    """What the template's generation prompt is with thinking enabled."""
    return prompt.removesuffix(THINKING_OFF) + THINKING_ON if prompt.endswith(THINKING_OFF) else prompt


def _no_system_message(prompt: str) -> str:
    return prompt[prompt.index(USER) :] if USER in prompt else prompt


def _blank_behind_question(prompt: str) -> str:
    return prompt.replace("\n\nCandidates:\n", " \n\nCandidates:\n")


def _newline_behind_state(prompt: str) -> str:
    return prompt.replace("\n\nQuestion: ", "\n\n\nQuestion: ")


# ---------------------------------------------------------------- images


def _images_reversed(request: dict[str, Any]) -> dict[str, Any]:
    return _with_images(request, lambda images: images[::-1])


def _first_two_swapped(request: dict[str, Any]) -> dict[str, Any]:
    return _with_images(request, lambda images: [*images[1::-1], *images[2:]])


def _no_images(request: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if name != "images"}


def _with_images(request: dict[str, Any], change: Callable[[list[Any]], list[Any]]) -> dict[str, Any]:
    return request | {"images": change(request["images"])} if request.get("images") else request


def _resized_by(filter_name: str) -> Callable[[Prepared], Tensor]:
    """Pillow's resize with one of its filters, where an image is resized at all."""

    def pixels(prepared: Prepared) -> Tensor:
        pairs = zip(prepared.request.images, prepared.grids, strict=True)
        return patches([_resized(image, rows * PATCH, columns * PATCH, filter_name) for image, (_, rows, columns) in pairs])[0]

    return pixels


def _resized(image: Image, height: int, width: int, filter_name: str) -> Image:
    from PIL import Image as Pillow

    if (height, width) == (image.height, image.width):
        return image
    picture = Pillow.frombytes("RGB", (image.width, image.height), image.rgb)
    picture = picture.resize((width, height), Pillow.Resampling[filter_name])
    return replace(image, width=width, height=height, rgb=picture.tobytes())


FORMS = (
    Form("adapter-off", "with its adapter off", model=_adapter_off),
    Form("adapter-alpha", "with its adapter at scale 1 in place of alpha / rank", model=_alpha_forgotten),
    Form("adapter-merged", "with its adapter merged into the base weights", model=_merged),
    Form("images-reversed", "with its images in reverse order", request=_images_reversed),
    Form("images-swapped", "with its first two images swapped", request=_first_two_swapped),
    Form("images-dropped", "without its images", request=_no_images),
    Form("thinking", "with thinking enabled in its chat template", prompt=_thinking_on),
    Form("no-system", "without its system message", prompt=_no_system_message),
    Form("blank-question", "with one blank more behind the question", prompt=_blank_behind_question),
    Form("newline-state", "with one newline more behind the state", prompt=_newline_behind_state),
    Form("resize-pillow", "with images resized by Pillow's bicubic filter", pixels=_resized_by("BICUBIC")),
    Form("resize-bilinear", "with images resized by a bilinear filter", pixels=_resized_by("BILINEAR")),
)
