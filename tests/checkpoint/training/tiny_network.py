"""A network of the decider's kind that trains a step in milliseconds."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from kit.checkpoint.training.export import decider_config
from kit.evidence.records import write_json


def config() -> dict[str, Any]:
    """The decider's configuration with two layers of width 64 and one vision block of 32."""
    made = copy.deepcopy(decider_config())
    made["text_config"] |= {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"], "full_attention_interval": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1,
        "linear_key_head_dim": 32, "linear_value_head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    }  # fmt: skip
    made["vision_config"] |= {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64}
    return made


def config_file(folder: Path) -> Path:
    """`config` in a file."""
    path = folder / "config.json"
    write_json(path, config())
    return path
