"""Names and shapes of every tensor of a Qwen3.5-architecture checkpoint and of its adapter, from config.json.

Covers: the vision-language base, a tied or untied head, and the LoRA pair of every language linear, as
functions of the sizes. Does not cover: values (`kit.checkpoint.recipes`) or which sizes the kit's forward
accepts (`kit.model.config`).
"""

from __future__ import annotations

from typing import Any

Shape = tuple[int, ...]
EMBEDDING = "model.language_model.embed_tokens.weight"
HEAD = "lm_head.weight"


def tied_head(config: dict[str, Any]) -> bool:
    """Whether the label head is the embedding."""
    return bool(config.get("tie_word_embeddings", False))


def head_name(config: dict[str, Any]) -> str:
    """The tensor that holds the head's rows."""
    return EMBEDDING if tied_head(config) else HEAD


def base_shapes(config: dict[str, Any]) -> dict[str, Shape]:
    """Name -> shape of every base tensor, in the order of the forward (embedding, layers, head, vision).

    A tied head is the embedding and has no tensor of its own.
    """
    text = config["text_config"]
    hidden, vocab = text["hidden_size"], text["vocab_size"]
    shapes: dict[str, Shape] = {EMBEDDING: (vocab, hidden)}
    for index, kind in enumerate(text["layer_types"]):
        prefix = f"model.language_model.layers.{index}."
        mixer = _delta_shapes(text) if kind == "linear_attention" else _attention_shapes(text)
        mlp = text["intermediate_size"]
        shapes |= {prefix + "input_layernorm.weight": (hidden,)}
        shapes |= {prefix + name: shape for name, shape in mixer.items()}
        shapes |= {
            prefix + "post_attention_layernorm.weight": (hidden,),
            prefix + "mlp.gate_proj.weight": (mlp, hidden),
            prefix + "mlp.up_proj.weight": (mlp, hidden),
            prefix + "mlp.down_proj.weight": (hidden, mlp),
        }
    shapes["model.language_model.norm.weight"] = (hidden,)
    if not tied_head(config):
        shapes[HEAD] = (vocab, hidden)
    return shapes | {"model.visual." + k: v for k, v in _vision_shapes(config["vision_config"]).items()}


def _delta_shapes(text: dict[str, Any]) -> dict[str, Shape]:
    hidden, heads = text["hidden_size"], text["linear_num_value_heads"]
    keys = text["linear_num_key_heads"] * text["linear_key_head_dim"]
    values = heads * text["linear_value_head_dim"]
    mixed = 2 * keys + values
    shapes: dict[str, Shape] = {
        "in_proj_qkv.weight": (mixed, hidden),
        "in_proj_z.weight": (values, hidden),
        "in_proj_b.weight": (heads, hidden),
        "in_proj_a.weight": (heads, hidden),
        "conv1d.weight": (mixed, 1, text["linear_conv_kernel_dim"]),
        "dt_bias": (heads,),
        "A_log": (heads,),
        "norm.weight": (text["linear_value_head_dim"],),
        "out_proj.weight": (hidden, values),
    }
    return {"linear_attn." + name: shape for name, shape in shapes.items()}


def _attention_shapes(text: dict[str, Any]) -> dict[str, Shape]:
    hidden, side = text["hidden_size"], text["head_dim"]
    queries, keys = text["num_attention_heads"] * side, text["num_key_value_heads"] * side
    shapes: dict[str, Shape] = {
        "q_proj.weight": (2 * queries, hidden),  # query and output gate, head by head
        "k_proj.weight": (keys, hidden),
        "v_proj.weight": (keys, hidden),
        "q_norm.weight": (side,),
        "k_norm.weight": (side,),
        "o_proj.weight": (hidden, queries),
    }
    return {"self_attn." + name: shape for name, shape in shapes.items()}


def _vision_shapes(vision: dict[str, Any]) -> dict[str, Shape]:
    width, mlp, patch = vision["hidden_size"], vision["intermediate_size"], vision["patch_size"]
    merged = width * vision["spatial_merge_size"] ** 2
    shapes: dict[str, Shape] = {
        "patch_embed.proj.weight": (width, vision["in_channels"], vision["temporal_patch_size"], patch, patch),
        "patch_embed.proj.bias": (width,),
        "pos_embed.weight": (vision["num_position_embeddings"], width),
    }
    for index in range(vision["depth"]):
        prefix = f"blocks.{index}."
        shapes |= _linear(prefix + "attn.qkv", 3 * width, width) | _linear(prefix + "attn.proj", width, width)
        shapes |= _linear(prefix + "mlp.linear_fc1", mlp, width) | _linear(prefix + "mlp.linear_fc2", width, mlp)
        for norm in ("norm1", "norm2"):
            shapes |= {prefix + norm + ".weight": (width,), prefix + norm + ".bias": (width,)}
    shapes |= {"merger.norm.weight": (width,), "merger.norm.bias": (width,)}
    shapes |= _linear("merger.linear_fc1", merged, merged)
    return shapes | _linear("merger.linear_fc2", vision["out_hidden_size"], merged)


def _linear(name: str, rows: int, columns: int) -> dict[str, Shape]:
    return {name + ".weight": (rows, columns), name + ".bias": (rows,)}


def adapter_shapes(config: dict[str, Any], rank: int) -> dict[str, Shape]:
    """Name -> shape of the LoRA pair of every language linear (the label head has none)."""
    shapes: dict[str, Shape] = {}
    for name, shape in base_shapes(config).items():
        if (".layers." in name and name.endswith("_proj.weight")) or ".in_proj_" in name:
            prefix = "base_model.model." + name.removesuffix("weight")
            shapes[prefix + "lora_A.weight"] = (rank, shape[1])
            shapes[prefix + "lora_B.weight"] = (shape[0], rank)
    return shapes
