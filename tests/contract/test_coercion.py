"""Whitespace and `str()`: the kit coerces exactly as Python's `re` and `str` do, for any value."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kit.contract.prompt import flatten
from tests.contract.bodies import body, choice, parse, question

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(SPACES), max_size=40)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


def test_the_whitespace_of_python_is_all_of_unicode_and_four_separators() -> None:
    assert set(SPACES) == {
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in ("Zs", "Zl", "Zp")
        or character in "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"
    }
    assert all(re.fullmatch(r"\s", space) for space in SPACES)


@given(text)
def test_flatten_is_split_and_join(given_text: str) -> None:
    assert flatten(given_text) == " ".join(given_text.split())


@given(text)
def test_flatten_twice_changes_nothing(given_text: str) -> None:
    assert flatten(flatten(given_text)) == flatten(given_text)


def test_flatten_keeps_what_only_looks_like_space() -> None:
    assert flatten("a\u200b\ufeff\u2060 b") == "a\u200b\ufeff\u2060 b"
    assert flatten(None) == ""


@given(values)
def test_instructions_are_flattened_str(value: Any) -> None:
    assert question(instructions=value, criteria={"a": 1, "b": 2}).instructions == flatten(str(value))


@given(values)
def test_a_criterion_is_flattened_str_unless_it_is_an_object_or_null(value: Any) -> None:
    if not isinstance(value, dict) and value is not None:
        assert choice(value) == [flatten(str(value))]
    assert choice({"description": value}) == [flatten(str(value))]


@given(values)
def test_a_state_is_text_or_compact_json(value: Any) -> None:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert parse(body(state=value)).state == shown.strip()


@given(values)
def test_a_structured_state_reads_back_as_it_was(value: Any) -> None:
    if not isinstance(value, str):
        assert json.loads(parse(body(state=value)).state) == value
