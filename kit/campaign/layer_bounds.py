"""How far a stage may be off before it counts: no bit, one figure for all stages, or what rounding alone explains.

Covers: `bits`, the bound between two engines of the same numerics; `uniform`, a relative RMS given by hand; and
`rounding`, the bound where one side rounds and the other does not, or rounds elsewhere, as against the oracle.

`rounding` counts the values that are rounded to the model's dtype on the way to a stage. Each adds an error of
relative RMS e: uniform within half a spacing, over mantissas whose logarithms are uniform, e = 2^-p sqrt(0.75 / (2
ln 2) / 12), 0.166% for BF16 (p = 7). Errors of different roundings are taken as independent, so n of them make e
sqrt(n); a stage may be FACTOR = 3 times as far off. Native engine against oracle on `cpu-tiny`, 49 questions of the
protocol and 200 generated ones: every stage stays within 2.0 times e sqrt(n), residuals near 0.4. Label logits get
CANCELLING = 4 times more: they are a few sums of H terms, which may cancel in all of them at once (5.5 was seen).
The bound knows nothing of what trained layers amplify, so a stage over it is a lead and not a proof; what grows
slowly over the layers is rounding, what jumps is a fault. Under it hides every fault smaller than rounding.
Does not cover: measuring (`kit.campaign.layer_drift`), or gates: no verdict of a run reads these bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FACTOR = 3.0
CANCELLING = 4.0
PRECISION = {"bfloat16": 7, "float32": 23, "float64": 23}  # fraction bits; norms and delta rule are FP32 in any dtype
ORACLE = "oracle"  # the dtype of a side that does not round

# Values rounded one after the other inside a stage, counted in the ops' own modules. A projection rounds its base
# product and the sum with its adapter.
DELTA_MIXER = 13  # norm, projection 2, convolution, SiLU, rate, rule 3 (FLA keeps snapshots), gated norm 2, output 2
ATTENTION_MIXER = 14  # norm, projection 2, head norm, tables, rotary 3, shares, sum, gate, product, output 2
MLP = 7  # norm, projection 2, SiLU, product, output 2
STATE = 9  # the mixer's before its rule, in keys and in values: norm, twice projection 2, convolution, SiLU
PATCHES, POSITIONS, VISION_ATTENTION, VISION_MLP, MERGER = 2, 2, 6, 4, 4
RESIDUAL, NORM, HEAD = 1, 1, 1


@dataclass(frozen=True)
class Bound:
    """name: "bits", "rms" or "rounding". reason: one sentence for people. limits: stage -> relative RMS it may be
    off; None where no bit may differ."""

    name: str
    reason: str
    limits: Mapping[str, float] | None = None


def bits() -> Bound:
    """No bit of any stage may differ."""
    return Bound("bits", "both sides round every value alike, so no bit may differ")


def uniform(limit: float, stages: Iterable[str]) -> Bound:
    """One relative RMS for every stage. Raises ValueError unless it is a finite number of at least 0."""
    if not (math.isfinite(limit) and limit >= 0):
        raise ValueError(f"a bound is a relative RMS of at least 0, not {limit}")
    return Bound("rms", f"a relative RMS of {limit:g}, as asked for", dict.fromkeys(stages, limit))


def rounding(stages: Sequence[str], dtypes: Sequence[str]) -> Bound:
    """FACTOR times what independent roundings give. dtypes: of each side, "oracle" for one that does not round."""
    squares = sum(rounding_error(dtype) ** 2 for dtype in dtypes)
    limits = {
        stage: FACTOR * (CANCELLING if stage == "logits" else 1.0) * math.sqrt(count * squares)
        for stage, count in roundings(stages).items()
    }
    shown = " against ".join(dtypes)
    return Bound("rounding", f"{FACTOR:g} times what independent roundings add up to, {shown}", limits)


def rounding_error(dtype: str) -> float:
    """Relative RMS of one rounding; 0 for the oracle."""
    return 0.0 if dtype == ORACLE else 2.0 ** -PRECISION[dtype] * math.sqrt(0.75 / (2 * math.log(2)) / 12)


def roundings(stages: Sequence[str]) -> dict[str, int]:
    """Values rounded one after the other on the way to each stage, by the names of `kit.engine.trace`.

    0 for token embeddings: rows of a table that every side holds. Stages have to come in walking order.
    """
    rules = {name.removesuffix(".state") for name in stages if name.endswith(".state")}
    counts: dict[str, int] = {}
    residual = 0  # at the residual before the block or layer under way
    for stage in stages:
        name, _, part = stage.rpartition(".")
        attention = VISION_ATTENTION if name.startswith("vision") else DELTA_MIXER if name in rules else ATTENTION_MIXER
        if stage in ("vision.patches", "vision.positions"):
            residual += PATCHES if stage == "vision.patches" else POSITIONS
            counts[stage] = residual
        elif part in ("attention", "mixer"):
            counts[stage] = residual + attention
        elif part == "mlp":
            mlp = VISION_MLP if name.startswith("vision") else MLP
            counts[stage] = residual + attention + RESIDUAL + mlp
        elif part == "state":
            counts[stage] = counts[f"{name}.mixer"] - DELTA_MIXER + STATE
        elif stage == "vision.merger":
            residual += MERGER
            counts[stage] = residual
        elif stage == "embedding":
            counts[stage] = residual
        elif stage in ("hidden", "logits"):
            counts[stage] = residual + NORM + (HEAD if stage == "logits" else 0)
        else:  # a residual: behind both branches and both adds
            residual = counts[f"{stage}.mlp"] + RESIDUAL
            counts[stage] = residual
    return counts
