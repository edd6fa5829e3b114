"""Every limit of a request, at its edge and one over it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.contract.errors import ContractError
from kit.contract.prompt import user_message
from kit.contract.request import MAX_BODY_BYTES, MAX_PROMPT_BYTES, parse_request
from tests.contract.bodies import NAMES, body, encoded, parse, question


def refusal(document: Any) -> str:
    with pytest.raises(ContractError) as caught:
        parse(document)
    assert caught.value.status == 422
    return caught.value.detail


def padded(size: int) -> bytes:
    """A valid body of exactly `size` bytes; the padding sits in a key nobody reads."""
    return encoded(body(padding="x" * (size - len(encoded(body(padding=""))))))


def test_body_size() -> None:
    assert parse_request(padded(16_000_000), NAMES).body == padded(MAX_BODY_BYTES)
    with pytest.raises(ContractError, match="16000001 bytes; at most 16000000") as caught:
        parse_request(padded(16_000_001), NAMES)
    assert (caught.value.status, caught.value.error) == (413, "ValueError")


def test_questions() -> None:
    one = {"type": "noul"}
    assert len(parse(body(questions={f"q{i}": one for i in range(64)})).questions) == 64
    assert (
        refusal(body(questions={f"q{i}": one for i in range(65)}))
        == "questions has 65 entries; expected 1 to 64"
    )
    assert refusal(body(questions={})) == "questions has 0 entries; expected 1 to 64"


@pytest.mark.parametrize("count", [2, 3, 26, 32])
def test_candidates(count: int) -> None:
    assert len(question(criteria={str(i): i for i in range(count)}).candidates) == count
    assert len(question(type="score", criteria=list(range(count))).candidates) == count


@pytest.mark.parametrize("count", [0, 1, 33])
def test_candidates_over_the_edge(count: int) -> None:
    says = f"question 'q' has {count} criteria; expected 2 to 32"
    assert refusal(body(questions={"q": {"criteria": {str(i): i for i in range(count)}}})) == says
    assert refusal(body(questions={"q": {"type": "score", "criteria": list(range(count))}})) == says


def test_prompt_text_of_all_questions_together() -> None:
    questions = {"a": {"type": "noul"}, "b": {"type": "noul"}}
    empty = parse(body(state="", questions=questions))
    room = (MAX_PROMPT_BYTES - sum(len(user_message("", item)) for item in empty.questions)) // 2
    at_edge = parse(body(state="x" * room, questions=questions))
    assert sum(len(user_message(at_edge.state, item)) for item in at_edge.questions) == MAX_PROMPT_BYTES
    says = "the prompts of this request exceed 16777216 bytes of text in all"
    assert refusal(body(state="x" * (room + 1), questions=questions)) == says
    # Bytes count, not characters: half as many characters of two bytes do not fit either.
    assert refusal(body(state="é" * (room // 2 + 1), questions=questions)) == says


@pytest.mark.parametrize("model", [None, "JEMM", "jemm"])
def test_model_names_that_are_ours(model: str | None) -> None:
    assert parse(body(model=model)).questions


@pytest.mark.parametrize("model", ["", "Jemm", "JEMM ", "gpt", True, 1, ["JEMM"], {}])
def test_model_names_that_are_not(model: Any) -> None:
    assert refusal(body(model=model)).startswith("model is ")


def test_unknown_keys_are_ignored() -> None:
    assert parse(body(temperature=9, stream=True, extra={"deep": []})).questions == parse(body()).questions


def test_the_body_is_kept_as_it_came() -> None:
    raw = b' { "questions" : { "q" : { "type" : "noul" } } , "model" : null } '
    assert parse_request(raw, NAMES).body == raw


def test_images_may_be_absent_null_or_empty() -> None:
    for document in (body(), body(images=None), body(images=[])):
        assert parse(document).images == ()
