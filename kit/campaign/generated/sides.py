"""Reference and candidate in one process, on one copy of the weights, answering the same prepared request.

Covers: `Sides`, which loads the reference, builds the candidate over its tensors, and answers. On CUDA the reference
is captured, one recording a shape, and a shape is replayed only after its first question gave the called
reference's very bits; where it did not, the reference is called. Does not cover: which questions (`session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.campaign.generated.lines import candidate_of
from kit.engine.baseline import CapturedReference
from kit.engine.graph import GraphEngine
from kit.engine.native import NativeEngine
from kit.engine.reference import ReferenceEngine
from kit.engine.shared_weights import shared_stores

if TYPE_CHECKING:
    from kit.engine.base import Prepared, QuestionResult
    from kit.profile import Profile


class Sides:
    """capture: replay the reference's shapes instead of calling it (default: on CUDA)."""

    def __init__(self, profile: Profile, capture: bool | None = None) -> None:
        self.reference = ReferenceEngine(profile)
        shared = shared_stores(self.reference.model)
        kind = GraphEngine if candidate_of(profile.campaign.engines) == "graph" else NativeEngine
        self.candidate = kind(profile, shared=shared)
        wanted = profile.runtime.device == "cuda" if capture is None else capture
        self._captured = CapturedReference(self.reference, rows=True) if wanted else None
        self._proved: dict[tuple[int, ...], bool] = {}  # shape -> whether its replay may stand for a call
        self._replays = 0

    def answer(self, prepared: Prepared) -> tuple[QuestionResult, QuestionResult]:
        """The one question of a request by both: reference, candidate."""
        (candidate,) = self.candidate.decide(prepared).questions
        return self._official(prepared), candidate

    def _official(self, prepared: Prepared) -> QuestionResult:
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
        """Recordings first, then the engines."""
        if self._captured is not None:
            self._captured.close()
        self.candidate.close()
        self.reference.close()
