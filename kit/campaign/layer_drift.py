"""Where two forwards come apart: every stage of one against the same stage of the other.

Covers: per stage the elements that differ, the relative RMS of the difference, its size in BF16 steps with a
histogram, the first stage over its bound in walking order; layers.json (format kit-layers/1) for a few prompts and
any pairs of sides, with the ratio of errors per stage where candidate and reference both stand against the oracle;
tables for people.
Does not cover: making traces (`kit.engine.trace`), the bounds (`kit.campaign.layer_bounds`), drawing
(`kit.campaign.layer_figures`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch

from kit.evidence.floats import BF16_FRACTION_BITS, BF16_MIN_NORMAL_EXPONENT
from kit.kernels.proof import bits as bits_of

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from kit.campaign.layer_bounds import Bound
    from kit.engine.trace import Trace

FORMAT = "kit-layers/1"
STEPS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)  # upper ends of the histogram's bins; one more for what is above
FP64_EXPONENT = 0x7FF << 52
COLUMNS = ("elements", "different", "relative_rms", "max_steps", "limit", "over")
BRANCHES = ("mixer", "mlp", "residual", "state")


class LayerDriftError(ValueError):
    """The two traces cannot be compared; the message says why."""


@dataclass(frozen=True)
class StageDrift:
    """One stage of two traces.

    different: elements whose bits differ (of equal dtypes), or whose values do. relative_rms: norm of the difference
    over the norm of the other side's; None where nothing can be subtracted. max_steps: largest difference in BF16
    spacings at the larger of the two magnitudes. steps: elements per bin of STEPS. problem: why the stage is over
    whatever its bound says, "" if it is not. limit: relative RMS, None where no bit may differ.
    """

    stage: str
    elements: int
    different: int
    relative_rms: float | None
    max_steps: float | None
    steps: tuple[int, ...]
    limit: float | None
    problem: str = ""

    @property
    def over(self) -> bool:
        if self.problem or self.limit is None:
            return bool(self.problem) or self.different > 0
        return self.relative_rms is None or self.relative_rms > self.limit


def compare(ours: Trace, theirs: Trace, bound: Bound) -> list[StageDrift]:
    """Every stage in walking order. Raises LayerDriftError where the traces are not of one kind of prompt."""
    if ours.keep != theirs.keep:
        raise LayerDriftError(f"one trace kept {ours.keep!r} of each stage, the other {theirs.keep!r}")
    if ours.keep == "digest" and bound.limits is not None:
        raise LayerDriftError("digests show whether bits differ and nothing else: no other bound can be judged")
    if not ours or list(ours) != list(theirs):
        only = sorted(ours.keys() ^ theirs.keys())[:4]
        raise LayerDriftError(f"the traces do not have the same stages: {only or 'both are empty'}")
    whole = ours.keep == "digest"
    return [stage_drift(name, ours[name], theirs[name], bound, whole=whole) for name in ours]


def stage_drift(stage: str, ours: Tensor, theirs: Tensor, bound: Bound, *, whole: bool = False) -> StageDrift:
    """One stage. whole: the tensors are digests, of which there is one value that differs or not."""
    limit = None if bound.limits is None else bound.limits[stage]
    if ours.shape != theirs.shape:
        problem = f"shape {list(ours.shape)} against {list(theirs.shape)}"
        return StageDrift(stage, theirs.numel(), theirs.numel(), None, None, (), limit, problem)
    if whole:
        return StageDrift(stage, 1, int(not torch.equal(ours, theirs)), None, None, (), limit)
    alike = ours.dtype == theirs.dtype
    different = int((bits_of(ours) != bits_of(theirs)).sum() if alike else (ours.double() != theirs.double()).sum())
    problem = "" if alike or limit is not None else f"{_dtype(ours)} against {_dtype(theirs)}"
    a, b = ours.double(), theirs.double()
    size, other = float(torch.linalg.vector_norm(b)), float(torch.linalg.vector_norm(a))
    if not (math.isfinite(size) and math.isfinite(other)):
        problem = problem or ("not finite" if different or limit is not None else "")
        return StageDrift(stage, b.numel(), different, None, None, (), limit, problem)
    if not different:
        return StageDrift(stage, b.numel(), 0, 0.0, 0.0, (b.numel(), *[0] * len(STEPS)), limit, problem)
    distance = (a - b).abs_()
    off = float(torch.linalg.vector_norm(distance))
    steps = distance.div_(bf16_spacing(torch.maximum(a.abs(), b.abs())))
    rms = off / size if size else (math.inf if off else 0.0)
    return StageDrift(stage, b.numel(), different, rms, float(steps.max()), histogram(steps), limit, problem)


def bf16_spacing(magnitude: Tensor) -> Tensor:
    """FP64 of at least 0 -> distance of BF16 numbers there, as `kit.campaign.sensitivity` has it; the power of two
    at or below a magnitude is what its exponent bits alone say."""
    power = (magnitude.view(torch.int64) & FP64_EXPONENT).view(torch.float64)
    return power.clamp_(min=2.0**BF16_MIN_NORMAL_EXPONENT).mul_(2.0**-BF16_FRACTION_BITS)


def histogram(steps: Tensor) -> tuple[int, ...]:
    """Elements in each bin of STEPS, the last bin open."""
    below = [int((steps <= end).sum()) for end in STEPS]
    return tuple(b - a for a, b in pairwise([0, *below, steps.numel()]))


def bins() -> list[str]:
    """The bins of a histogram, in words."""
    middle = [f"to {end:g}" for end in STEPS[1:]]
    return ["none", *middle, f"over {STEPS[-1]:g}"]


def first_over(stages: Sequence[StageDrift]) -> str | None:
    """Name of the first stage over its bound."""
    return next((stage.stage for stage in stages if stage.over), None)


# ---------------------------------------------------------------- layers.json


def prompt_entry(request: str, question: str, modality: str, tokens: int, stages: Sequence[StageDrift]) -> dict[str, Any]:
    """One prompt of layers.json: columns over its stages; histograms of the first stage over and of the last row."""
    first = first_over(stages)
    entry: dict[str, Any] = {
        "request": request, "question": question, "modality": modality, "tokens": tokens, "first_over": first,
        "stages": [stage.stage for stage in stages],
    }  # fmt: skip
    entry |= {column: [_plain(getattr(stage, column)) for stage in stages] for column in COLUMNS}
    entry["histograms"] = {s.stage: list(s.steps) for s in stages if s.steps and s.stage in (first, "hidden")}
    entry["problems"] = {stage.stage: stage.problem for stage in stages if stage.problem}
    return entry


def pair_entry(engine: str, against: str, bound: Bound, prompts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One comparison of layers.json: two sides, the bound, and every prompt they were compared on."""
    return {
        "engine": engine, "against": against, "bound": bound.name, "reason": bound.reason,
        "prompts": list(prompts), "worst": worst(prompts), "over": sum(sum(prompt["over"]) for prompt in prompts),
    }  # fmt: skip


def layers_document(pairs: Sequence[Mapping[str, Any]], checkpoint_digest: str, keep: str = "all") -> dict[str, Any]:
    """layers.json. Raises LayerDriftError where nothing was compared."""
    if not pairs or not all(pair["prompts"] for pair in pairs):
        raise LayerDriftError("layers.json needs at least one pair of engines, and a prompt for each")
    return {
        "format": FORMAT,
        "checkpoint_digest": checkpoint_digest,
        "rows": keep,
        "steps": list(STEPS),
        "pairs": list(pairs),
        "oracle_ratio": oracle_ratio(pairs),
    }


def worst(prompts: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Stage -> largest relative RMS over all prompts, in walking order; None where nothing could be subtracted."""
    longest: Sequence[str] = max((prompt["stages"] for prompt in prompts), key=len, default=[])
    found: dict[str, list[float | None]] = {stage: [] for stage in longest}
    for prompt in prompts:
        for stage, value in zip(prompt["stages"], prompt["relative_rms"], strict=True):
            found[stage].append(value)
    return {
        stage: None if None in values else max(value for value in values if value is not None)
        for stage, values in found.items()
    }


def oracle_ratio(pairs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """engine -> stage -> median over prompts of its error over the reference's, both against the oracle.

    Empty without the reference's pair. None where the reference has no error (token embeddings).
    """
    errors = {pair["engine"]: _errors(pair) for pair in pairs if pair["against"] == "oracle"}
    reference = errors.pop("reference", None)
    if reference is None:
        return {}
    return {engine: _median_ratios(mine, reference) for engine, mine in errors.items()}


def _errors(pair: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float | None]]:
    return {
        (prompt["request"], prompt["question"]): dict(zip(prompt["stages"], prompt["relative_rms"], strict=True))
        for prompt in pair["prompts"]
    }


def _median_ratios(
    mine: Mapping[tuple[str, str], Mapping[str, float | None]],
    reference: Mapping[tuple[str, str], Mapping[str, float | None]],
) -> dict[str, float | None]:
    longest = max(mine.values(), key=len)
    found: dict[str, list[float]] = {stage: [] for stage in longest}
    for prompt in mine.keys() & reference.keys():
        for stage, error in mine[prompt].items():
            theirs = reference[prompt].get(stage)
            if error is not None and theirs:
                found[stage].append(error / theirs)
    return {stage: statistics.median(ratios) if ratios else None for stage, ratios in found.items()}


# ---------------------------------------------------------------- tables


def place(stage: str) -> tuple[str, str]:
    """(row, column) in a table with one row a layer or block: ("layer 03", "mixer"), ("embedding", "residual")."""
    name, _, part = stage.rpartition(".")
    column = "mixer" if part == "attention" else part
    if column in BRANCHES:
        return name.replace(".", " "), column
    return stage.replace(".", " "), "residual"


def table(values: Mapping[str, float | None]) -> pd.DataFrame:
    """stage -> figure as one row a layer or block and one column a branch; stages without branches stand under
    "residual". For `worst` of a pair, or the stages of `oracle_ratio`."""
    import pandas as pd

    rows: dict[str, dict[str, float | None]] = {}
    for stage, value in values.items():
        row, column = place(stage)
        rows.setdefault(row, {})[column] = value
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=list(BRANCHES))


def frame(pair: Mapping[str, Any]) -> pd.DataFrame:
    """A pair of layers.json, one row a prompt and stage."""
    import pandas as pd

    return pd.DataFrame(
        {"request": prompt["request"], "question": prompt["question"], "modality": prompt["modality"], "stage": stage}
        | {column: prompt[column][index] for column in COLUMNS}
        for prompt in pair["prompts"]
        for index, stage in enumerate(prompt["stages"])
    )


def _plain(value: Any) -> Any:
    """JSON has no infinity: a change of something that was zero throughout has no relative size."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
