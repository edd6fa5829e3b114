"""A few requests walked by two or more engines of this process, and layers.json of what came of it.

Covers: sides (any engine of `kit.engine.trace`, made by whoever calls), which bound a pair gets when none is
asked for, tracing every side once and comparing each pair. Does not cover: loading engines
(`kit.campaign.bisect` does), the comparison of two traces (`kit.campaign.layer_drift`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.campaign.layer_bounds import ORACLE, Bound, bits, rounding
from kit.campaign.layer_drift import compare, layers_document, pair_entry, prompt_entry
from kit.engine.trace import Keep, Trace, traces_of_requests

if TYPE_CHECKING:
    from kit.engine.base import Prepared

BoundOf = Callable[[Sequence[str]], Bound]  # from the stages of a prompt, in walking order


@dataclass(frozen=True)
class Side:
    """An engine under the name it has in tables. dtype: of its values, "oracle" for one that does not round."""

    name: str
    engine: Any
    dtype: str

    @classmethod
    def of(cls, name: str, engine: Any) -> Side:
        """A native, graph or reference engine, however it was made, or an oracle."""
        return cls(name, engine, ORACLE if hasattr(engine, "decide_all") else engine.profile.runtime.dtype)


@dataclass(frozen=True)
class Walked:
    """A request to be walked. questions: ids of those that are, all of them if empty."""

    id: str
    prepared: Prepared

    @property
    def modality(self) -> str:
        return "image" if self.prepared.grids else "text"


def default_bound(side: Side, against: Side) -> BoundOf:
    """No bit between engines of one dtype, as both are exact; what rounding explains wherever they round differently."""
    if side.dtype == against.dtype != ORACLE:
        return lambda stages: bits()
    return lambda stages: rounding(stages, (side.dtype, against.dtype))


def compare_traces(
    side: str, against: str, requests: Sequence[Walked], ours: Sequence[Sequence[Trace]],
    theirs: Sequence[Sequence[Trace]], bound_of: BoundOf,
) -> dict[str, Any]:  # fmt: skip
    """One pair of layers.json, from a trace of every question of every request of both sides."""
    prompts, bound = [], bits()
    for request, mine, other in zip(requests, ours, theirs, strict=True):
        for item, a, b in zip(request.prepared.questions, mine, other, strict=True):
            bound = bound_of(list(a))
            drift = compare(a, b, bound)
            prompts.append(prompt_entry(request.id, item.question.id, request.modality, len(item.input_ids), drift))
    return pair_entry(side, against, bound, prompts)


def walk(
    sides: Sequence[Side], pairs: Sequence[tuple[str, str]], requests: Sequence[Walked], *,
    bounds: Mapping[tuple[str, str], BoundOf] | None = None, keep: Keep = "all",
) -> dict[str, Any]:  # fmt: skip
    """layers.json: every side walks every request once, and each pair (name, name of the other) is compared.

    bounds: of the pairs that are not to have their default. keep: see `kit.engine.trace.Trace`; what is not kept is
    not compared. Holds all traces at once: 2 bytes a value and stage, 8 for the oracle. Raises what tracing raises, and
    LayerDriftError where nothing was compared.
    """
    by_name = {side.name: side for side in sides}
    prepared = [request.prepared for request in requests]
    seen = {side.name: traces_of_requests(side.engine, prepared, keep=keep) for side in sides}
    entries = [
        compare_traces(
            name, other, requests, seen[name], seen[other],
            (bounds or {}).get((name, other)) or default_bound(by_name[name], by_name[other]),
        )
        for name, other in pairs
    ]  # fmt: skip
    return layers_document(entries, sides[0].engine.digest, keep)
