"""Every op of the table against the reference's own module or function, bit by bit, on real weights.

Covers: `compare_and_measure(run)`, the operators stage, which loads the reference once, for signal.json too
(`kit.campaign.signal`), and `compare_with(engine, profile)`, for a caller that has it loaded: the reference runs
random tokens and pixels of odd sizes, its modules' inputs and outputs are recorded, each op repeats its part from
the same inputs, and elements that differ are counted; again over repeated runs, on changed inputs, and from a
graph. Also the rotary tables and the label head, which are not ops, and what the guards of the kit's kernels
decided on the way.
Does not cover: the whole forward (the campaign compares hidden rows) or speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from kit.campaign.integrity import OPERATOR_MISSES
from kit.campaign.operator_checks import SEED, OperatorChecks
from kit.campaign.signal import measure_signal
from kit.engine import reference
from kit.evidence.records import write_json
from kit.kernels import Ops

if TYPE_CHECKING:
    from kit.campaign.run_folder import Run
    from kit.engine.base import Grid
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

FORMAT = "kit-operators/1"
BESIDES = ("text_rotary", "vision_rotary_tables", "label_head")  # compared, though not ops of the table
COUNTS = ("elements", *OPERATOR_MISSES)
TOKENS = (1, 2, 3, 63, 64, 65, 98, 129, 278, 475)
GRID_LISTS: tuple[tuple[Grid, ...], ...] = (
    ((1, 16, 16),),
    ((1, 16, 32),),
    ((1, 2, 2), (1, 6, 10)),
    ((1, 10, 26), (1, 16, 16), (1, 4, 14), (1, 32, 8)),
)


def compare_and_measure(run: Run) -> dict[str, Any]:
    """Writes signal.json and returns the content of operators.json.

    Loads the reference only: ops read its weights, so that one copy is in memory.
    """
    engine = reference.load(run.profile)
    try:
        write_json(run.path / "signal.json", measure_signal(engine, run.protocol))
        return compare_with(engine, run.profile)
    finally:
        engine.close()


def compare_with(
    engine: ReferenceEngine,
    profile: Profile,
    tokens: Sequence[int] = TOKENS,
    grid_lists: Sequence[tuple[Grid, ...]] = GRID_LISTS,
) -> dict[str, Any]:
    """The content of operators.json from a loaded reference, which stays as it was."""
    bench = OperatorChecks(engine, profile)
    try:
        with torch.inference_mode():
            for count in tokens:
                bench.language(count)
            for grids in grid_lists:
                bench.vision(grids)
            bench.label_head()
            bench.finite_scan()
    finally:
        bench.close()
    return {
        "format": FORMAT,
        "device": profile.runtime.device,
        "dtype": profile.runtime.dtype,
        "seed": SEED,
        "checks": bench.checks,
        "totals": totals(bench.checks),
        "ops": list(Ops.names()),
        "proofs": bench.ops.proofs.describe() if bench.ops.proofs else [],
    }


def totals(checks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Number of checks, and the sums of everything they count."""
    return {"checks": len(checks)} | {name: sum(check[name] for check in checks) for name in COUNTS}
