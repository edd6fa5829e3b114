"""From the bytes of a request to questions ready to be put to a model.

Covers: the whole body check in one place: size, strict JSON, model name, state, questions, images, and the
bound on prompt text. Every refusal is a ContractError that says where and what was expected.
Does not cover: token budgets (they need a tokenizer: `kit.engine.prepare`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kit.contract import strict_json
from kit.contract.errors import ContractError
from kit.contract.images import MAX_IMAGES, Image, decode_image
from kit.contract.prompt import (
    LABELS,
    Candidate,
    Question,
    QuestionType,
    choice_text,
    description,
    flatten,
    state_text,
    user_message,
)

MAX_BODY_BYTES = 16_000_000
MAX_QUESTIONS = 64
MAX_PROMPT_BYTES = 16 * 1024 * 1024
MIN_CANDIDATES, MAX_CANDIDATES = 2, len(LABELS)

__all__ = ["Candidate", "Image", "Question", "Request", "parse_request"]


@dataclass(frozen=True)
class Request:
    """A checked request. state: as the prompt carries it. body: the bytes as received."""

    state: str
    questions: tuple[Question, ...]
    images: tuple[Image, ...]
    body: bytes


def parse_request(body: bytes, model_names: Sequence[str]) -> Request:
    """Check and compile a request body; `model_names` are the values `model` may have.

    Unknown keys are ignored, as the official server ignores them. `model` may be absent or null.

    Raises ContractError (status 413 for the body size, 422 for everything else).
    """
    if len(body) > MAX_BODY_BYTES:
        raise ContractError(
            f"request body is {len(body)} bytes; at most {MAX_BODY_BYTES} are allowed", status=413
        )
    if not body:
        raise ContractError("request body is empty; expected a JSON object")
    document = strict_json.loads(body)
    if not isinstance(document, dict):
        raise ContractError(f"request body is {kind_of(document)}; expected an object")
    _check_model(document.get("model"), model_names)
    state = state_text(document.get("state", ""))
    questions = compile_questions(document.get("questions"))
    _check_prompt_size(state, questions)
    return Request(state, questions, _images(document.get("images")), body)


def compile_questions(questions: object) -> tuple[Question, ...]:
    """Every question of a request, in order. Raises ContractError naming the question."""
    if not isinstance(questions, Mapping):
        raise ContractError(f"questions is {kind_of(questions)}; expected an object of questions")
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise ContractError(f"questions has {len(questions)} entries; expected 1 to {MAX_QUESTIONS}")
    return tuple(_question(name, question) for name, question in questions.items())


def kind_of(value: object) -> str:
    """A JSON value's kind, in words."""
    names: dict[type, str] = {
        dict: "an object", list: "a list", str: "a string",
        bool: "a boolean", int: "a number", float: "a number",
    }  # fmt: skip
    return "null or missing" if value is None else names[type(value)]


def _question(name: str, question: object) -> Question:
    where = f"question {name[:40]!r}"
    if not isinstance(question, Mapping):
        raise ContractError(f"{where} is {kind_of(question)}; expected an object")
    kind = question.get("type", "choice")
    compilers: dict[QuestionType, Callable[[Any, str], tuple[Candidate, ...]]] = {
        "choice": _choice, "score": _score, "noul": _noul,
    }  # fmt: skip
    if not isinstance(kind, str) or kind not in compilers:
        shown = repr(kind[:40]) if isinstance(kind, str) else kind_of(kind)
        raise ContractError(f"{where}: type is {shown}; expected choice, score or noul")
    candidates = compilers[kind](question.get("criteria"), where)
    return Question(name, kind, flatten(str(question.get("instructions", ""))), candidates)


def _choice(criteria: object, where: str) -> tuple[Candidate, ...]:
    if not isinstance(criteria, Mapping):
        raise ContractError(f"{where}: criteria is {kind_of(criteria)}; a choice needs an object")
    _check_count(len(criteria), where)
    return tuple(
        Candidate(name, choice_text(criterion, f"{where}, candidate {name[:40]!r}"))
        for name, criterion in criteria.items()
    )


def _score(criteria: object, where: str) -> tuple[Candidate, ...]:
    if not isinstance(criteria, list):
        raise ContractError(f"{where}: criteria is {kind_of(criteria)}; a score needs a list")
    _check_count(len(criteria), where)
    return tuple(
        Candidate(str(level), flatten(description(criterion) or f"level {level}"))
        for level, criterion in enumerate(criteria)
    )


def _noul(criteria: object, where: str) -> tuple[Candidate, ...]:
    given = criteria if isinstance(criteria, Mapping) else {}
    return (
        Candidate("yes", flatten(description(given.get("true")) or "yes")),
        Candidate("no", flatten(description(given.get("false")) or "no")),
    )


def _check_count(count: int, where: str) -> None:
    if not MIN_CANDIDATES <= count <= MAX_CANDIDATES:
        raise ContractError(f"{where} has {count} criteria; expected {MIN_CANDIDATES} to {MAX_CANDIDATES}")


def _check_model(model: object, names: Sequence[str]) -> None:
    if model is None:
        return
    if not isinstance(model, str):
        raise ContractError(f"model is {kind_of(model)}; expected a string")
    if model not in names:
        raise ContractError(f"model is {model[:60]!r}; this server answers as {', '.join(names)}")


def _check_prompt_size(state: str, questions: Sequence[Question]) -> None:
    total = 0
    for question in questions:
        total += len(user_message(state, question).encode())
        if total > MAX_PROMPT_BYTES:
            raise ContractError(f"the prompts of this request exceed {MAX_PROMPT_BYTES} bytes of text in all")


def _images(images: object) -> tuple[Image, ...]:
    if images is None:
        return ()
    if not isinstance(images, list):
        raise ContractError(f"images is {kind_of(images)}; expected a list")
    if len(images) > MAX_IMAGES:
        raise ContractError(f"images has {len(images)} entries; at most {MAX_IMAGES} are allowed")
    return tuple(decode_image(item, f"image {index}") for index, item in enumerate(images))
