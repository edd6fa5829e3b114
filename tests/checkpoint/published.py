"""The checkpoint loaded the way its users load one: Transformers, PEFT, the image request of one screen."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image, ImageDraw

from kit import runtime
from kit.checkpoint import CheckpointFiles
from kit.checkpoint.tokens import load_tokenizer
from kit.engine.base import Prepared
from kit.engine.prepare import Preparer
from kit.profile import Profile


@dataclass(frozen=True)
class Loaded:
    """The adapted model, and what loading the base said about keys."""

    model: Any
    keys: dict[str, Any]

    def run(self, prepared: Prepared, question: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Last final-norm row [hidden] and label logits [candidates] of one question, both BF16."""
        item = prepared.questions[question]
        ids = torch.tensor([item.input_ids])
        extra: dict[str, Any] = {}
        if prepared.pixels is not None:
            pad = self.model.config.image_token_id
            extra = {"pixel_values": prepared.pixels, "image_grid_thw": torch.tensor(prepared.grids)}
            extra["mm_token_type_ids"] = (ids == pad).int()
        rows: list[torch.Tensor] = []
        norm = self.model.base_model.model.model.language_model.norm
        hook = norm.register_forward_hook(lambda module, inputs, output: rows.append(output[0, -1].clone()))
        with torch.inference_mode():
            logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=1, **extra).logits[0, -1]
        hook.remove()
        return rows[0], logits[list(item.label_ids)]


def load(profile: Profile, files: CheckpointFiles) -> Loaded:
    """Base and adapter, exactly with the calls of a model card."""
    runtime.configure(profile)
    import transformers
    from peft import PeftModel

    transformers.logging.set_verbosity_error()
    base, keys = transformers.Qwen3_5ForConditionalGeneration.from_pretrained(
        files.base, dtype=torch.bfloat16, attn_implementation="sdpa", output_loading_info=True
    )
    return Loaded(PeftModel.from_pretrained(base, files.adapter).eval(), keys)


def screen(seed: int = 0) -> str:
    """A drawn 256x256 screen as base64 PNG; another seed, another status colour and text."""
    image = Image.new("RGB", (256, 256), (236, 238, 240))
    draw = ImageDraw.Draw(image)
    draw.rectangle([0, 0, 256, 30], fill=(30 + 40 * seed % 200, 60, 110))
    draw.rectangle([20, 60 + 10 * seed, 236, 100 + 10 * seed], fill=((200 + 90 * seed) % 256, 70, 60))
    draw.text((30, 120), f"Order {4417 + seed}: payment failed", fill=(20, 20, 20))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return b64encode(buffer.getvalue()).decode()


def body(images: int = 0, seed: int = 0, **state: Any) -> bytes:
    """A request of one choice of four, with or without screens."""
    criteria = {"open": "Open the order", "refund": "Refund the payment", "wait": "Wait", "close": "Close it"}
    request: dict[str, Any] = {
        "state": {"order": 4417, "note": "customer asks for the second payment back", **state},
        "questions": {"next": {"type": "choice", "instructions": "What is next?", "criteria": criteria}},
    }
    if images:
        request["images"] = [screen(seed + index) for index in range(images)]
    return json.dumps(request).encode()


def preparer(profile: Profile, files: CheckpointFiles) -> Preparer:
    return Preparer(load_tokenizer(files.base), profile)
