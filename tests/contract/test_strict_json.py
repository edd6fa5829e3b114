"""Strict JSON: what is refused, at which edge, and that all other JSON reads as Python reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.contract import strict_json
from kit.contract.errors import ContractError
from tests.contract.test_coercion import values


def refusal(text: str | bytes) -> str:
    with pytest.raises(ContractError) as caught:
        strict_json.loads(text)
    assert caught.value.status == 422
    assert caught.value.error == "ValueError"
    return caught.value.detail


@given(values, st.booleans())
def test_valid_json_reads_as_python_reads_it(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert strict_json.loads(text) == strict_json.loads(text.encode()) == json.loads(text)


def outcome(text: str | bytes) -> tuple[bool, Any]:
    """(read, value) or (refused, detail); anything but a ContractError escapes and fails the test."""
    try:
        return True, strict_json.loads(text)
    except ContractError as error:
        return False, error.detail


@given(st.text(alphabet='{}[]",:\\u0123d8eE+-.tfn a\n', max_size=40) | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    read, found = outcome(text)
    assert found == json.loads(text) if read else found.startswith("request body ")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    read, found = outcome(data)
    assert found == json.loads(data) if read else found.startswith("request body ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not valid JSON: Expecting value at character 0"),
        ('{"a": 1} x', "not valid JSON: Extra data at character 9"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('"\x01"', "not valid JSON: Invalid control character"),
        ("01", "not valid JSON"),
    ],
)
def test_syntax(text: str, says: str) -> None:
    assert says in refusal(text)


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":1}', '{"b":0,"a":1,"a":1}', '[{"x":{"a":1,"b":2,"a":3}}]', '{"a":{},"\\u0061":{}}'],
)
def test_a_key_twice_is_refused_at_any_depth_and_in_any_spelling(text: str) -> None:
    assert refusal(text) == "request body has the key 'a' twice in one object; keys must be distinct"


def test_a_key_may_return_in_another_object() -> None:
    assert strict_json.loads('{"a":{"a":[{"a":1},{"a":2}]}}') == {"a": {"a": [{"a": 1}, {"a": 2}]}}


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_json_does_not_know(name: str) -> None:
    assert (
        refusal(f'{{"a":[{name}]}}')
        == f"request body has the number {name}; only finite JSON numbers are allowed"
    )
    assert strict_json.loads(f'"{name}"') == name


@pytest.mark.parametrize("text", ["1e309", "-1e400", "1.7976931348623159e308", "1e" + "9" * 60])
def test_floats_that_overflow(text: str) -> None:
    assert "too large for a float" in refusal(text)


def test_floats_at_the_edge() -> None:
    assert strict_json.loads("1.7976931348623157e308") == 1.7976931348623157e308
    assert strict_json.loads("1e-400") == 0.0
    assert str(strict_json.loads("-0.0")) == "-0.0"


def test_integers_may_be_as_long_as_python_prints() -> None:
    for text in ("9" * 4300, "-" + "9" * 4300):
        assert str(strict_json.loads(text)) == text
    for text in ("9" * 4301, "-" + "9" * 4301):
        assert refusal(text) == "request body has an integer of 4301 digits; at most 4300 are allowed"
    assert strict_json.loads("-0") == 0


@pytest.mark.parametrize("escape", ["\\ud800", "\\uDFFF", "a\\ud83dz", "\\ude00\\ud83d"])
def test_lone_surrogates(escape: str) -> None:
    for text in (f'"{escape}"', f'{{"{escape}":1}}', f'[[{{"a":"{escape}"}}]]'):
        assert "lone surrogate U+D" in refusal(text)
        assert "lone surrogate U+D" in refusal(text.encode())


def test_a_surrogate_pair_is_one_character() -> None:
    assert strict_json.loads('"\\ud83d\\ude00"') == "😀"


def test_nesting_at_the_edge() -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        inner = "0"
        strict_json.loads(opening * 126 + inner + closing * 126)
        assert "nested too deep; at most 126" in refusal(opening * 127 + inner + closing * 127)
    assert "nested too deep" in refusal("[" * 127 + "]" * 127)
    strict_json.loads("[" + '"' + "[" * 500 + '"]')


def test_nesting_beyond_pythons_own_limit_is_refused_too() -> None:
    for depth in (900, 1100, 100_000):
        assert "nested too deep" in refusal("[" * depth + "]" * depth)
    assert "nested too deep" in refusal('{"a":' * 100_000)


@pytest.mark.parametrize(
    "data", [b'"\xff"', b'"\xc3"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'{"a":"\xf5\x80\x80\x80"}']
)
def test_bytes_that_are_not_utf8(data: bytes) -> None:
    assert "not valid UTF-8 at byte" in refusal(data)


def test_encodings_python_detects_are_read_as_the_official_server_reads_them() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"):
        assert strict_json.loads('{"é":"工"}'.encode(encoding)) == {"é": "工"}
    assert "not valid UTF-16" in refusal('"\ud800"'.encode("utf-16-le", "surrogatepass"))


def test_the_message_names_what_was_read_and_stays_short() -> None:
    with pytest.raises(ContractError, match=r"^corpus line 3 has the key"):
        strict_json.loads('{"a":1,"a":2}', "corpus line 3")
    assert len(refusal('{"' + "k" * 9999 + '":1,"' + "k" * 9999 + '":2}')) < 130
