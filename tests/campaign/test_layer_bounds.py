"""Bounds of a stage: roundings counted along the walk, and what they allow."""

from __future__ import annotations

import math

import pytest
import torch

from kit.campaign.layer_bounds import CANCELLING, FACTOR, bits, rounding, rounding_error, roundings, uniform
from kit.engine.trace import stage_names

STAGES = stage_names(["linear_attention", "full_attention"], 1)


def test_one_rounding_is_what_the_formula_says() -> None:
    """Mantissas whose logarithms are uniform, rounded by torch."""
    draw = torch.Generator().manual_seed(1)
    values = 2 ** torch.rand(200_000, generator=draw, dtype=torch.float64)
    seen = ((values.bfloat16().double() - values) / values).square().mean().sqrt()
    assert rounding_error("bfloat16") == pytest.approx(float(seen), rel=0.01)
    assert rounding_error("oracle") == 0


def test_roundings_add_up_along_the_walk() -> None:
    counts = roundings(STAGES)
    assert list(counts) == STAGES
    assert counts["vision.patches"] == 2
    assert counts["vision.positions"] == 4
    assert counts["vision.block.00.attention"] == 4 + 6
    assert counts["vision.block.00.mlp"] == 4 + 6 + 1 + 4
    assert counts["vision.block.00"] == 4 + 6 + 1 + 4 + 1
    assert counts["embedding"] == counts["vision.merger"] == 16 + 4
    assert counts["layer.00.mixer"] == 20 + 13
    assert counts["layer.00.mlp"] == 20 + 13 + 1 + 7
    assert counts["layer.00"] == 20 + 13 + 1 + 7 + 1
    assert counts["layer.00.state"] == 20 + 9
    assert counts["layer.01.mixer"] == 42 + 14
    assert counts["logits"] == counts["hidden"] + 1


def test_token_embeddings_are_copied_and_may_not_be_off() -> None:
    bound = rounding(stage_names(["full_attention"], None), ("bfloat16", "oracle"))
    assert bound.limits is not None
    assert bound.limits["embedding"] == 0


def test_a_bound_grows_with_the_root_of_the_roundings_and_with_both_sides() -> None:
    one, both = rounding(STAGES, ("bfloat16", "oracle")), rounding(STAGES, ("bfloat16", "bfloat16"))
    assert one.limits is not None
    assert both.limits is not None
    e, counts = rounding_error("bfloat16"), roundings(STAGES)
    assert one.limits["layer.01"] == pytest.approx(FACTOR * e * math.sqrt(counts["layer.01"]))
    assert one.limits["logits"] == pytest.approx(FACTOR * CANCELLING * e * math.sqrt(counts["logits"]))
    assert both.limits["hidden"] == pytest.approx(math.sqrt(2) * one.limits["hidden"])


def test_the_other_bounds() -> None:
    assert bits().limits is None
    assert uniform(0.5, ["a", "b"]).limits == {"a": 0.5, "b": 0.5}
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="at least 0"):
            uniform(wrong, ["a"])
