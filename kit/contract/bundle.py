"""Several questions in one prompt: the other text form decision models of this kind are trained on.

Covers: the exact bundle text of 2..8 questions and where each answer is read. The HTTP endpoint puts every
question into a prompt of its own, so nothing in a campaign uses this.
Does not cover: tokens (the limit of 4096 is checked by whoever encodes the text) or images.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kit.contract import strict_json
from kit.contract.errors import ContractError
from kit.contract.prompt import Candidate, Question, candidate_lines, flatten, state_text
from kit.contract.request import MAX_PROMPT_BYTES, compile_questions

MIN_QUESTIONS, MAX_QUESTIONS = 2, 8
MAX_TOKENS = 4096
NO_TOOL = "NO_TOOL"
INSTRUCTION = "For each query choose the single appropriate tool, or NO_TOOL if none is suitable."
CLOSING = "Each answer is exactly one candidate label."
# A question that says only this adds nothing to the instruction above and is left out, whatever its number.
STOCK = re.compile(r"For query q\d+, Select the single appropriate tool, or NO_TOOL if none is suitable\.")


@dataclass(frozen=True)
class Bundle:
    """text: the user message. markers: for each question, the offset just behind its own `Answer {id}:`.

    A state or a candidate may spell the same words earlier in the text; the offsets never point there.
    """

    text: str
    questions: tuple[Question, ...]
    markers: tuple[int, ...]


def bundle_message(document: Mapping[str, Any]) -> Bundle:
    """Compile a request document (strictly parsed JSON) into one prompt. Raises ContractError."""
    if document.get("images"):
        raise ContractError("a bundle is text only; images is not empty")
    given: Any = document.get("questions")
    questions = tuple(_with_no_tool(question, given[question.id]) for question in compile_questions(given))
    if not MIN_QUESTIONS <= len(questions) <= MAX_QUESTIONS:
        raise ContractError(
            f"a bundle has {len(questions)} questions; expected {MIN_QUESTIONS} to {MAX_QUESTIONS}"
        )
    text = f"Queries:\n{queries_text(document.get('state', ''))}\n\n{INSTRUCTION}"
    markers: list[int] = []
    for question in questions:
        text += f"\n\n{_question_text(question)}"
        markers.append(len(text))
    text += f"\n\n{CLOSING}"
    if len(text.encode()) > MAX_PROMPT_BYTES:
        raise ContractError(f"the bundle's prompt exceeds {MAX_PROMPT_BYTES} bytes of text")
    return Bundle(text, questions, tuple(markers))


def queries_text(state: object) -> str:
    """`{id}: messages` lines where the state (or its JSON text) holds queries; else the state itself.

    Without queries, JSON text is written anew in compact form, as the official code writes it.
    A state string that holds queries is read strictly, like every JSON that is rendered piece by piece.
    """
    given = _parsed(state) if isinstance(state, str) else state
    if not _has_queries(given):
        return _plain(given)
    strict: Any = strict_json.loads(state, "the state") if isinstance(state, str) else state
    return "\n".join(f"{name}: {_messages(query)}" for name, query in strict["queries"].items())


def _parsed(state: str) -> object:
    try:
        return json.loads(state)
    except json.JSONDecodeError:
        return state
    except (ValueError, RecursionError) as error:  # an integer or a nesting beyond what Python reads
        raise ContractError(f"the state is JSON that cannot be read: {error}") from error


def _has_queries(state: object) -> bool:
    queries = state.get("queries") if isinstance(state, Mapping) else None
    return isinstance(queries, Mapping) and bool(queries)


def _plain(state: object) -> str:
    """`state_text` of a state that was parsed leniently, so that nesting and escapes are not yet checked."""
    try:
        text = state_text(state)
        text.encode()
    except RecursionError as error:
        raise ContractError(f"the state is JSON that cannot be written: {error}") from error
    except UnicodeEncodeError as error:
        raise ContractError(f"the state has a lone surrogate: {error}") from error
    return text


def _messages(query: object) -> str:
    if not isinstance(query, list):
        return flatten(str(query))
    return " ".join(
        flatten(str(message.get("content", "") if isinstance(message, Mapping) else message))
        for message in query
    )


def _question_text(question: Question) -> str:
    said = "" if STOCK.fullmatch(question.instructions) else f" {question.instructions}"
    return f"{question.id}:{said}\n{candidate_lines(question.candidates)}\nAnswer {question.id}:"


def _with_no_tool(question: Question, given: Mapping[str, Any]) -> Question:
    if question.type != "choice":
        return question
    criteria: Mapping[str, Any] = given["criteria"]
    candidates = tuple(
        Candidate(item.id, NO_TOOL) if _is_no_tool(criteria[item.id]) else item
        for item in question.candidates
    )
    return replace(question, candidates=candidates)


def _is_no_tool(criterion: object) -> bool:
    action = criterion.get("action") if isinstance(criterion, Mapping) else None
    return isinstance(action, Mapping) and action.get("operation") == NO_TOOL
