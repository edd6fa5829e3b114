"""Rotary tables: which axis turns which frequency, and how far from the exact angle."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kit.model.config import TextConfig, load_config
from kit.model.rope import TextRotary, VisionRotary

TINY = load_config(Path(__file__).resolve().parents[2] / "kit" / "checkpoint" / "tiny" / "base")


@pytest.fixture
def large() -> TextConfig:
    return replace(TINY.text, rope_theta=1e7, rotary_dim=64, mrope_section=(11, 11, 10))


def test_axes_are_interleaved(large: TextConfig) -> None:
    """Frequency i turns with the height if i%3==1 and i<33, with the width if i%3==2 and i<30, else with time."""
    positions = torch.tensor([[3], [50], [700]])
    cos, sin = TextRotary(large, torch.float32).tables(positions)
    assert cos.shape == sin.shape == (1, 64)
    for i in range(32):
        place = 50 if i % 3 == 1 and i < 33 else 700 if i % 3 == 2 and i < 30 else 3
        angle = place * 1e7 ** (-2 * i / 64)
        for column in (i, i + 32):
            assert cos[0, column].item() == pytest.approx(math.cos(angle), abs=1e-4)
            assert sin[0, column].item() == pytest.approx(math.sin(angle), abs=1e-4)


def test_equal_axes_are_plain_rotary(large: TextConfig) -> None:
    rotary = TextRotary(large, torch.bfloat16)
    cos, sin = rotary.tables(torch.arange(5).expand(3, -1))
    assert cos.dtype == sin.dtype == torch.bfloat16
    assert torch.equal(cos[0], torch.ones(64, dtype=torch.bfloat16))
    assert torch.equal(sin[0], torch.zeros(64, dtype=torch.bfloat16))


def test_the_same_position_has_the_same_table_at_any_length(large: TextConfig) -> None:
    """Vector ends round like vector middles on these angles: position 40 is position 40 in 41 or 300 tokens."""
    rotary = TextRotary(large, torch.bfloat16)
    short, long = (rotary.tables(torch.arange(n).expand(3, -1))[0][40] for n in (41, 300))
    assert torch.equal(short, long)


def test_vision_turns_half_with_rows_and_half_with_columns() -> None:
    rotary = VisionRotary(TINY.vision)
    quarter = TINY.vision.head_dim // 4
    cos, sin = rotary.tables(torch.tensor([[0, 0], [7, 0], [0, 7]]))
    assert cos.shape == (3, TINY.vision.head_dim)
    assert torch.equal(sin[0], torch.zeros_like(sin[0]))
    assert torch.equal(sin[1, quarter : 2 * quarter], torch.zeros(quarter))
    assert torch.equal(sin[1, :quarter], sin[2, quarter : 2 * quarter])
    assert torch.equal(cos[:, : 2 * quarter], cos[:, 2 * quarter :])
    assert sin[1, 0].item() == pytest.approx(math.sin(7), abs=1e-6)
