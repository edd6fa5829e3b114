"""What a checkpoint's config.json must say for this forward to be the right one.

Covers: the sizes the model is built from, read from raw JSON, and a refusal of everything the forward does
not implement, all findings at once with key, found and expected. Sizes are free where the arithmetic is.
Does not cover: the adapter's options (`kit.model.lora`) or whether the tensors fit (`kit.model.weights`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

LayerKind = Literal["linear_attention", "full_attention"]
MAX_POSITIONS = 2**24  # integers up to here are exact in FP32, which the rotary angles start from


class ConfigError(ValueError):
    """config.json asks for something the forward does not do; the message lists every such key."""


@dataclass(frozen=True)
class TextConfig:
    """Sizes of the language model. rotary_dim values of a head turn; mrope_section: frequencies per axis."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layer_types: tuple[LayerKind, ...]
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int
    rms_norm_eps: float
    rope_theta: float
    rotary_dim: int
    mrope_section: tuple[int, int, int]
    max_position_embeddings: int


@dataclass(frozen=True)
class VisionConfig:
    """Sizes of the vision tower. grid_side: positions along one side of the learned square table."""

    depth: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    in_channels: int
    patch_size: int
    temporal_patch_size: int
    spatial_merge_size: int
    out_hidden_size: int
    grid_side: int
    rope_theta: float

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.num_heads


@dataclass(frozen=True)
class ModelConfig:
    """Both halves, and what ties them together."""

    text: TextConfig
    vision: VisionConfig
    image_token_id: int
    tied_head: bool


def load_config(base: Path) -> ModelConfig:
    """Read `config.json` of a checkpoint folder. Raises ConfigError naming the file and every problem."""
    path = base / "config.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as JSON: {error}") from error
    return parse_config(data, str(path))


def parse_config(data: Mapping[str, Any], source: str = "config.json") -> ModelConfig:
    """Check and convert the parsed file. Raises ConfigError listing all problems."""
    top = _Table(data, "", [])
    top.must_be("model_type", "qwen3_5", default="qwen3_5")
    top.must_be("quantization_config", None, default=None)
    text, vision = _text(top.table("text_config")), _vision(top.table("vision_config"))
    image_token = top.positive("image_token_id")
    tied = bool(data.get("tie_word_embeddings", False))
    if not top.problems and vision.out_hidden_size != text.hidden_size:
        top.refuse(
            "vision_config.out_hidden_size",
            vision.out_hidden_size,
            f"text_config.hidden_size {text.hidden_size}",
        )
    if top.problems:
        listed = "\n".join(f"  {problem}" for problem in top.problems)
        raise ConfigError(f"{source}: the native forward does not implement this model:\n{listed}")
    return ModelConfig(text, vision, image_token, tied)


class _Table:
    """One JSON object with its dotted name; findings of all tables gather in one list."""

    def __init__(self, data: Mapping[str, Any], where: str, problems: list[str]) -> None:
        self.data, self.where, self.problems = data, where, problems

    def refuse(self, key: str, found: Any, expected: str) -> None:
        name = f"{self.where}.{key}" if self.where else key
        self.problems.append(f"{name}: found {json.dumps(found)}, expected {expected}")

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> _Table:
        found = self.data.get(key, default)
        if not isinstance(found, dict):
            self.refuse(key, found, "an object")
            found = {}
        return _Table(found, f"{self.where}.{key}" if self.where else key, self.problems)

    def must_be(self, key: str, *expected: Any, default: Any) -> None:
        found = self.data.get(key, default)
        if found not in expected:
            self.refuse(key, found, " or ".join(json.dumps(value) for value in expected))

    def positive(self, key: str, default: int | None = None) -> int:
        found = self.data.get(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            self.refuse(key, found, "a positive integer")
            return 1
        return found

    def number(self, key: str, default: float | None = None) -> float:
        found = self.data.get(key, default)
        if not isinstance(found, int | float) or isinstance(found, bool) or not found > 0:
            self.refuse(key, found, "a positive number")
            return 1.0
        return float(found)

    def divides(self, key: str, value: int, divisor: int, what: str) -> None:
        if value % divisor:
            self.refuse(key, value, f"a multiple of {what} {divisor}")


def _text(table: _Table) -> TextConfig:
    table.must_be("model_type", "qwen3_5_text", default="qwen3_5_text")
    table.must_be("hidden_act", "silu", default="silu")
    table.must_be("attn_output_gate", True, default=True)
    table.must_be("attention_bias", False, default=False)
    table.must_be("sliding_window", None, default=None)
    table.must_be("mlp_only_layers", [], None, default=[])
    table.must_be("num_experts", 0, None, default=0)
    heads, keys = table.positive("num_attention_heads"), table.positive("num_key_value_heads")
    table.divides("num_attention_heads", heads, keys, "num_key_value_heads")
    values, linear_keys = (
        table.positive("linear_num_value_heads", 32),
        table.positive("linear_num_key_heads", 16),
    )
    table.divides("linear_num_value_heads", values, linear_keys, "linear_num_key_heads")
    head_dim, positions = table.positive("head_dim", 256), table.positive("max_position_embeddings", 32768)
    if positions > MAX_POSITIONS:
        table.refuse("max_position_embeddings", positions, f"at most {MAX_POSITIONS}")
    theta, rotary, sections = _rope(table, head_dim)
    return TextConfig(
        vocab_size=table.positive("vocab_size"),
        hidden_size=table.positive("hidden_size"),
        intermediate_size=table.positive("intermediate_size"),
        layer_types=_layer_types(table),
        num_attention_heads=heads,
        num_key_value_heads=keys,
        head_dim=head_dim,
        linear_num_key_heads=linear_keys,
        linear_num_value_heads=values,
        linear_key_head_dim=table.positive("linear_key_head_dim", 128),
        linear_value_head_dim=table.positive("linear_value_head_dim", 128),
        linear_conv_kernel_dim=table.positive("linear_conv_kernel_dim", 4),
        rms_norm_eps=table.number("rms_norm_eps", 1e-6),
        rope_theta=theta,
        rotary_dim=rotary,
        mrope_section=sections,
        max_position_embeddings=positions,
    )


def _layer_types(table: _Table) -> tuple[LayerKind, ...]:
    """`layer_types`, or every `full_attention_interval`-th layer full where the list is absent."""
    layers, found = table.positive("num_hidden_layers"), table.data.get("layer_types")
    if found is None:
        every = table.positive("full_attention_interval", 4)
        found = ["linear_attention" if (i + 1) % every else "full_attention" for i in range(layers)]
    kinds = ("linear_attention", "full_attention")
    if not isinstance(found, list) or len(found) != layers or any(kind not in kinds for kind in found):
        table.refuse("layer_types", found, f"{layers} (num_hidden_layers) of {' or '.join(kinds)}")
        return ()
    return tuple(found)


def _rope(table: _Table, head_dim: int) -> tuple[float, int, tuple[int, int, int]]:
    """Base, rotated width and the frequencies each axis (time, height, width) owns."""
    rope = table.table("rope_parameters")
    rope.must_be("rope_type", "default", default="default")
    rope.must_be("mrope_interleaved", True, default=True)
    factor = rope.number("partial_rotary_factor", table.data.get("partial_rotary_factor", 0.25))
    rotary = int(head_dim * factor)
    if rotary % 2 or not 0 < rotary <= head_dim:
        rope.refuse("partial_rotary_factor", factor, f"an even number of at most {head_dim} rotated values")
    sections = rope.data.get("mrope_section", [11, 11, 10])
    if not isinstance(sections, list) or len(sections) != 3 or not all(isinstance(n, int) for n in sections):
        rope.refuse("mrope_section", sections, "three integers")
        sections = [0, 0, 0]
    elif sum(sections) != rotary // 2:
        rope.refuse("mrope_section", sections, f"a sum of {rotary // 2}, half the rotated values")
    return rope.number("rope_theta"), rotary, (sections[0], sections[1], sections[2])


def _vision(table: _Table) -> VisionConfig:
    table.must_be("model_type", "qwen3_5_vision", "qwen3_5", default="qwen3_5_vision")
    table.must_be("hidden_act", "gelu_pytorch_tanh", default="gelu_pytorch_tanh")
    table.must_be("deepstack_visual_indexes", [], None, default=[])
    table.must_be("in_channels", 3, default=3)
    table.must_be("patch_size", 16, default=16)
    table.must_be("temporal_patch_size", 2, default=2)
    table.must_be("spatial_merge_size", 2, default=2)
    rope = table.table("rope_parameters", {}) if table.data.get("rope_parameters") else _Table({}, "", [])
    rope.must_be("rope_type", "axial", "default", default="axial")
    hidden, heads = table.positive("hidden_size"), table.positive("num_heads")
    table.divides("hidden_size", hidden, 4 * heads, "4 * num_heads")
    positions = table.positive("num_position_embeddings", 2304)
    side = round(positions**0.5)
    if side * side != positions:
        table.refuse("num_position_embeddings", positions, "a square number")
    return VisionConfig(
        depth=table.positive("depth"),
        hidden_size=hidden,
        intermediate_size=table.positive("intermediate_size"),
        num_heads=heads,
        in_channels=3,
        patch_size=16,
        temporal_patch_size=2,
        spatial_merge_size=2,
        out_hidden_size=table.positive("out_hidden_size"),
        grid_side=side,
        rope_theta=rope.number("rope_theta", 10000.0),
    )
