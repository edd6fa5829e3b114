"""The reference asked every question of a floor: alone, and in the forms of this process.

Covers: the questions (generated ones, then those of the protocol), an answer as logits and final-norm row, and asking.
Does not cover: other processes (`other_cpu`), other draws (`running`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kit.campaign.floor import forms
from kit.campaign.generated.proved import Proved, shape_of
from kit.campaign.generated.source import declared
from kit.campaign.prompts import content_of
from kit.campaign.protocol import protocol_of

if TYPE_CHECKING:
    from torch import Tensor

    from kit.campaign.generated.official import Official
    from kit.engine.base import Prepared, PreparedQuestion, QuestionResult
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile


@dataclass(frozen=True)
class Question:
    """One question of a floor. source: "generated" or "protocol"; index: its place in the request."""

    request: str
    name: str
    index: int
    modality: str
    source: str
    content: str
    body: bytes


@dataclass(frozen=True)
class Answer:
    """logits: of the candidates. row: bytes of the final-norm row, in the model's dtype."""

    logits: tuple[float, ...]
    row: bytes


def questions(profile: Profile, prompts: int, *, protocol: bool = True) -> list[Question]:
    """The first `prompts` generated questions of the profile, then every question of its protocol, unless left out."""
    found = [
        Question(case.id, case.questions[0].id, 0, case.modality, "generated", content_of(case), case.body)
        for case in declared(profile.generated, prompts)
    ]
    for case in protocol_of(profile).cases if protocol else ():
        for index, question in enumerate(case.questions):
            found.append(Question(case.id, question.id, index, case.modality, "protocol", case.id, case.body))
    return found


def prepared_of(question: Question, prepare: Callable[[bytes], Prepared]) -> Prepared:
    """A request with this question alone."""
    whole = prepare(question.body)
    return dataclasses.replace(whole, questions=(whole.questions[question.index],))


def alone(official: Official, asked: Sequence[Question]) -> Iterator[Answer]:
    """Every question by itself, as a campaign asks it."""
    for question in asked:
        prepared = prepared_of(question, official.reference.prepare)
        yield _answer(official.answer(prepared) if _recorded(question) else official.call(prepared))


def batched(
    engine: ReferenceEngine, asked: Sequence[Question], form: str, capture: bool | None = None
) -> Iterator[Answer]:
    """Every question as row 0 of a batch: form "row0" or "padded".

    capture: replay shapes instead of calling, each once its first answer was shown to be the called one's (default:
    where the reference is on CUDA).
    """
    batches = Batches(engine, form, engine.device.type == "cuda" if capture is None else capture)
    try:
        yield from map(batches.answer, asked)
    finally:
        batches.close()


def _recorded(question: Question) -> bool:
    """Whether a recording pays: generated questions share few lengths, those of a protocol hardly any."""
    return question.source == "generated"


class Batches:
    """The reference on batches of two, called or replayed."""

    def __init__(self, engine: ReferenceEngine, form: str, capture: bool) -> None:
        from kit.engine.baseline_batch import CapturedBatches

        self._engine, self._change = engine, {"row0": forms.doubled, "padded": forms.padded}[form]
        self._captured = CapturedBatches(engine) if capture else None
        self.answers = Proved(self._called, self._replayed if capture else None)

    def answer(self, question: Question) -> Answer:
        import torch

        prepared = prepared_of(question, self._engine.prepare)
        with torch.inference_mode():
            return self.answers.answer(prepared, shape_of(prepared)) if _recorded(question) else self._called(prepared)

    def _called(self, prepared: Prepared) -> Answer:
        return _first(prepared.questions[0], *self._engine.forward(self._inputs(prepared)))

    def _replayed(self, prepared: Prepared) -> Answer:
        assert self._captured is not None
        return _first(prepared.questions[0], *self._captured.forward(self._inputs(prepared), prepared.grids * 2))

    def _inputs(self, prepared: Prepared) -> dict[str, Tensor]:
        return self._change(self._engine.inputs(prepared, prepared.questions[0]))

    def close(self) -> None:
        if self._captured is not None:
            self._captured.close()


def _first(item: PreparedQuestion, logits: Tensor, rows: Tensor) -> Answer:
    from kit.engine.hidden_rows import row_bytes

    chosen = logits[0, list(item.label_ids)].float().tolist()
    return Answer(tuple(chosen), row_bytes(rows[0]))


def _answer(result: QuestionResult) -> Answer:
    return Answer(result.logits, result.hidden)
