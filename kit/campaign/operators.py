"""Every op of the table against the reference's own module or function, bit by bit, on real weights.

Covers: `compare_operators(profile)`: the reference model runs random tokens and pixels of odd sizes, its
modules' inputs and outputs are recorded, each op repeats its part from the same inputs on NaN-filled buffers,
and elements that differ are counted. Also the rotary tables and the label head, which are not ops.
Does not cover: the whole forward (the campaign compares hidden rows) or speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from kit.campaign.operator_checks import SEED, OperatorChecks
from kit.engine import reference
from kit.kernels import Ops

if TYPE_CHECKING:
    from kit.engine.base import Grid
    from kit.profile import Profile

FORMAT = "kit-operators/1"
TOKENS = (1, 2, 3, 63, 64, 65, 98, 129, 278, 475)
GRID_LISTS: tuple[tuple[Grid, ...], ...] = (
    ((1, 16, 16),),
    ((1, 16, 32),),
    ((1, 2, 2), (1, 6, 10)),
    ((1, 10, 26), (1, 16, 16), (1, 4, 14), (1, 32, 8)),
)


def compare_operators(
    profile: Profile, tokens: Sequence[int] = TOKENS, grid_lists: Sequence[tuple[Grid, ...]] = GRID_LISTS
) -> dict[str, Any]:
    """The content of operators.json. Loads the reference only: ops read its weights, one copy is in memory."""
    engine = reference.load(profile)
    try:
        bench = OperatorChecks(engine, profile)
        with torch.inference_mode():
            for count in tokens:
                bench.language(count)
            for grids in grid_lists:
                bench.vision(grids)
            bench.label_head()
    finally:
        engine.close()
    return {
        "format": FORMAT,
        "device": profile.runtime.device,
        "dtype": profile.runtime.dtype,
        "seed": SEED,
        "checks": bench.checks,
        "ops": list(Ops.names()),
    }
