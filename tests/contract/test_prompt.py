"""Golden prompts: every rendering rule of one question, spelled out byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.contract.errors import ContractError
from kit.contract.prompt import LABELS, SYSTEM, user_message
from tests.contract.bodies import body, choice, parse, question


def prompt(**keys: Any) -> str:
    request = parse(body(questions={"q": keys}))
    return user_message(request.state, request.questions[0])


def test_system_message() -> None:
    assert SYSTEM == (
        "Choose the best available candidate for the question using only the supplied state. "
        "Return exactly one candidate label."
    )


def test_labels_are_the_alphabet_then_six_digits() -> None:
    assert "".join(LABELS) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"


def test_choice_prompt() -> None:
    assert prompt(
        type="choice", instructions="Who takes it?", criteria={"it": "IT support", "hr": "Personnel"}
    ) == (
        "State:\nTicket 4711: the printer on floor 2 reports a paper jam.\n\nQuestion: Who takes it?\n\n"
        "Candidates:\nA) IT support\nB) Personnel\n\nAnswer with exactly one candidate label."
    )


def test_score_prompt() -> None:
    assert prompt(
        type="score", instructions="How urgent?", criteria=["can wait", "", {"description": "now"}]
    ) == (
        "State:\nTicket 4711: the printer on floor 2 reports a paper jam.\n\nQuestion: How urgent?\n\n"
        "Candidates:\nA) can wait\nB) level 1\nC) now\n\nAnswer with exactly one candidate label."
    )


def test_noul_prompt() -> None:
    assert prompt(
        type="noul", instructions="Is it broken?", criteria={"false": "it works", "true": "it is broken"}
    ) == (
        "State:\nTicket 4711: the printer on floor 2 reports a paper jam.\n\nQuestion: Is it broken?\n\n"
        "Candidates:\nA) it is broken\nB) it works\n\nAnswer with exactly one candidate label."
    )


def test_every_question_gets_a_prompt_of_its_own_in_request_order() -> None:
    first, second = ({"instructions": text, "criteria": {"a": 1, "b": 2}} for text in ("one", "two"))
    request = parse(body(questions={"z": first, "a": second}))
    assert [(item.id, item.instructions) for item in request.questions] == [("z", "one"), ("a", "two")]


def test_thirty_two_candidates_use_every_label() -> None:
    lines = prompt(criteria={f"c{i}": f"shelf {i}" for i in range(32)}).split("\n")[6:-2]
    assert lines == [f"{label}) shelf {i}" for i, label in enumerate(LABELS)]


class TestState:
    @pytest.mark.parametrize(
        ("state", "shown"),
        [
            (" \n\tleft \n\n and right\x1f\u2003", "left \n\n and right"),
            ({"b": 1, "a": [True, None, 1.50, "é\n工\x01"]}, '{"b":1,"a":[true,null,1.5,"é\\n工\\u0001"]}'),
            ([], "[]"),
            (None, "null"),
            (0, "0"),
            (-0.0, "-0.0"),
            (False, "false"),
            ("", ""),
            (1000000000000000.2, "1000000000000000.2"),
            (-250786113075992.62, "-250786113075992.62"),
            (1e16, "1e+16"),
            (1e-5, "1e-05"),
            (2**200, str(2**200)),
        ],
        ids=repr,
    )
    def test_a_string_is_stripped_and_anything_else_is_compact_json(self, state: Any, shown: str) -> None:
        assert parse(body(state=state)).state == shown

    def test_a_missing_state_is_empty(self) -> None:
        document = body()
        del document["state"]
        request = parse(document)
        assert user_message(request.state, request.questions[0]).startswith("State:\n\n\nQuestion: ")


class TestInstructions:
    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("  Which\n one\u00a0\u2003is it?\t", "Which one is it?"),
            (None, "None"),
            (True, "True"),
            (7, "7"),
            (1e16, "1e+16"),
            (["it's", 'say "so"', "both ' and \"", "\n\x07\u0300\ue000\u0378"],
             "[\"it's\", 'say \"so\"', 'both \\' and \"', '\\n\\x07\u0300\\ue000\\u0378']"),
            ({"a": None, "b": [1.0]}, "{'a': None, 'b': [1.0]}"),
        ],
        ids=repr,
    )  # fmt: skip
    def test_go_through_str_and_are_flattened(self, given: Any, shown: str) -> None:
        assert question(instructions=given, criteria={"a": 1, "b": 2}).instructions == shown

    def test_missing_ones_are_empty(self) -> None:
        assert question(criteria={"a": 1, "b": 2}).instructions == ""


class TestDescription:
    @pytest.mark.parametrize(
        ("criterion", "shown"),
        [
            ({"description": " two\n words "}, "two words"),
            ({"description": None}, "None"),
            ({"description": ["a"]}, "['a']"),
            ({"other": "x"}, ""),
            ({}, ""),
            (None, ""),
            ("plain  text", "plain text"),
            (3.0, "3.0"),
            (False, "False"),
            (["x", 1], "['x', 1]"),
        ],
        ids=repr,
    )
    def test_of_a_choice(self, criterion: Any, shown: str) -> None:
        assert choice(criterion) == [shown]

    @pytest.mark.parametrize(
        ("criterion", "shown"),
        [
            ("", "level 1"),
            (None, "level 1"),
            ({}, "level 1"),
            (" ", ""),
            (0, "0"),
            ({"description": None}, "None"),
        ],
        ids=repr,
    )
    def test_of_a_score_names_the_level_where_it_is_empty_before_flattening(
        self, criterion: Any, shown: str
    ) -> None:
        assert question(type="score", criteria=["low", criterion]).candidates[1].text == shown

    @pytest.mark.parametrize(
        ("criteria", "shown"),
        [
            (None, ["yes", "no"]),
            ([1, 2, 3], ["yes", "no"]),
            ("text", ["yes", "no"]),
            ({"true": "", "false": None}, ["yes", "no"]),
            ({"true": " ", "maybe": "x"}, ["", "no"]),
            ({"false": {"description": "off"}, "true": 1}, ["1", "off"]),
        ],
        ids=repr,
    )
    def test_of_a_noul_falls_back_to_yes_and_no(self, criteria: Any, shown: list[str]) -> None:
        compiled = question(type="noul", criteria=criteria)
        assert [(item.id, item.text) for item in compiled.candidates] == list(
            zip(("yes", "no"), shown, strict=True)
        )

    def test_ids_are_keys_and_indices(self) -> None:
        assert [item.id for item in question(criteria={"": 1, "B b": 2}).candidates] == ["", "B b"]
        assert [item.id for item in question(type="score", criteria=[9, 8, 7]).candidates] == ["0", "1", "2"]


def tool(action: Any = None, **keys: Any) -> str:
    """The candidate text of a choice whose description is these keys as JSON."""
    action = {"tool_name": "t"} if action is None else action
    return choice({"description": json.dumps(keys, ensure_ascii=False), "action": action})[0]


class TestTool:
    def test_name_description_and_parameters(self) -> None:
        properties = {"city": {"type": "string"}, "units": {"default": "metric"}, "days": {"default": 3}}
        text = tool(
            name="get_weather",
            description="Forecast for\n a city",
            parameters={"type": "object", "properties": properties, "required": ["city", "days"]},
        )
        assert text == "get_weather — Forecast for a city | params: city*, units=metric, days*=3"

    def test_parts_that_are_empty_are_left_out(self) -> None:
        assert tool(name=" ping ") == "ping"
        assert tool(name="ping", description=" \n", parameters={}) == "ping"
        assert tool(name="ping", parameters=["a"]) == "ping"
        assert tool(name="ping", parameters={"properties": {}}) == "ping"

    def test_name_and_description_go_through_str(self) -> None:
        assert tool(name=None, description=None) == "None — None"
        assert tool(name=["a"], description={"b": True}) == "['a'] — {'b': True}"
        assert tool(name="") == ""

    def test_parameters_without_properties_are_the_properties(self) -> None:
        assert tool(name="f", parameters={"path": {}, "mode": "r", "required": ["path", "mode"]}) == (
            "f | params: path*, mode"
        )

    def test_only_parameters_that_are_objects_carry_a_star_or_a_default(self) -> None:
        assert tool(name="f", parameters={"properties": {"a": None, "b": {}}, "required": ["a", "b"]}) == (
            "f | params: a, b*"
        )

    def test_structure_keys_are_parameters_only_where_they_are_objects(self) -> None:
        parameters = {"properties": [1], "required": {"default": 1}, "type": "object", "x": 1}
        assert tool(name="f", parameters=parameters) == "f | params: required=1, x"

    @pytest.mark.parametrize(
        ("default", "shown"),
        [
            (None, ""), ("", ""), (0, "=0"), (False, "=False"), (-0.0, "=-0.0"), ([], "=[]"), (" ", "="),
            (18446744073709551615, "=18446744073709551615"), (2**90, "=123794003928538027489912"),
            ("abcdefghijklmnopqrstuvwxyz", "=abcdefghijklmnopqrstuvwx"),
            ("工" * 30, "=" + "工" * 24),
            ("twenty three characters and", "=twenty three characters "),
            (" a  \n b ", "=a b"),
        ],
        ids=repr,
    )  # fmt: skip
    def test_a_default_is_flattened_and_cut_at_24_characters(self, default: Any, shown: str) -> None:
        assert tool(name="f", parameters={"a": {"default": default}}) == f"f | params: a{shown}"

    def test_a_description_that_is_not_a_tool_is_plain_text(self) -> None:
        action = {"tool_name": None}
        for text in ("find  it", "[1, 2]", '"name"', '{"title": 1e400}', '{"name": "x"', "\ufeff{}", ""):
            assert choice({"description": text, "action": action}) == [" ".join(text.split())]

    def test_only_an_action_object_with_a_tool_name_makes_a_tool(self) -> None:
        for action in ({}, {"operation": "x"}, "tool_name", ["tool_name"], None):
            assert choice({"description": '{"name": "x"}', "action": action}) == ['{"name": "x"}']

    def test_only_a_choice_has_tools(self) -> None:
        criterion = {"description": '{"name":  "x"}', "action": {"tool_name": "x"}}
        assert question(type="score", criteria=["low", criterion]).candidates[1].text == '{"name": "x"}'
        assert question(type="noul", criteria={"true": criterion}).candidates[0].text == '{"name": "x"}'

    @pytest.mark.parametrize(
        ("description", "says"),
        [
            ('{"name": "f", "name": "g"}', "key 'name' twice"),
            ('{"name": "f", "parameters": {"a": {"default": 1, "default": 2}}}', "key 'default' twice"),
            ('{"name": "f", "x": NaN}', "number NaN"),
            ('{"name": "f", "x": 1e999}', "too large"),
            ('{"name": "\\ud800"}', "lone surrogate U+D800"),
            ('{"name": ' + "[" * 126 + "]" * 126 + "}", "nested too deep"),
            ('{"name": ' + "[" * 90000 + "]" * 90000 + "}", "cannot be read"),
            ('{"name": ' + "9" * 4301 + "}", "cannot be read"),
            ('{"title": ' + "9" * 4301 + "}", "cannot be read"),
            ('{"name": "f", "parameters": {"required": [["a"]]}}', "parameters.required"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_json_inside_a_tool_is_read_as_strictly_as_the_body(self, description: str, says: str) -> None:
        with pytest.raises(
            ContractError, match="question 'q', candidate 'c0': the tool in its description"
        ) as caught:
            choice({"description": description, "action": {"tool_name": "f"}})
        assert says in caught.value.detail
