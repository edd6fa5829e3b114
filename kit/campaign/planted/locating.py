"""The first stage whose bits are not a faultless engine's: where a bisection would look for the fault.

Covers: one request, asked after those that came before it in the trial, because some faults need a predecessor;
the engine is watched on what it prepares itself.
Does not cover: how stages are made (`kit.engine.trace`), or the size of a difference (`kit.campaign.layer_drift`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kit.contract.errors import ContractError
from kit.engine.trace import TraceError, traces

if TYPE_CHECKING:
    from kit.campaign.planted.asking import Ask
    from kit.campaign.planted.site import Subject
    from kit.engine.native import NativeEngine

BEHIND = "behind the logits"
REFUSAL = "the refusal"
EARLIER = 2  # requests before it that are asked again first


def first_stage(faultless: NativeEngine, subject: Subject, asks: Sequence[Ask], place: int) -> str:
    """Name of the first stage that differs on `asks[place]`; BEHIND where none does, REFUSAL where one side refuses."""
    for ask in asks[max(0, place - EARLIER) : place]:
        subject.post(ask.body)
    ask = asks[place]
    try:
        theirs = traces(faultless, faultless.prepare(ask.expected), keep="digest")
        ours = traces(subject.engine, subject.prepare(ask.body), keep="digest")
    except ContractError:
        return REFUSAL
    except TraceError as error:
        return f"({error})"
    except Exception as error:  # an engine that fails has no stages to show
        return f"(fails: {type(error).__name__})"
    for mine, right in zip(ours, theirs, strict=False):
        for name, value in right.items():
            if not value.equal(mine[name]):
                return name
    return BEHIND
