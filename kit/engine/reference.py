"""The official reference: Transformers and PEFT as published, adapter unmerged, nothing patched.

Covers: one full forward a question (the vision tower again for each, as the official server does), the
final-norm hidden row through a forward hook, and a report of what really runs. Prompt text comes from the
tokenizer's own chat template and its ids from the tokenizer itself; both must equal what the kit prepared, or
the request is an execution failure.
Does not cover: loading the model (`kit.engine.reference_model`), or the kit's own forward
(`kit.engine.native`); none of its modules compute here. Pixels are the exception where torchvision is absent:
Transformers' image processor needs it, `kit.model.pixels` equals it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit import checkpoint, runtime
from kit.checkpoint.tokens import load_tokenizer
from kit.contract.answer import answer
from kit.contract.prompt import SYSTEM, user_message
from kit.engine import autotune
from kit.engine.base import Counters, Decision, Event, Prepared, PreparedQuestion, QuestionResult
from kit.engine.cuda_device import give_back
from kit.engine.hidden_rows import row_bytes
from kit.engine.prepare import Preparer
from kit.engine.reference_model import ReferenceError, load_official

if TYPE_CHECKING:
    from kit.profile import Profile

PAD = "<|image_pad|>"
PACKAGES = (
    "torch",
    "transformers",
    "peft",
    "tokenizers",
    "safetensors",
    "flash-linear-attention",
    "triton",
    "torchvision",
)


class ReferenceEngine:
    """Transformers' Qwen3.5 with a PEFT adapter on one device, batch 1, no cache."""

    name = "reference"

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.device = torch.device(profile.runtime.device)
        files = checkpoint.locate(profile)
        if files.head_rows is not None:
            raise checkpoint.CheckpointError(f"{files.base.parent}: an export holds no whole head, which the reference needs")
        self.calibration, self.digest = files.calibration, files.digest
        self.preparer = Preparer(load_tokenizer(files.base), profile)
        if self.device.type == "cpu":
            runtime.block_gpu_only_packages()
        loaded = load_official(files, getattr(torch, profile.runtime.dtype), self.device)
        self.model: Any = loaded.model
        self._keys, self._warnings, self._weights_sum = loaded.keys, loaded.warnings, loaded.weights_sum
        self.tokenizer = _tokenizer(files.base)
        self._processor = _image_processor(files.base)
        self._hidden: Tensor | None = None
        norm = self.model.get_base_model().model.language_model.norm
        norm.register_forward_hook(self._keep_last_row)

    def _keep_last_row(self, module: Any, inputs: Any, output: Tensor) -> None:
        self._hidden = output[:, -1].detach()

    def prepare(self, body: bytes) -> Prepared:
        """See `kit.engine.base.Engine.prepare`."""
        return self.preparer.prepare(body)

    def decide(self, prepared: Prepared) -> Decision:
        """Run every question as its own forward. Raises ReferenceError, or AnswerError for non-finite logits."""
        started = time.perf_counter()
        images = self._images(prepared)
        with torch.inference_mode():
            results = tuple(self._question(prepared, item, images) for item in prepared.questions)
        temperature = self.calibration.for_images(bool(prepared.grids))
        answers = {
            item.question.id: answer(item.question, result.logits, temperature)
            for item, result in zip(prepared.questions, results, strict=True)
        }
        vision = Event() if prepared.grids else None
        total = 1e3 * (time.perf_counter() - started)
        return Decision(answers, prepared.input_tokens, results, vision, {"total": total})

    def _images(self, prepared: Prepared) -> dict[str, Tensor]:
        """`pixel_values` and `image_grid_thw`, by the official processor where it can be built."""
        if prepared.pixels is None:
            return {}
        grids = torch.tensor(prepared.grids)
        pixels = prepared.pixels
        if self._processor is not None:
            from PIL import Image

            pictures = [Image.frombytes("RGB", (i.width, i.height), i.rgb) for i in prepared.request.images]
            processed = self._processor(images=pictures, return_tensors="pt")
            pixels, grids = processed["pixel_values"], processed["image_grid_thw"]
        return {"pixel_values": pixels.to(self.device), "image_grid_thw": grids.to(self.device)}

    def inputs(
        self, prepared: Prepared, item: PreparedQuestion, images: dict[str, Tensor] | None = None
    ) -> dict[str, Tensor]:
        """What the model is called with for one question: batch 1, on the device. `images`: made anew if not given."""
        images = self._images(prepared) if images is None else images
        input_ids = torch.tensor([self._own_ids(prepared, item)], device=self.device)
        inputs = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids), **images}
        if images:
            inputs["mm_token_type_ids"] = (input_ids == self.preparer.tokenizer.image_token_id).int()
        return inputs

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """One call of the model: (logits of the last position [batch, vocabulary], final-norm rows [batch, hidden])."""
        output = self.model(**inputs, use_cache=False, logits_to_keep=1)
        rows, self._hidden = self._hidden, None
        if rows is None:
            raise ReferenceError("the final norm did not run: the hook saw no hidden row")
        return output.logits[:, -1], rows

    def _question(
        self, prepared: Prepared, item: PreparedQuestion, images: dict[str, Tensor]
    ) -> QuestionResult:
        inputs = self.inputs(prepared, item, images)
        every, rows = self.forward(inputs)
        labels = torch.tensor(item.label_ids, device=self.device)
        logits = every[0].index_select(0, labels).float().tolist()
        row = row_bytes(rows)
        tokens = inputs["input_ids"].shape[1]
        return QuestionResult(item.question.id, tuple(logits), row, tokens, Event())

    def _own_ids(self, prepared: Prepared, item: PreparedQuestion) -> list[int]:
        """Ids from the reference's template and tokenizer. Raises ReferenceError where the kit's differ."""
        message = user_message(prepared.request.state, item.question)
        parts = [*({"type": "image"} for _ in prepared.grids), {"type": "text", "text": message}]
        messages = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": parts if prepared.grids else message},
        ]
        text = self.tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
            preserve_thinking=False,
        )
        if text != item.prompt:
            raise ReferenceError(f"question {item.question.id!r}: {_difference('prompt', item.prompt, text)}")
        if prepared.grids:
            first, *rest = text.split(PAD)
            counts = [frames * rows * columns // 4 for frames, rows, columns in prepared.grids]
            text = first + "".join(PAD * n + piece for n, piece in zip(counts, rest, strict=True))
        ids: list[int] = self.tokenizer(text)["input_ids"]
        if tuple(ids) != item.input_ids:
            raise ReferenceError(
                f"question {item.question.id!r}: {_difference('token ids', item.input_ids, ids)}"
            )
        return ids

    def counters(self) -> Counters:
        """No caches, no counters."""
        return {}

    def describe(self) -> dict[str, Any]:
        """What really runs: functions, attention, merge state, dtypes, keys, versions."""
        model = self.model.get_base_model()
        return {
            "backend": "transformers",
            "checkpoint_digest": self.digest,
            "weights_sum": self._weights_sum,
            "dtype": self.profile.runtime.dtype,
            "device": self.profile.runtime.device,
            "model_class": _qualified(type(model)),
            "functions": active_functions(),
            "attention": {
                "text": model.config.text_config._attn_implementation,
                "vision": model.config.vision_config._attn_implementation,
            },
            "pixels": _qualified(type(self._processor)) if self._processor else "kit.model.pixels.patches",
            "adapter": adapter_state(self.model),
            "base_dtypes": _dtypes(self.model, adapter=False),
            "keys": self._keys,
            "load_warnings": self._warnings,
            "autotune": autotune.report(),
            "versions": _versions(),
        }

    def close(self) -> None:
        """Drop the model; the engine cannot be used afterwards."""
        self.model = None
        give_back(self.device)


def active_functions() -> dict[str, str]:
    """The functions behind the names the reference's delta rule layers call.

    Transformers wraps each in a closure that holds the chosen implementation, so the name in the model's
    module says nothing; the closure is opened.
    """
    from transformers.models.qwen3_5 import modeling_qwen3_5 as modeling

    names = (
        "torch_chunk_gated_delta_rule",
        "torch_recurrent_gated_delta_rule",
        "causal_conv1d_fn",
        "causal_conv1d_update",
    )
    return {name: _qualified(_implementation(getattr(modeling, name))) for name in names}


def _implementation(function: Any) -> Any:
    found = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    return found.get("implementation", function)


def adapter_state(model: Any) -> dict[str, Any]:
    """Merge state and inventory of the LoRA layers of a PEFT model. Raises ReferenceError if one is merged."""
    from peft.tuners.lora import LoraLayer

    layers = [module for module in model.modules() if isinstance(module, LoraLayer)]
    merged = sum(bool(layer.merged) for layer in layers)
    if merged:
        raise ReferenceError(f"{merged} of {len(layers)} adapted layers are merged")
    scales = sorted({float(scale) for layer in layers for scale in layer.scaling.values()})
    return {
        "merged": False,
        "layers": len(layers),
        "disabled": sum(bool(layer.disable_adapters) for layer in layers),
        "scales": scales,
        "dtypes": _dtypes(model, adapter=True),
        "tensors": sum(_dtypes(model, adapter=True).values()),
    }


def _dtypes(model: Any, *, adapter: bool) -> dict[str, int]:
    """Parameters by dtype, those of the adapter or those of the base."""
    found = Counter(
        str(parameter.dtype).removeprefix("torch.")
        for name, parameter in model.named_parameters()
        if (".lora_" in name) == adapter
    )
    return dict(sorted(found.items()))


def _tokenizer(base: Path) -> Any:
    """The official tokenizer class over the checkpoint's files."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(base)


def _image_processor(base: Path) -> Any:
    """The official image processor, or None where torchvision, which it needs, cannot be imported."""
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError):  # not installed, or built for another torch
        return None
    from transformers import AutoImageProcessor

    return AutoImageProcessor.from_pretrained(base)


def _qualified(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _difference(what: str, ours: Any, theirs: Any) -> str:
    """Where two sequences part, with a little of both."""
    at = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
    )
    window = slice(max(0, at - 10), at + 10)
    return (
        f"the kit's {what} differ from the reference's at {at}: {ours[window]!r} against {theirs[window]!r}"
    )


def load(profile: Profile) -> ReferenceEngine:
    """Load the profile's checkpoint. Raises CheckpointError or ReferenceError."""
    return ReferenceEngine(profile)
