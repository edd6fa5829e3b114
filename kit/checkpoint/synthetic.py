"""Synthetic checkpoints: which tensors there are, how wide each one is, and the files they are written to.

Covers: names and shapes of a Qwen3.5-architecture vision-language checkpoint and of its LoRA adapter as a
function of config.json; one `Fill` per tensor from a recipe; single tensors on any device (`tensor`); and the
ordinary on-disk format of the recipe `cpu-tiny` (`write`). The values come from `kit.checkpoint.generator`.
Does not cover: where the files end up or whether they are intact (`kit.checkpoint`).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kit.checkpoint import shards
from kit.checkpoint.generator import Fill, fill

Shape = tuple[int, ...]
TINY = Path(__file__).resolve().parent / "tiny"
LABEL_IDS = (*range(32, 58), *range(15, 21))  # A-Z, 0-5 in every byte-level BPE of the family


@dataclass(frozen=True)
class Recipe:
    """The widths that are choices; everything else follows from the shapes.

    first_gain, later_gain: of the projections that write into the residual stream, in the first layer (and
    the vision tower) and in the later ones, times 1/sqrt(fan in). The smaller the later gain, the less of
    the rounding noise of deep products reaches the last row. gate_std: of the inputs of beta and decay,
    times 1/sqrt(hidden). quiet_std: of the embedding rows in `quiet_tokens`, the tokens every prompt ends
    with: below sqrt(rms_norm_eps), so that the last position reads its context and not itself. label_std: of
    the lm_head rows of the 32 labels, times 1/sqrt(hidden); other rows get other_std. lora_b: of B times
    1/sqrt(rank), relative to the base output.
    """

    static: Path
    first_gain: float
    later_gain: float
    gate_std: float
    embed_std: float
    quiet_std: float
    quiet_tokens: tuple[str, ...]
    label_std: float
    other_std: float
    lora_b: float
    shards: int = 2


RECIPES = {
    "cpu-tiny": Recipe(
        static=TINY,
        first_gain=0.35,
        later_gain=0.08,
        gate_std=0.5,
        embed_std=1.0,
        quiet_std=0.0003,
        quiet_tokens=("\n\n", "\n", "</think>", "<think>", "<|im_start|>", "<|im_end|>"),
        label_std=2.0,
        other_std=1.0,
        lora_b=0.15,
    )
}


def base_shapes(config: dict[str, Any]) -> dict[str, Shape]:
    """Name -> shape of every base tensor, in the order of the forward (embedding, layers, head, vision)."""
    text = config["text_config"]
    hidden, vocab = text["hidden_size"], text["vocab_size"]
    shapes: dict[str, Shape] = {"model.language_model.embed_tokens.weight": (vocab, hidden)}
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
    shapes |= {"model.language_model.norm.weight": (hidden,), "lm_head.weight": (vocab, hidden)}
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


def fill_of(name: str, shape: Shape, recipe: Recipe) -> Fill:
    """Mean and deviation of a tensor. No tensor is constant: every one must be able to matter."""
    special = {
        "embed_tokens.weight": Fill(recipe.embed_std),
        "lm_head.weight": Fill(recipe.other_std / math.sqrt(shape[-1])),
        "A_log": Fill(0.5, mean=-0.3),  # with dt_bias: decays of about 0.05% to 20% a token, head by head
        "dt_bias": Fill(1.2, mean=-4.2),
        "conv1d.weight": Fill(0.5),
        "linear_attn.norm.weight": Fill(0.2, mean=1.0),
        "q_norm.weight": Fill(0.3, mean=0.5),  # zero-centred weights: attention scores of deviation 2 or so
        "k_norm.weight": Fill(0.3, mean=0.5),
        "pos_embed.weight": Fill(0.5),
    }
    for suffix, how in special.items():
        if name.endswith(suffix):
            return how
    visual = ".visual." in name
    if name.endswith(".bias"):
        return Fill(0.2)
    if len(shape) == 1:  # norms: the language model's are zero-centred, the vision tower's are not
        return Fill(0.2, mean=1.0 if visual else 0.0)
    gain = _gain(name, recipe) * (recipe.lora_b if name.endswith("lora_B.weight") else 1.0)
    return Fill(gain / math.sqrt(math.prod(shape[1:])))


def _gain(name: str, recipe: Recipe) -> float:
    """Size of a projection's output for an input of size one; an adapter pair has the gain of its base."""
    if any(part in name for part in (".in_proj_a.", ".in_proj_b.")) and "lora_A" not in name:
        return recipe.gate_std
    writers = (".out_proj.", ".o_proj.", ".down_proj.", ".attn.proj.", ".mlp.linear_fc2.")
    if any(part in name for part in writers) and "lora_A" not in name:
        later = ".layers." in name and ".layers.0." not in name
        return recipe.later_gain if later else recipe.first_gain
    return 1.0


def row_fills(name: str, shape: Shape, recipe: Recipe, token_id: Callable[[str], int]) -> dict[int, Fill]:
    """Rows of a tensor that have a width of their own: label rows of the head, quiet rows of the embedding."""
    if name == "lm_head.weight":
        return {row: Fill(recipe.label_std / math.sqrt(shape[1])) for row in LABEL_IDS}
    if name.endswith("embed_tokens.weight"):
        return {token_id(text): Fill(recipe.quiet_std) for text in recipe.quiet_tokens}
    return {}


@dataclass(frozen=True)
class Plan:
    """A recipe bound to a seed and to the config and tokenizer it is made for."""

    recipe: Recipe
    seed: int
    config: dict[str, Any]
    rank: int
    token_id: Callable[[str], int]

    def shapes(self) -> dict[str, tuple[Shape, torch.dtype]]:
        """Every tensor, base (BF16) then adapter (float32)."""
        base = {name: (shape, torch.bfloat16) for name, shape in base_shapes(self.config).items()}
        pairs = adapter_shapes(self.config, self.rank)
        return base | {name: (shape, torch.float32) for name, shape in pairs.items()}

    def tensor(self, name: str, device: str | torch.device = "cpu") -> torch.Tensor:
        """Make one whole tensor on a device; the same bits on every device."""
        shape, dtype = self.shapes()[name]
        out = torch.empty(shape, dtype=dtype, device=device)
        fill(out, self.seed, name, fill_of(name, shape, self.recipe))
        width = math.prod(shape[1:])
        for row, how in row_fills(name, shape, self.recipe, self.token_id).items():
            fill(out[row], self.seed, name, how, start=row * width)
        return out


def plan(generator: str, seed: int) -> Plan:
    """The plan of a named generator. Raises ValueError for an unknown name."""
    if generator not in RECIPES:
        raise ValueError(f"unknown generator {generator!r}: expected one of {', '.join(RECIPES)}")
    from tokenizers import Tokenizer

    recipe = RECIPES[generator]
    config = json.loads((recipe.static / "base" / "config.json").read_text(encoding="utf-8"))
    adapter = json.loads((recipe.static / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(recipe.static / "base" / "tokenizer.json"))

    def token_id(text: str) -> int:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if len(ids) != 1:
            raise ValueError(f"{text!r} is {len(ids)} tokens of {recipe.static}/base/tokenizer.json, expected one")
        return int(ids[0])

    return Plan(recipe, seed, config, adapter["r"], token_id)


def write(generator: str, seed: int, folder: Path) -> None:
    """Write the checkpoint: `folder`/base and `folder`/adapter in the ordinary on-disk format.

    `folder` must be empty. The bytes depend on generator, seed and the committed static files alone.
    """
    made = plan(generator, seed)
    for part in ("base", "adapter"):
        (folder / part).mkdir()
        for source in sorted((made.recipe.static / part).iterdir()):
            if source.suffix in (".json", ".jinja"):
                shutil.copyfile(source, folder / part / source.name)
    infos: dict[str, shards.TensorInfo] = {}
    groups = list(_split(base_shapes(made.config), made.recipe.shards))
    for number, names in enumerate(groups, 1):
        path = folder / "base" / f"model-{number:05}-of-{len(groups):05}.safetensors"
        infos |= shards.write_shard(path, ((name, made.tensor(name)) for name in names))
    shards.write_index(folder / "base" / "model.safetensors.index.json", infos)
    pairs = adapter_shapes(made.config, made.rank)
    shards.write_shard(
        folder / "adapter" / "adapter_model.safetensors", ((name, made.tensor(name)) for name in sorted(pairs))
    )


def _split(shapes: dict[str, Shape], count: int) -> Iterator[list[str]]:
    """Cut the tensors, in order, into `count` groups of about equal bytes."""
    total = sum(math.prod(shape) for shape in shapes.values())
    group: list[str] = []
    done = 0
    cut = 1
    for name, shape in shapes.items():
        group.append(name)
        done += math.prod(shape)
        if cut < count and done * count >= total * cut:
            yield group
            group, cut = [], cut + 1
    yield group
