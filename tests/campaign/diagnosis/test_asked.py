"""What tests/gpu asks to tell the forms apart: each form changes enough of its questions, as a form on fewer is never named."""

from __future__ import annotations

import json

import pytest

from kit import checkpoint
from kit.campaign.diagnosis.forms import FORMS, Form
from kit.campaign.diagnosis.matching import LEAST
from kit.campaign.protocol import Case
from kit.checkpoint.tokens import load_tokenizer
from kit.engine.prepare import Preparer
from kit.profile import Profile
from tests.campaign.diagnosis.asked import ASKED, asked

SHARE = 1e-4  # of the pixel values: a change of fewer may be lost where the model rounds
SPARE = 2  # questions more than a form must bring nearer, as rounding may hide a change from one or two


@pytest.fixture(scope="module")
def preparer(profile: Profile) -> Preparer:
    """No model: prompts, images and grids are prepared alike for every size of it."""
    return Preparer(load_tokenizer(checkpoint.locate(profile).base), profile)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return asked()


def changes(form: Form, case: Case, preparer: Preparer) -> int:
    """Questions of a request that a form changes. A change of the model changes all of them."""
    prepared = preparer.prepare(case.body)
    if form.request is not None:
        request = json.loads(case.body)
        return len(case.questions) if form.request(request) != request else 0
    if form.pixels is not None:
        if prepared.pixels is None:
            return 0
        differs = form.pixels(prepared).bfloat16() != prepared.pixels.bfloat16()
        return len(case.questions) if differs.float().mean() > SHARE else 0
    if form.prompt is not None:
        return sum(form.prompt(item.prompt) != item.prompt for item in prepared.questions)
    return len(case.questions)


def test_all_that_is_asked_is_in_the_protocol(cases: list[Case]) -> None:
    assert {case.id for case in cases} == set(ASKED)
    assert {case.modality for case in cases} == {"text", "image"}


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
def test_every_form_changes_enough_questions_to_be_named(form: Form, cases: list[Case], preparer: Preparer) -> None:
    assert sum(changes(form, case, preparer) for case in cases) >= LEAST + SPARE
