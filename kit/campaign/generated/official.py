"""The reference, called or replayed: as fast as a captured forward allows, and never other bits than a call gives.

Covers: `Official`. A shape is replayed only after its first question gave the called reference's very bits; where it
did not, the reference is called. Does not cover: capturing (`kit.engine.baseline`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

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
        self._proved: dict[tuple[int, ...], bool] = {}  # shape -> whether its replay may stand for a call
        self._replays = 0

    def answer(self, prepared: Prepared, question: int = 0) -> QuestionResult:
        """One question of a request."""
        if len(prepared.questions) > 1:
            prepared = dataclasses.replace(prepared, questions=(prepared.questions[question],))
        key = (prepared.input_tokens, *(side for grid in prepared.grids for side in grid))
        if self._captured is None or self._proved.get(key) is False:
            return self._called(prepared)
        if key not in self._proved:
            called = self._called(prepared)
            self._proved[key] = self._replayed(prepared) == called
            return called
        self._replays += 1
        return self._replayed(prepared)

    def _called(self, prepared: Prepared) -> QuestionResult:
        (result,) = self.reference.decide(prepared).questions
        return result

    def _replayed(self, prepared: Prepared) -> QuestionResult:
        assert self._captured is not None
        (result,) = self._captured.results(prepared)
        return result

    def facts(self) -> dict[str, Any]:
        """How the reference was run: questions replayed, shapes proved, shapes whose replay gave other bits."""
        return {
            "reference": "captured" if self._captured else "called",
            "replays": self._replays,
            "shapes": sum(self._proved.values()),
            "shapes_refused": sum(not proved for proved in self._proved.values()),
        }

    def close(self) -> None:
        """Free the recordings; the reference stays."""
        if self._captured is not None:
            self._captured.close()
