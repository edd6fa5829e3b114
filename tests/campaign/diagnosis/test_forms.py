"""Forms: each is the reference with exactly one change, proven against the libraries' own switches, and undone after."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kit.campaign.diagnosis.forms import FORMS, PLAIN, Form, changed, library
from kit.campaign.protocol import Case, protocol_of
from kit.engine.reference import adapter_state

if TYPE_CHECKING:
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

BY_NAME = {form.name: form for form in FORMS}
TEXT, RESIZED = "severity-score-3", "signal-data-url"  # short; one image that is resized
PAIR, MANY = "images-2", "images-4"


@pytest.fixture(scope="module")
def cases(profile: Profile) -> dict[str, Case]:
    return {case.id: case for case in protocol_of(profile).cases}


def plain(official: ReferenceEngine, case: Case) -> dict[str, tuple[float, ...]]:
    return {result.question_id: result.logits for result in official.decide(official.prepare(case.body)).questions}


def scales(official: ReferenceEngine) -> set[float]:
    """What the adapted layers weigh their pairs with."""
    return set(adapter_state(official.model)["scales"])


def test_adapter_off_is_pefts_own_switch(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    case = cases[TEXT]
    with official.model.disable_adapter():
        expected = plain(official, case)
    assert changed(official, BY_NAME["adapter-off"], case) == expected != plain(official, case)


def test_alpha_forgotten_scales_every_pair_by_one(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    before = scales(official)
    found = changed(official, BY_NAME["adapter-alpha"], cases[TEXT])
    assert scales(official) == before == {2.0}
    assert found not in (plain(official, cases[TEXT]), changed(official, BY_NAME["adapter-off"], cases[TEXT]))


def test_thinking_is_what_the_template_says(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    item = official.prepare(cases[TEXT].body).questions[0]
    change = BY_NAME["thinking"].prompt
    assert change is not None
    messages = [{"role": "user", "content": "x"}]
    off, on = (
        official.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=thinking, preserve_thinking=False
        )
        for thinking in (False, True)
    )
    assert change(off) == on != off
    assert change(item.prompt) != item.prompt
    assert change(change(item.prompt)) == change(item.prompt)  # a template that thinks already is left alone


def test_images_in_another_order_are_another_request(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    case = cases[PAIR]
    request = json.loads(case.body)
    request["images"].reverse()
    expected = plain(official, Case(case.id, case.modality, {}, json.dumps(request).encode(), case.questions))
    assert changed(official, BY_NAME["images-reversed"], case) == expected
    assert changed(official, BY_NAME["images-swapped"], case) == expected  # with two images it is the same change
    assert not changed(official, BY_NAME["images-reversed"], cases[RESIZED])


def test_more_than_two_images_tell_reversed_from_swapped(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    swapped, reverse = (changed(official, BY_NAME[name], cases[MANY]) for name in ("images-swapped", "images-reversed"))
    assert swapped != reverse


@pytest.mark.parametrize("name", ["resize-pillow", "resize-bilinear"])
def test_another_resize_touches_only_what_is_resized(
    name: str, official: ReferenceEngine, cases: dict[str, Case]
) -> None:
    assert changed(official, BY_NAME[name], cases[RESIZED]) != plain(official, cases[RESIZED])
    assert not changed(official, BY_NAME[name], cases["console-256x256"])
    assert not changed(official, BY_NAME[name], cases[TEXT])


def test_the_library_holds_every_form_and_leaves_the_reference_as_it_was(
    official: ReferenceEngine, cases: dict[str, Case]
) -> None:
    few = [cases[TEXT]]
    before = plain(official, cases[TEXT])
    found = library(official, few)
    assert list(found) == [PLAIN, *BY_NAME]
    assert all(list(answers) == [(TEXT, question) for question in before] for answers in found.values())
    text = {name for name, form in BY_NAME.items() if form.model or form.prompt}
    assert {name for name, answers in found.items() if answers != found[PLAIN]} == text
    assert plain(official, cases[TEXT]) == before == {question: found[PLAIN][TEXT, question] for question in before}


def test_a_form_may_be_of_ones_own(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    shouting = Form("loud", "with a louder state", request=lambda request: request | {"state": "HELP"})
    assert list(library(official, [cases[TEXT]], [shouting])) == [PLAIN, "loud"]


def test_merged_is_pefts_own_merge(official: ReferenceEngine, cases: dict[str, Case]) -> None:
    """Last: merging in BF16 cannot be undone, so this reference is not used again."""
    case = cases[PAIR]
    found, before = changed(official, BY_NAME["adapter-merged"], case), plain(official, case)
    official.model.merge_adapter()
    assert found == plain(official, case) != before
