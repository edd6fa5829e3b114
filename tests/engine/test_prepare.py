"""From a body to tokens, positions and pixels: budgets at their edge, all questions before anything runs."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from typing import Any

import pytest
import torch
from PIL import Image

from kit import checkpoint
from kit.checkpoint.tokens import load_tokenizer
from kit.contract.errors import ContractError
from kit.engine.prepare import Preparer
from kit.profile import Limits, Profile, load_profile


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load_profile("params/cpu-tiny.toml")


@pytest.fixture(scope="module")
def preparer(profile: Profile) -> Preparer:
    return Preparer(load_tokenizer(checkpoint.locate(profile).base), profile)


def png(width: int, height: int) -> str:
    file = io.BytesIO()
    Image.new("RGB", (width, height), (10, 20, 30)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def request(**fields: Any) -> bytes:
    question = {"type": "choice", "instructions": "Which?", "criteria": {"a": "first", "b": "second"}}
    return json.dumps({"state": "A state.", "questions": {"q": question}} | fields).encode()


def test_a_text_request(preparer: Preparer) -> None:
    prepared = preparer.prepare(request())
    (question,) = prepared.questions
    assert prepared.pixels is None
    assert prepared.grids == ()
    assert question.prompt.endswith("<think>\n\n</think>\n\n")
    assert question.label_ids == (32, 33)
    assert question.positions == (tuple(range(len(question.input_ids))),) * 3
    assert prepared.input_tokens == len(question.input_ids)


def test_images_take_their_tokens_and_positions(preparer: Preparer) -> None:
    prepared = preparer.prepare(request(images=[png(256, 256), png(100, 300)]))
    (question,) = prepared.questions
    assert prepared.grids == ((1, 16, 16), (1, 28, 10))
    assert prepared.pixels is not None
    assert prepared.pixels.shape == (256 + 280, 1536)
    assert prepared.pixels.dtype == torch.float32
    pad = preparer.tokenizer.image_token_id
    assert question.input_ids.count(pad) == 64 + 70
    assert question.prompt.count("<|image_pad|>") == 2
    first = question.input_ids.index(pad)
    time, height, width = (axis[first : first + 64] for axis in question.positions)
    assert set(time) == {first}
    assert height == tuple(first + i // 8 for i in range(64))
    assert width == tuple(first + i % 8 for i in range(64))


@pytest.mark.parametrize("images", [0, 1], ids=["text", "image"])
def test_the_budget_holds_to_the_token(profile: Profile, preparer: Preparer, images: int) -> None:
    body = request(images=[png(256, 256)] * images)
    tokens = preparer.prepare(body).input_tokens
    for spare, name in ((0, "at"), (1, "over")):
        limits = Limits(*((tokens - spare, 9999) if not images else (9999, tokens - spare)))
        tight = Preparer(preparer.tokenizer, dataclasses.replace(profile, limits=limits))
        if name == "at":
            assert tight.prepare(body).input_tokens == tokens
            continue
        with pytest.raises(
            ContractError, match=f"{tokens} tokens, over the budget of {tokens - 1}"
        ) as caught:
            tight.prepare(body)
        assert caught.value.status == 422


def test_the_declared_budgets_are_the_contracts(profile: Profile, preparer: Preparer) -> None:
    """One word is one token here, so the edge of 8192 can be met exactly."""
    assert (profile.limits.text_tokens, profile.limits.image_tokens) == (8192, 3072)
    base = preparer.prepare(request(state="0")).input_tokens
    fitting = request(state="0 " * (8192 - base) + "0")
    grown = preparer.prepare(request(state="0 0")).input_tokens - base
    state = " ".join(["0"] * (1 + (8192 - base) // grown))
    assert preparer.prepare(request(state=state)).input_tokens <= 8192
    assert len(fitting) < 16_000_000
    with pytest.raises(ContractError, match="over the budget of 8192 for text"):
        preparer.prepare(request(state=state + " 0" * grown))


def test_one_question_over_the_budget_refuses_the_request(profile: Profile, preparer: Preparer) -> None:
    tight = Preparer(preparer.tokenizer, dataclasses.replace(profile, limits=Limits(120, 120)))
    short = {"type": "noul", "instructions": "Well?"}
    long = {"type": "noul", "instructions": "Well? " * 100}
    assert len(tight.prepare(request(questions={"a": short})).questions) == 1
    with pytest.raises(ContractError, match="question 'b'"):
        tight.prepare(request(questions={"a": short, "b": long}))


def test_a_literal_pad_is_text_without_images_and_refused_with_them(preparer: Preparer) -> None:
    body = request(state="see <|image_pad|> here")
    question = preparer.prepare(body).questions[0]
    assert question.input_ids.count(preparer.tokenizer.image_token_id) == 1
    assert question.positions[1] == question.positions[0]
    with pytest.raises(ContractError, match="2 image placeholders for 1 images"):
        preparer.prepare(request(state="see <|image_pad|> here", images=[png(64, 64)]))


def test_an_extreme_aspect_ratio_is_refused(preparer: Preparer) -> None:
    with pytest.raises(ContractError, match="at most 200 times"):
        preparer.prepare(request(images=[png(1, 300)]))
