"""A small Qwen3.5 checkpoint with random weights, written by Transformers and PEFT themselves.

Not the kit's generator: sizes differ from cpu-tiny on purpose (other head groups, one key/value head, a
layer order that starts with full attention, optional tied head and FP32 tensors in the files).
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch

from kit import runtime

runtime.block_gpu_only_packages()

TEXT = {
    "vocab_size": 512,
    "hidden_size": 96,
    "intermediate_size": 200,
    "num_hidden_layers": 3,
    "layer_types": ["full_attention", "linear_attention", "linear_attention"],
    "num_attention_heads": 6,
    "num_key_value_heads": 1,
    "head_dim": 40,
    "linear_num_key_heads": 3,
    "linear_num_value_heads": 3,
    "linear_key_head_dim": 24,
    "linear_value_head_dim": 40,
    "max_position_embeddings": 4096,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 50000.0,
        "partial_rotary_factor": 0.5,
        "mrope_section": [4, 3, 3],
        "mrope_interleaved": True,
    },
}
VISION = {
    "depth": 3,
    "hidden_size": 72,
    "intermediate_size": 100,
    "num_heads": 1,
    "out_hidden_size": 96,
    "num_position_embeddings": 49,
}
TARGETS = "in_proj_qkv in_proj_z in_proj_b in_proj_a out_proj q_proj k_proj v_proj o_proj gate_proj up_proj down_proj"


def write(
    folder: Path, *, tied: bool = False, targets: str = TARGETS, wide_gates: bool = False
) -> tuple[Path, Path]:
    """Write `base` and `adapter` folders; wide_gates: A_log and the mixer norm are FP32 in the file."""
    from peft import LoraConfig, get_peft_model
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    torch.manual_seed(7)
    config = Qwen3_5Config(
        text_config=copy.deepcopy(TEXT),
        vision_config=copy.deepcopy(VISION),
        image_token_id=500,
        video_token_id=501,
        vision_start_token_id=502,
        vision_end_token_id=503,
        tie_word_embeddings=tied,
    )
    model = Qwen3_5ForConditionalGeneration(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            spread = 0.5 if parameter.ndim == 1 else parameter.shape[-1] ** -0.5
            parameter.copy_(torch.randn_like(parameter) * spread)
            if not (wide_gates and name.endswith(("A_log", "linear_attn.norm.weight"))):
                parameter.data = parameter.data.to(torch.bfloat16)
    base, adapter = folder / "base", folder / "adapter"
    model.save_pretrained(base)
    lora = LoraConfig(r=4, lora_alpha=6, target_modules=targets.split(), lora_dropout=0.1)
    adapted: Any = get_peft_model(model, lora)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if ".lora_" in name:
                parameter.data = torch.randn(parameter.shape) * 0.2
    adapted.save_pretrained(adapter)
    return base, adapter


def reference(base: Path, adapter: Path) -> Any:
    """The official model over those folders, in BF16, adapter unmerged."""
    from peft import PeftModel
    from transformers import Qwen3_5ForConditionalGeneration
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model = Qwen3_5ForConditionalGeneration.from_pretrained(
        base, dtype=torch.bfloat16, attn_implementation="sdpa"
    )
    return PeftModel.from_pretrained(model, adapter).eval()
