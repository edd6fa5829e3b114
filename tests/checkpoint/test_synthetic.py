"""Names and shapes follow from a config as Transformers and PEFT have them, at every size."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
import torch

from kit.checkpoint.architecture import adapter_shapes, base_shapes
from kit.checkpoint.recipes import LABEL_IDS, RECIPES, TINY
from kit.checkpoint.synthetic import plan
from kit.checkpoint.tokens import from_qwen_package, load_tokenizer
from kit.model.config import parse_config
from kit.model.pixels import grid_of
from kit.profile import PROJECT_ROOT

CONFIGS = {name: plan(name, 1).config for name in ("cpu-tiny", "h200-27b", "h200-4b")}


def official(config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Shapes of the base and of the adapter as the two libraries build them, without memory."""
    from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    options = json.loads((TINY / "adapter" / "adapter_config.json").read_text())
    with torch.device("meta"):
        model = Qwen3_5ForConditionalGeneration(Qwen3_5Config(**config))
        base = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}  # a tied head once
        adapted = get_peft_model(model, LoraConfig(**options))
        adapter = {name: tuple(t.shape) for name, t in get_peft_model_state_dict(adapted).items()}
    return base, adapter


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_names_and_shapes_are_the_official_ones(config: dict[str, Any]) -> None:
    base, adapter = official(config)
    assert base_shapes(config) == base
    assert adapter_shapes(config, 16) == adapter


def test_adapters_have_a_pair_for_every_language_linear_and_no_other() -> None:
    for name, count in (("h200-27b", 992), ("h200-4b", 496)):
        shapes = adapter_shapes(CONFIGS[name], 16)
        assert len(shapes) == count
        assert not any(".visual." in name or "lm_head" in name for name in shapes)


def test_large_configs_are_those_of_the_published_model_as_far_as_it_is_pinned() -> None:
    shapes = base_shapes(CONFIGS["h200-27b"])
    pinned = json.loads((PROJECT_ROOT / "kit" / "checkpoint" / "pins.json").read_text())["base"]["shapes"]
    assert {name: list(shapes[name]) for name in pinned} == pinned
    for name in ("h200-27b", "h200-4b"):
        text = parse_config(CONFIGS[name]).text
        assert (text.rope_theta, text.rotary_dim, text.mrope_section) == (1e7, 64, (11, 11, 10))
        assert (text.vocab_size, text.max_position_embeddings) == (248320, 262144)
    assert [parse_config(CONFIGS[name]).tied_head for name in ("h200-27b", "h200-4b")] == [False, True]


def test_quiet_tokens_and_label_rows_have_their_own_width() -> None:
    made = plan("cpu-tiny", 21)
    recipe = RECIPES["cpu-tiny"]
    embedding = made.tensor("model.language_model.embed_tokens.weight").float()
    quiet = list(recipe.quiet_tokens.values())
    assert embedding[quiet].std() < 2 * recipe.quiet_std
    assert embedding[300:400].std() > 0.9 * recipe.embed_std
    head = made.tensor("lm_head.weight").float() * 16
    assert head[[*range(32, 58), *range(15, 21)]].std() == pytest.approx(recipe.label_std, rel=0.05)
    assert head[58:1000].std() == pytest.approx(recipe.other_std, rel=0.05)


def test_quiet_tokens_are_what_every_prompt_ends_with() -> None:
    """The ids of a recipe are those its tokenizer gives; the real vocabulary comes from a package."""
    tokenizers = {"cpu-tiny": load_tokenizer(TINY / "base"), "h200-27b": from_qwen_package()}
    for name, tokenizer in tokenizers.items():
        recipe = RECIPES[name]
        assert {text: tokenizer.encode(text) for text in recipe.quiet_tokens} == {
            text: [token] for text, token in recipe.quiet_tokens.items()
        }
        ids = tokenizer.encode(tokenizer.chat("x"))
        ending = ids[len(ids) - 1 - ids[::-1].index(recipe.quiet_tokens["<|im_end|>"]) :]
        assert set(ending) - set(tokenizer.encode("assistant")) == set(recipe.quiet_tokens.values())
        assert tokenizer.label_ids == LABEL_IDS


def test_image_processor_settings_are_those_the_kits_pixels_have() -> None:
    """Sizes by the official processor class from the committed file equal the kit's."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    processor = Qwen2VLImageProcessorPil.from_pretrained(TINY / "base")
    assert {*processor.image_mean, *processor.image_std} == {0.5}
    for height, width in ((256, 256), (31, 31), (500, 300), (1080, 1920), (64, 4096)):
        pixels = numpy.zeros((height, width, 3), dtype=numpy.uint8)
        grid = processor(images=[pixels], return_tensors="pt")["image_grid_thw"][0].tolist()
        assert tuple(grid) == grid_of(height, width)
