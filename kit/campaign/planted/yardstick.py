"""What answers are held to: the reference's, the oracle's, and how far those two are apart.

Covers: one reference decision a request, one walk of the oracle over all of them, and the two bounds of tier 2 that
follow from them. No fault is looked at for either:

- steps: an engine as near to the truth as the reference can be up to twice the reference's largest distance away
  from it, in BF16 steps of a logit difference, text and images apart;
- rows: the bound of class `faithful`.

Does not cover: judging (`kit.campaign.planted.tiers`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kit.campaign.oracle_errors import Errors, errors
from kit.campaign.planted.site import Served, Subject
from kit.campaign.sensitivity import changed_steps

if TYPE_CHECKING:
    import torch

    from kit.engine.base import Prepared, QuestionResult
    from kit.engine.oracle import Oracle, OracleResult
    from kit.engine.reference import ReferenceEngine

APART = 2.0  # two engines equally far from the truth are at most so many times that far from each other
Modality = str  # "text" or "image"


@dataclass(frozen=True)
class Expected:
    """One request's right outcome. prepared, truth, errors: for a request that is answered.

    content: requests about the same state share it.
    """

    served: Served
    modality: Modality
    content: str
    prepared: Prepared | None = None
    truth: tuple[OracleResult, ...] = ()
    errors: tuple[Errors, ...] = ()


class Yardstick:
    """The right outcome of every body, asked once of the reference and of the oracle."""

    def __init__(self, reference: ReferenceEngine, oracle: Oracle, bodies: Iterable[bytes], dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.calibration = reference.calibration
        self._subject = Subject(reference, watched=False)
        self._found = {body: self._asked(body) for body in dict.fromkeys(bodies)}
        self._add_truth(oracle)
        self.steps = {modality: APART * self._furthest(modality) for modality in ("text", "image")}

    def __getitem__(self, body: bytes) -> Expected:
        """The right outcome; of a body that was not announced the reference's, without the oracle's."""
        if body not in self._found:
            self._found[body] = self._asked(body)
        return self._found[body]

    def _asked(self, body: bytes) -> Expected:
        served = self._subject.post(body)
        request = json.loads(body)
        modality = "image" if request.get("images") else "text"
        content = json.dumps(request.get("state"))
        prepared = self._subject.prepare(body) if served.status == 200 else None
        return Expected(served, modality, content, prepared)

    def _add_truth(self, oracle: Oracle) -> None:
        answered = {body: item for body, item in self._found.items() if item.prepared is not None}
        truths = oracle.decide_all([item.prepared for item in answered.values() if item.prepared])
        for (body, item), truth in zip(answered.items(), truths, strict=True):
            found = tuple(errors(t, q, self.dtype) for t, q in zip(truth, item.served.questions, strict=True))
            self._found[body] = Expected(item.served, item.modality, item.content, item.prepared, truth, found)

    def _furthest(self, modality: Modality) -> float:
        """The reference's largest distance from the oracle, in steps; 0 where no request is of this modality."""
        pairs: list[tuple[OracleResult, QuestionResult]] = [
            pair
            for item in self._found.values()
            if item.modality == modality
            for pair in zip(item.truth, item.served.questions, strict=False)
        ]
        return max((changed_steps(result.logits, truth.logits) for truth, result in pairs), default=0.0)
