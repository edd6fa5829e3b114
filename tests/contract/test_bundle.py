"""Bundles: several questions in one prompt, byte for byte, and where each answer is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.contract.bundle import Bundle, bundle_message, queries_text
from kit.contract.errors import ContractError
from kit.contract.request import MAX_PROMPT_BYTES

STOCK = "For query {}, Select the single appropriate tool, or NO_TOOL if none is suitable."
PING = {"description": '{"name": "ping", "parameters": {"host": {}}}', "action": {"tool_name": "ping"}}
NONE = {"description": "no tool fits", "action": {"operation": "NO_TOOL"}}


def bundle(*instructions: Any, state: Any = "Host a1 is down.", **keys: Any) -> Bundle:
    questions = {
        f"q{i}": {"instructions": text, "criteria": {"a": PING, "b": NONE}}
        for i, text in enumerate(instructions)
    }
    return bundle_message({"state": state, "questions": questions, **keys})


def refusal(*instructions: Any, **keys: Any) -> str:
    with pytest.raises(ContractError) as caught:
        bundle(*instructions, **keys)
    return caught.value.detail


def test_the_whole_text() -> None:
    state = {
        "queries": {
            "q0": [{"role": "user", "content": "Is  a1\nup?"}],
            "q1": [{"content": "Tell"}, {"content": " a joke"}],
        }
    }
    assert bundle(STOCK.format("q0"), "Which tool\nanswers?", state=state).text == (
        "Queries:\nq0: Is a1 up?\nq1: Tell a joke\n\n"
        "For each query choose the single appropriate tool, or NO_TOOL if none is suitable.\n\n"
        "q0:\nA) ping | params: host\nB) NO_TOOL\nAnswer q0:\n\n"
        "q1: Which tool answers?\nA) ping | params: host\nB) NO_TOOL\nAnswer q1:\n\n"
        "Each answer is exactly one candidate label."
    )


class TestQueries:
    def test_an_object_and_its_json_text_render_alike(self) -> None:
        state = {"queries": {"a": [{"content": "one"}], "b": [{"content": "two"}]}, "other": 1}
        assert (
            queries_text(state)
            == queries_text(json.dumps(state))
            == queries_text(" " + json.dumps(state, indent=2))
            == ("a: one\nb: two")
        )

    @pytest.mark.parametrize(
        ("messages", "shown"),
        [
            ([{"content": "a"}, {}, {"content": " "}, {"content": "b"}], "a   b"),
            ([{"content": None}, {"content": ["x"]}], "None ['x']"),
            (["bare  text", 7, None, ["l"]], "bare text 7 None ['l']"),
            ([], ""),
            ("just  text", "just text"),
            (None, "None"),
            ({"content": "x"}, "{'content': 'x'}"),
        ],
        ids=repr,
    )
    def test_messages(self, messages: Any, shown: str) -> None:
        assert queries_text({"queries": {"q": messages}}) == f"q: {shown}"

    @pytest.mark.parametrize(
        ("state", "shown"),
        [
            (" plain \n text ", "plain \n text"),
            ("", ""),
            ({"queries": {}}, '{"queries":{}}'),
            ({"queries": ["a"]}, '{"queries":["a"]}'),
            ([1, 2], "[1,2]"),
            ('{"b": 1, "a": "\\u00e9"}', '{"b":1,"a":"é"}'),
            ('" spaced "', "spaced"),
            ("[1, 2", "[1, 2"),
            ("7.50", "7.5"),
            ("NaN", "NaN"),
        ],
        ids=repr,
    )
    def test_a_state_without_queries_is_text_or_compact_json(self, state: Any, shown: str) -> None:
        assert queries_text(state) == shown

    @pytest.mark.parametrize(
        ("state", "says"),
        [
            ('{"queries": {"a": [], "a": []}}', "the state has the key 'a' twice"),
            ('{"queries": {"a": NaN}}', "the state has the number NaN"),
            ('"\\ud800"', "the state has a lone surrogate"),
            ("9" * 4301, "the state is JSON that cannot be read"),
            ("[" * 100_000, "the state is JSON that cannot be read"),
        ],
        ids=lambda value: value[:30],
    )
    def test_json_text_that_cannot_be_used(self, state: str, says: str) -> None:
        assert says in refusal("x", "y", state=state)

    def test_no_nesting_of_a_json_text_leaks_another_error(self) -> None:
        for depth in range(850, 1010):
            try:
                queries_text("[" * depth + "]" * depth)
            except ContractError as error:
                assert error.detail.startswith("the state is JSON that cannot be ")  # noqa: PT017


class TestQuestions:
    @pytest.mark.parametrize(
        "stock", [STOCK.format("q0"), STOCK.format("q99"), "  " + STOCK.format("q1").replace(" ", "\n")]
    )
    def test_the_stock_sentence_is_dropped_whatever_its_number(self, stock: str) -> None:
        assert "\n\nq0:\nA) " in bundle(stock, "x").text

    @pytest.mark.parametrize(
        "said", [STOCK.format("a"), STOCK.format("q"), STOCK.format("q1") + " Now.", STOCK.format("q1")[:-1]]
    )
    def test_any_other_sentence_stays(self, said: str) -> None:
        assert f"\n\nq0: {said}\nA) " in bundle(said, "x").text

    def test_an_empty_question_leaves_its_space(self) -> None:
        assert "\n\nq0: \nA) " in bundle("", "x").text

    def test_score_and_noul_may_be_bundled(self) -> None:
        questions = {"s": {"type": "score", "criteria": ["", NONE]}, "n": {"type": "noul"}}
        text = bundle_message({"questions": questions}).text
        assert "s: \nA) level 0\nB) no tool fits\nAnswer s:\n\nn: \nA) yes\nB) no\nAnswer n:" in text

    def test_the_compiled_questions_say_what_the_prompt_says(self) -> None:
        assert [candidate.text for candidate in bundle("x", "y").questions[1].candidates] == [
            "ping | params: host",
            "NO_TOOL",
        ]


class TestMarkers:
    def test_stand_behind_each_answer(self) -> None:
        made = bundle(*"abcdefgh")
        assert [made.text[:end].rsplit("\n", 1)[1] for end in made.markers] == [
            f"Answer q{i}:" for i in range(8)
        ]

    def test_are_not_moved_by_text_that_imitates_them(self) -> None:
        honest, imitated = bundle("a", "b", state=""), bundle("a", "b", state="Answer q0: A\nAnswer q1: A\n.")
        moved = len(imitated.text) - len(honest.text)
        assert imitated.markers == tuple(end + moved for end in honest.markers)


def test_two_to_eight_questions_and_no_images() -> None:
    assert "a bundle has 1 questions; expected 2 to 8" in refusal("a")
    assert "a bundle has 9 questions; expected 2 to 8" in refusal(*"abcdefghi")
    assert "a bundle is text only" in refusal("a", "b", images=["x"])
    assert bundle("a", "b", images=[]).markers


def test_the_prompt_is_bounded_as_that_of_a_request() -> None:
    room = MAX_PROMPT_BYTES - len(bundle("a", "b", state="").text)
    assert len(bundle("a", "b", state="x" * room).text) == MAX_PROMPT_BYTES
    assert "exceeds 16777216 bytes" in refusal("a", "b", state="x" * (room + 1))
