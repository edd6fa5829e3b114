"""Whether a change is harmless: on the FP64 oracle it moves the final-norm row by less than 1e-9 of its length.

In real numbers a harmless form is the same function, so in FP64 only rounding of 1e-16 is left; a change that does
something shows at once. Covers: the oracle's rows under a form, and the largest relative change.
Does not cover: what the reference makes of the form (`asking`). That its own batches are harmless too is tested on
Transformers' model in FP64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kit.campaign.floor.asking import Question, prepared_of
from kit.campaign.oracle_errors import relative_l2

if TYPE_CHECKING:
    from torch import Tensor

    from kit.engine.oracle import Form, Oracle

BOUND = 1e-9
PROMPTS = 60  # generated questions a form is proved on: every wording twice


@dataclass(frozen=True)
class Proof:
    """largest: relative change of an oracle row, over `prompts` of them."""

    prompts: int
    largest: float

    @property
    def holds(self) -> bool:
        return self.prompts > 0 and self.largest < BOUND

    def to_json(self) -> dict[str, Any]:
        return {"prompts": self.prompts, "largest": self.largest, "bound": BOUND, "holds": self.holds}


def oracle_rows(oracle: Oracle, asked: Sequence[Question], form: Form) -> list[Tensor]:
    """FP64 final-norm row of every question under a form of the oracle."""
    prepared = [prepared_of(question, oracle.prepare) for question in asked]
    return [result.hidden for (result,) in oracle.decide_all(prepared, form)]


def proof_of(changed: Sequence[Tensor], alone: Sequence[Tensor]) -> Proof:
    """How far a form moves the oracle's rows."""
    return Proof(len(alone), max((relative_l2(a, b) for a, b in zip(changed, alone, strict=True)), default=0.0))
