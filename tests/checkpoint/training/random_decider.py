"""A decider of random weights, as training would leave one: everything but sense."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kit.checkpoint.architecture import adapter_shapes
from kit.checkpoint.training import export
from kit.checkpoint.training.encode import Encoded
from kit.checkpoint.training.network import Decider
from kit.engine.base import Grid

CONFIG = export.decider_config()
CALIBRATION = {"format": "decision-config/1", "temperature": 1.25, "mm_temperature": 1.5, "threshold": 0.9}
VISION_START, VISION_END, PAD = CONFIG["vision_start_token_id"], CONFIG["vision_end_token_id"], CONFIG["image_token_id"]


def network(seed: int = 1, dtype: torch.dtype = torch.float32) -> Decider:
    """A network whose every parameter matters, with values that BF16 holds exactly."""
    torch.manual_seed(seed)
    made = Decider(CONFIG, dtype)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
            parameter.copy_(parameter.bfloat16())
    return made


def adapter(seed: int = 2, rank: int = 16) -> dict[str, Tensor]:
    """LoRA pairs under PEFT's names; each moves its projection by some percents."""
    generator = torch.Generator().manual_seed(seed)
    shapes = adapter_shapes(CONFIG, rank)
    return {
        name: torch.randn(shape, generator=generator) * (0.1 if "lora_B" in name else 1) / shape[1] ** 0.5
        for name, shape in shapes.items()
    }


def checkpoint(folder: Path, seed: int = 1) -> str:
    """Write one in the format that is shipped; returns its digest."""
    return export.write(network(seed).state_dict(), adapter(), CALIBRATION, folder)


def prompt(words: int, grids: Sequence[tuple[int, int]] = (), seed: int = 0) -> Encoded:
    """A prompt of random tokens behind images of noise; grids: (rows, columns) of patches."""
    rng = np.random.default_rng([seed, words])
    shapes: tuple[Grid, ...] = tuple((1, rows, columns) for rows, columns in grids)
    ids = [5]
    for rows, columns in grids:
        ids += [VISION_START, *[PAD] * (rows * columns // 4), VISION_END]
    ids += [int(token) for token in rng.integers(60, 4000, words)]
    patches = sum(rows * columns for rows, columns in grids)
    pixels = rng.integers(0, 256, (patches, 768), dtype=np.uint8) if grids else None
    last = len(ids) - 1
    made: dict[str, Any] = {"family": "random", "level": 0, "question": "q", "right": 2, "lines": [last - 4, last - 2, last]}
    return Encoded(ids=ids, answer=last, pixels=pixels, grids=shapes, **made)
