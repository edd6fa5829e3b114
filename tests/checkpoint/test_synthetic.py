"""Names and shapes follow from a config as Transformers and PEFT have them, at every size."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy
import pytest
import torch

from kit.checkpoint.synthetic import RECIPES, TINY, adapter_shapes, base_shapes, plan
from kit.model.pixels import grid_of

CONFIG = json.loads((TINY / "base" / "config.json").read_text())


def config_27b() -> dict[str, Any]:
    """The sizes of Qwen3.8-27B, as far as names and shapes go."""
    config = copy.deepcopy(CONFIG)
    config["text_config"] |= {"vocab_size": 248320, "hidden_size": 5120, "intermediate_size": 17408}
    config["text_config"] |= {"num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4}
    config["text_config"] |= {"head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 48}
    config["text_config"] |= {"linear_key_head_dim": 128, "linear_value_head_dim": 128}
    config["text_config"]["layer_types"] = (["linear_attention"] * 3 + ["full_attention"]) * 16
    config["vision_config"] |= {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16}
    config["vision_config"] |= {"out_hidden_size": 5120, "num_position_embeddings": 2304}
    return config


def official(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shapes of the base and of the adapter as the two libraries build them, without memory."""
    from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    options = json.loads((TINY / "adapter" / "adapter_config.json").read_text())
    with torch.device("meta"):
        model = Qwen3_5ForConditionalGeneration(Qwen3_5Config(**config))
        base = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        adapted = get_peft_model(model, LoraConfig(**options))
        adapter = {name: tuple(t.shape) for name, t in get_peft_model_state_dict(adapted).items()}
    return base, adapter


@pytest.mark.parametrize("config", [CONFIG, config_27b()], ids=["cpu-tiny", "27b"])
def test_names_and_shapes_are_the_official_ones(config: dict[str, Any]) -> None:
    base, adapter = official(config)
    assert base_shapes(config) == base
    assert adapter_shapes(config, 16) == adapter


def test_the_27b_adapter_has_992_tensors() -> None:
    shapes = adapter_shapes(config_27b(), 16)
    assert len(shapes) == 992
    assert not any(".visual." in name or "lm_head" in name for name in shapes)


def test_quiet_tokens_and_label_rows_have_their_own_width() -> None:
    made = plan("cpu-tiny", 21)
    recipe = RECIPES["cpu-tiny"]
    embedding = made.tensor("model.language_model.embed_tokens.weight").float()
    quiet = [made.token_id(text) for text in recipe.quiet_tokens]
    assert embedding[quiet].std() < 2 * recipe.quiet_std
    assert embedding[300:400].std() > 0.9 * recipe.embed_std
    head = made.tensor("lm_head.weight").float() * 16
    assert head[[*range(32, 58), *range(15, 21)]].std() == pytest.approx(recipe.label_std, rel=0.05)
    assert head[58:1000].std() == pytest.approx(recipe.other_std, rel=0.05)


def test_quiet_tokens_must_be_single_tokens() -> None:
    with pytest.raises(ValueError, match="expected one"):
        plan("cpu-tiny", 21).token_id("not one token")


def test_image_processor_settings_are_those_the_kits_pixels_have() -> None:
    """Sizes by the official processor class from the committed file equal the kit's."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    processor = Qwen2VLImageProcessorPil.from_pretrained(TINY / "base")
    assert {*processor.image_mean, *processor.image_std} == {0.5}
    for height, width in ((256, 256), (31, 31), (500, 300), (1080, 1920), (64, 4096)):
        pixels = numpy.zeros((height, width, 3), dtype=numpy.uint8)
        grid = processor(images=[pixels], return_tensors="pt")["image_grid_thw"][0].tolist()
        assert tuple(grid) == grid_of(height, width)
