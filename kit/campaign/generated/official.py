"""The reference, called or replayed: as fast as a captured forward allows, and never other bits than a call gives.

Covers: `Official`. A shape is replayed only after its first question gave the called reference's very bits; where it
did not, the reference is called. Does not cover: capturing (`kit.engine.baseline`), or the rule (`proved`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from kit.campaign.generated.proved import Proved, shape_of
from kit.engine.baseline import CapturedReference

if TYPE_CHECKING:
    from kit.engine.base import Prepared, QuestionResult
    from kit.engine.reference import ReferenceEngine


class Official:
    """capture: replay shapes instead of calling (default: where the reference is on CUDA)."""

    def __init__(self, reference: ReferenceEngine, capture: bool | None = None) -> None:
        self.reference = reference
        wanted = reference.device.type == "cuda" if capture is None else capture
        self._captured = CapturedReference(reference, rows=True) if wanted else None
        self._answers = Proved(self.call, self._replayed if wanted else None)

    def answer(self, prepared: Prepared, question: int = 0) -> QuestionResult:
        """One question of a request."""
        if len(prepared.questions) > 1:
            prepared = dataclasses.replace(prepared, questions=(prepared.questions[question],))
        return self._answers.answer(prepared, shape_of(prepared))

    def call(self, prepared: Prepared) -> QuestionResult:
        """The one question of a request by a call, also for a shape that is not worth a recording."""
        (result,) = self.reference.decide(prepared).questions
        return result

    def _replayed(self, prepared: Prepared) -> QuestionResult:
        assert self._captured is not None
        (result,) = self._captured.results(prepared)
        return result

    def facts(self) -> dict[str, Any]:
        """How the reference was run: questions replayed, shapes proved, shapes whose replay gave other bits."""
        proved = self._answers.proved.values()
        return {
            "reference": "captured" if self._captured else "called",
            "replays": self._answers.replays,
            "shapes": sum(proved),
            "shapes_refused": len(proved) - sum(proved),
        }

    def close(self) -> None:
        """Free the recordings; the reference stays."""
        if self._captured is not None:
            self._captured.close()
