"""config.json is read strictly: sizes are free, everything else must be what the forward does."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kit.model.config import ConfigError, load_config, parse_config

TINY = Path(__file__).resolve().parents[2] / "kit" / "checkpoint" / "tiny" / "base"

# The published 27B layout, as far as the forward reads it.
LARGE: dict[str, Any] = {
    "model_type": "qwen3_5",
    "image_token_id": 248056,
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_text",
        "vocab_size": 248320,
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "num_hidden_layers": 64,
        "full_attention_interval": 4,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "max_position_embeddings": 262144,
        "mamba_ssm_dtype": "float32",
        "mlp_only_layers": [],
        "mtp_num_hidden_layers": 1,
        "attn_output_gate": True,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000000,
            "partial_rotary_factor": 0.25,
            "mrope_section": [11, 11, 10],
            "mrope_interleaved": True,
        },
    },
    "vision_config": {
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_heads": 16,
        "out_hidden_size": 5120,
        "num_position_embeddings": 2304,
        "deepstack_visual_indexes": [],
    },
}


def test_the_large_layout_is_understood() -> None:
    config = parse_config(LARGE)
    assert config.text.layer_types.count("linear_attention") == 48
    assert config.text.layer_types[3] == "full_attention"
    assert (config.text.rotary_dim, config.text.mrope_section) == (64, (11, 11, 10))
    assert (config.vision.grid_side, config.vision.head_dim) == (48, 72)
    assert not config.tied_head


def test_the_tiny_checkpoint_is_understood() -> None:
    config = load_config(TINY)
    assert config.text.hidden_size == config.vision.out_hidden_size
    assert len(config.text.layer_types) == 4


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("text_config.hidden_act", "gelu", 'text_config.hidden_act: found "gelu", expected "silu"'),
        ("text_config.attention_bias", True, "text_config.attention_bias: found true, expected false"),
        ("text_config.attn_output_gate", False, "text_config.attn_output_gate: found false, expected true"),
        ("text_config.sliding_window", 4096, "text_config.sliding_window: found 4096, expected null"),
        ("text_config.num_experts", 8, "text_config.num_experts: found 8"),
        ("text_config.num_key_value_heads", 5, "num_attention_heads: found 24, expected a multiple of"),
        ("text_config.layer_types", ["linear_attention"], "expected 64 (num_hidden_layers) of"),
        ("text_config.max_position_embeddings", 2**25, "expected at most 16777216"),
        ("text_config.hidden_size", "5120", 'text_config.hidden_size: found "5120", expected a positive'),
        ("text_config.rope_parameters.rope_type", "yarn", 'rope_type: found "yarn", expected "default"'),
        ("text_config.rope_parameters.mrope_interleaved", False, "mrope_interleaved: found false"),
        ("text_config.rope_parameters.mrope_section", [11, 11, 11], "expected a sum of 32"),
        (
            "text_config.rope_parameters.rope_theta",
            None,
            "rope_theta: found null, expected a positive number",
        ),
        ("vision_config.deepstack_visual_indexes", [5], "deepstack_visual_indexes: found [5]"),
        ("vision_config.hidden_act", "silu", 'vision_config.hidden_act: found "silu"'),
        ("vision_config.patch_size", 14, "vision_config.patch_size: found 14, expected 16"),
        ("vision_config.num_position_embeddings", 2305, "expected a square number"),
        ("vision_config.out_hidden_size", 2048, "expected text_config.hidden_size 5120"),
        ("quantization_config", {"bits": 4}, "quantization_config: found"),
        ("model_type", "qwen3_vl", 'model_type: found "qwen3_vl", expected "qwen3_5"'),
    ],
)
def test_what_the_forward_does_not_do_is_refused_by_name(key: str, value: Any, message: str) -> None:
    data = copy.deepcopy(LARGE)
    *tables, last = key.split(".")
    table = data
    for name in tables:
        table = table[name]
    table[last] = value
    with pytest.raises(ConfigError) as caught:
        parse_config(data, "folder/config.json")
    assert message in str(caught.value)
    assert "folder/config.json" in str(caught.value)


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    data = copy.deepcopy(LARGE)
    data["text_config"]["hidden_act"] = "gelu"
    data["vision_config"]["patch_size"] = 14
    (tmp_path / "config.json").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=r"(?s)hidden_act.*patch_size"):
        load_config(tmp_path)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json: cannot be read"):
        load_config(tmp_path)
