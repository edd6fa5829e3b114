"""Several questions in one prompt: the text form the checkpoint was also trained on.

Covers: the exact bundle text of 2..8 choice questions and where each answer is read. The HTTP endpoint puts
every question into a prompt of its own, so nothing in a campaign uses this.
Does not cover: tokens (the limit of 4096 is checked by whoever encodes the text) or images.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kit.contract.errors import ContractError
from kit.contract.prompt import Candidate, Question, candidate_lines, flatten, state_text
from kit.contract.request import compile_questions, kind_of

MIN_QUESTIONS, MAX_QUESTIONS = 2, 8
MAX_TOKENS = 4096
NO_TOOL = "NO_TOOL"
INSTRUCTION = "For each query choose the single appropriate tool, or NO_TOOL if none is suitable."
CLOSING = "Each answer is exactly one candidate label."
# A question that says only this adds nothing to the instruction above and is left out.
STOCK = re.compile(r"For query (\S+), Select the single appropriate tool, or NO_TOOL if none is suitable\.")


@dataclass(frozen=True)
class Bundle:
    """text: the user message. markers: for each question, the offset just behind its `Answer {id}:`."""

    text: str
    questions: tuple[Question, ...]
    markers: tuple[int, ...]


def bundle_message(document: Mapping[str, Any]) -> Bundle:
    """Compile a request document (parsed JSON without images) into one prompt. Raises ContractError."""
    given = document.get("questions")
    questions = compile_questions(given)
    if not MIN_QUESTIONS <= len(questions) <= MAX_QUESTIONS:
        raise ContractError(f"a bundle has {len(questions)} questions; expected {MIN_QUESTIONS} to {MAX_QUESTIONS}")
    if document.get("images"):
        raise ContractError("a bundle is text only; images is not empty")
    assert isinstance(given, Mapping)  # compile_questions refuses anything else
    text = f"Queries:\n{queries_text(document.get('state', ''))}\n\n{INSTRUCTION}\n\n"
    markers: list[int] = []
    for index, question in enumerate(questions):
        rendered = _with_no_tool(question, given[question.id])
        text += ("\n\n" if index else "") + _question_text(rendered)
        markers.append(len(text))
    return Bundle(f"{text}\n\n{CLOSING}", questions, tuple(markers))


def queries_text(state: object) -> str:
    """`{id}: messages` lines where the state (or its JSON text) holds `queries`; else the state itself."""
    queries = _queries(state)
    if queries is None:
        return state_text(state)
    return "\n".join(f"{name}: {_messages(query)}" for name, query in queries.items())


def _queries(state: object) -> Mapping[str, Any] | None:
    if isinstance(state, str):
        try:
            state = json.loads(state)
        except (ValueError, RecursionError):
            return None
    queries = state.get("queries") if isinstance(state, Mapping) else None
    return queries if isinstance(queries, Mapping) and queries else None


def _messages(query: object) -> str:
    messages = query.get("messages") if isinstance(query, Mapping) else None
    if not isinstance(messages, list):
        raise ContractError(f"a query is {kind_of(query)} without a list of messages; expected one")
    contents = (flatten(message.get("content")) for message in messages if isinstance(message, Mapping))
    return " ".join(content for content in contents if content)


def _question_text(question: Question) -> str:
    stock = STOCK.fullmatch(question.instructions)
    said = "" if stock and stock[1] == question.id else question.instructions
    heading = f"{question.id}: {said}".rstrip()
    return f"{heading}\n{candidate_lines(question.candidates)}\nAnswer {question.id}:"


def _with_no_tool(question: Question, given: Mapping[str, Any]) -> Question:
    if question.type != "choice":
        return question
    criteria: Mapping[str, Any] = given["criteria"]
    candidates = tuple(
        Candidate(item.id, NO_TOOL) if _is_no_tool(criteria[item.id]) else item for item in question.candidates
    )
    return Question(question.id, question.type, question.instructions, candidates)


def _is_no_tool(criterion: object) -> bool:
    action = criterion.get("action") if isinstance(criterion, Mapping) else None
    return isinstance(action, Mapping) and action.get("operation") == NO_TOOL
