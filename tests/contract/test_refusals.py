"""Any body becomes a Request or a ContractError whose detail helps; never another exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.contract.bundle import bundle_message
from kit.contract.errors import ContractError, envelope
from kit.contract.request import Request, parse_request
from tests.contract.bodies import NAMES, body, encoded
from tests.contract.test_coercion import text, values

tool = st.fixed_dictionaries(
    {},
    optional={
        "name": values,
        "description": values,
        "parameters": values
        | st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(
                    text, values | st.fixed_dictionaries({"default": values}), max_size=3
                ),
                "required": values | st.lists(text | values, max_size=3),
            },
        ),
    },
).map(json.dumps)
criterion = values | st.fixed_dictionaries(
    {},
    optional={"description": values | tool, "action": values | st.fixed_dictionaries({"tool_name": values})},
)
criteria = (
    values
    | st.lists(criterion, max_size=4)
    | st.dictionaries(text, criterion, max_size=4)
    | st.fixed_dictionaries({}, optional={"true": criterion, "false": criterion})
)
kinds: st.SearchStrategy[Any] = st.sampled_from(
    ["choice", "score", "noul", "Choice", None, 1, ["choice"], {}]
)
one_question = values | st.fixed_dictionaries(
    {}, optional={"type": kinds, "instructions": values, "criteria": criteria}
)
documents = values | st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from([None, "JEMM", "x", 3, []]),
        "state": values
        | st.fixed_dictionaries({"queries": values | st.dictionaries(text, values, max_size=3)}),
        "questions": values | st.dictionaries(text, one_question, max_size=4),
        "images": st.none() | values | st.lists(text | values, max_size=6),
    },
)


def outcome(data: bytes) -> Request | ContractError:
    try:
        return parse_request(data, NAMES)
    except ContractError as error:
        return error


def checked(data: bytes) -> Request | ContractError:
    found = outcome(data)
    if isinstance(found, ContractError):
        assert found.status == 422
        assert found.error in ("ValueError", "TypeError")
        assert len(found.detail) > 15
        assert len(encoded(envelope(found)).decode()) > 0
    else:
        assert 1 <= len(found.questions) <= 64
        assert all(2 <= len(item.candidates) <= 32 for item in found.questions)
    return found


@given(documents)
def test_any_document_is_a_request_or_a_refusal(document: Any) -> None:
    checked(encoded(document))


@given(st.dictionaries(text, one_question, min_size=1, max_size=4), values)
def test_any_questions_make_a_request_a_bundle_or_a_refusal(questions: dict[str, Any], state: Any) -> None:
    checked(encoded({"questions": questions, "state": state}))
    try:
        made = bundle_message({"questions": questions, "state": state})
    except ContractError as error:
        assert len(error.detail) > 15  # noqa: PT017
    else:
        assert made.text.encode()


@given(st.data())
def test_a_valid_body_with_bytes_changed_or_cut(data: st.DataObject) -> None:
    raw = bytearray(encoded(body(images=None)))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    checked(bytes(raw[: data.draw(st.integers(1, len(raw)))]))


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        ([], "request body is a list; expected an object"),
        (None, "request body is null or missing; expected an object"),
        (body(questions=None), "questions is null or missing; expected an object of questions"),
        (body(questions=[{}]), "questions is a list; expected an object of questions"),
        (body(questions={"a": 1}), "question 'a' is a number; expected an object"),
        (
            body(questions={"a": {"type": None}}),
            "question 'a': type is null or missing; expected choice, score or noul",
        ),
        (
            body(questions={"a": {"type": "rank"}}),
            "question 'a': type is 'rank'; expected choice, score or noul",
        ),
        (body(questions={"a": {}}), "question 'a': criteria is null or missing; a choice needs an object"),
        (
            body(questions={"a": {"criteria": ["x", "y"]}}),
            "question 'a': criteria is a list; a choice needs an object",
        ),
        (
            body(questions={"a": {"type": "score", "criteria": {"x": 1}}}),
            "question 'a': criteria is an object; a score needs a list",
        ),
        (body(model="other"), "model is 'other'; this server answers as JEMM, jemm"),
        (body(model=1.5), "model is a number; expected a string"),
        (body(images="x"), "images is a string; expected a list"),
        (body(images=["x"] * 5), "images has 5 entries; at most 4 are allowed"),
        (body(images=[None]), "image 0 is not a string; expected base64 or a data:...;base64, URL"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_detail_says_what_where_and_what_was_expected(document: Any, detail: str) -> None:
    found = outcome(encoded(document))
    assert isinstance(found, ContractError)
    assert envelope(found) == {"error": "ValueError", "detail": detail}


def test_an_empty_body() -> None:
    found = outcome(b"")
    assert isinstance(found, ContractError)
    assert found.detail == "request body is empty; expected a JSON object"


def test_the_envelope_cuts_the_detail_at_200_code_points_not_bytes() -> None:
    assert envelope(ContractError("工" * 300, error="KeyError")) == {
        "error": "KeyError",
        "detail": "工" * 200,
    }


def test_an_integer_python_can_print_is_accepted_anywhere() -> None:
    long = 10**4299
    document = body(
        state=long,
        questions={"q": {"instructions": [long], "criteria": {"a": long, "b": {"description": long}}}},
    )
    found = outcome(encoded(document))
    assert isinstance(found, Request)
    assert found.state == str(long)
    assert found.questions[0].candidates[1].text == str(long)


def test_nesting_inside_a_request_up_to_the_limit() -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    # Four containers lie around a criterion: body, questions, question, criteria.
    deepest = {"a": nested(122), "b": 1}
    assert isinstance(outcome(encoded(body(questions={"q": {"criteria": deepest}}))), Request)
    too_deep = outcome(encoded(body(questions={"q": {"criteria": {"a": nested(123), "b": 1}}})))
    assert isinstance(too_deep, ContractError)
    assert "nested too deep" in too_deep.detail
