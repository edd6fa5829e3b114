"""Where generated questions come from: composed from word lists, or labelled ones of a training package's held-out split.

Covers: the declared questions of a profile in order, under ids of one form (`text-0003`, `image-0001`), four of text
and two with images in turn. Held-out ones are of wordings, words and layouts that no training sample has, family after
family and level after level; each asks one question with a known answer, and a request that came before is passed
over. Does not cover: composing (`kit.campaign.prompts`) or making samples (`kit.checkpoint.training`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kit.campaign import prompts
from kit.campaign.protocol import Case
from kit.contract.request import compile_questions

if TYPE_CHECKING:
    from kit.campaign.prompts import Modality
    from kit.profile import Generated

HELD_OUT = "kit-held-out/1"
SHIFT = 10**6  # samples of a family apart from those of another seed


def generator_of(wanted: Generated) -> str:
    """Name and version of what makes the questions, as the header of their record has it."""
    return HELD_OUT if wanted.source == "held-out" else prompts.GENERATOR


def declared(wanted: Generated, count: int | None = None) -> Iterator[Case]:
    """The first `count` questions a profile declares, all of them by default; more of them begin with the same."""
    asked = wanted.questions if count is None else count
    if wanted.source == "composed":
        return prompts.generate_mixed(asked, seed=wanted.seed)
    return held_out(asked, seed=wanted.seed)


def held_out(count: int, *, seed: int) -> Iterator[Case]:
    """`count` labelled requests of the held-out split one by one: four of text, then two with images, and so on."""
    from kit.checkpoint.training.tasks import SCREENS, TEXT

    text = _stream("text", list(TEXT), seed)
    image = _stream("image", list(SCREENS), seed)
    block = prompts.TEXT_OF_BLOCK + prompts.IMAGE_OF_BLOCK
    for index in range(count):
        yield next(text if index % block < prompts.TEXT_OF_BLOCK else image)


def _stream(modality: Modality, families: list[str], seed: int) -> Iterator[Case]:
    """Cases of one modality and one question without end, the families in turn and each from level to level.

    A sample that asks several questions is passed over.
    """
    from kit.checkpoint.training.mixture import LEVELS, drawn

    given: set[bytes] = set()
    number = 0
    while True:
        turn, place = divmod(number, len(families))
        number += 1
        sample = drawn(families[place], "held-out", seed * SHIFT + turn, turn % LEVELS[families[place]])
        body = sample.body()
        if body not in given and len(sample.questions) == 1:
            questions = compile_questions(dict(sample.questions))
            yield Case(f"{modality}-{len(given):04d}", modality, dict(sample.expected), body, questions)
            given.add(body)
