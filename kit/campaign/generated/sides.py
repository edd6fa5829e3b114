"""Reference and candidate in one process, on one copy of the weights, answering the same prepared request.

Covers: `Sides`, which loads the reference, builds the candidate over its tensors, and answers. Does not cover: when
the reference is replayed (`official`), or which questions are asked (`session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.campaign.generated.lines import candidate_of
from kit.campaign.generated.official import Official
from kit.engine import load_beside
from kit.engine.reference import ReferenceEngine

if TYPE_CHECKING:
    from kit.engine.base import Prepared, QuestionResult
    from kit.profile import Profile


class Sides:
    """capture: see `Official`."""

    def __init__(self, profile: Profile, capture: bool | None = None) -> None:
        self.reference = ReferenceEngine(profile)
        self.official = Official(self.reference, capture)
        self.candidate = load_beside(candidate_of(profile.campaign.engines), profile, self.reference)

    def answer(self, prepared: Prepared) -> tuple[QuestionResult, QuestionResult]:
        """The one question of a request by both: reference, candidate."""
        (candidate,) = self.candidate.decide(prepared).questions
        return self.official.answer(prepared), candidate

    def facts(self) -> dict[str, Any]:
        """How the reference was run, see `Official.facts`."""
        return self.official.facts()

    def close(self) -> None:
        """Recordings first, then the engines."""
        self.official.close()
        self.candidate.close()
        self.reference.close()
