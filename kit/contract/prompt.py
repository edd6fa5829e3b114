"""The exact text a question becomes, and the coercions that lead to it.

Covers: flattening, descriptions, tool rendering, labels, the system and the user message of one question.
Does not cover: the chat template around them (`kit.checkpoint.tokens`) and prompts that hold several
questions (`kit.contract.bundle`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kit.contract import strict_json
from kit.contract.errors import ContractError

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
SYSTEM = (
    "Choose the best available candidate for the question using only the supplied state. "
    "Return exactly one candidate label."
)
MAX_DEFAULT = 24  # characters of a tool parameter's default that are shown
STRUCTURE_KEYS = ("properties", "required", "type")

QuestionType = Literal["choice", "score", "noul"]


@dataclass(frozen=True)
class Candidate:
    """One answer: its id in the response, and the text after `A) ` in the prompt."""

    id: str
    text: str


@dataclass(frozen=True)
class Question:
    """One question, rendered: candidate i has label LABELS[i]."""

    id: str
    type: QuestionType
    instructions: str
    candidates: tuple[Candidate, ...]


def flatten(text: str | None) -> str:
    """Every run of whitespace as one space, ends stripped; None is empty."""
    return re.sub(r"\s+", " ", text or "").strip()


def state_text(state: object) -> str:
    """A state as the prompt carries it: a string as it is, anything else as compact JSON; then stripped."""
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    return text.strip()


def candidate_lines(candidates: Sequence[Candidate]) -> str:
    """`A) text` lines, one a candidate."""
    return "\n".join(f"{label}) {item.text}" for label, item in zip(LABELS, candidates, strict=False))


def user_message(state: str, question: Question) -> str:
    """The user message of one question. `state` is `state_text`'s."""
    return (
        f"State:\n{state}\n\nQuestion: {question.instructions}\n\nCandidates:\n"
        f"{candidate_lines(question.candidates)}\n\nAnswer with exactly one candidate label."
    )


def description(criterion: object) -> str:
    """The text of a criterion before flattening."""
    if isinstance(criterion, Mapping):
        return str(criterion.get("description", ""))
    return "" if criterion is None else str(criterion)


def choice_text(criterion: object, where: str) -> str:
    """A choice's candidate text: a tool line where the criterion's action names a tool, else flattened."""
    text = description(criterion)
    action = criterion.get("action") if isinstance(criterion, Mapping) else None
    if isinstance(action, Mapping) and "tool_name" in action:
        where = f"{where}: the tool in its description"
        tool = _tool(text, where)
        if tool is not None:
            return tool_line(tool, where)
    return flatten(text)


def tool_line(tool: Mapping[str, Any], where: str = "tool") -> str:
    """`name — description | params: a*, b=metric`, leaving out what is empty. Raises ContractError."""
    line = flatten(str(tool["name"]))
    summary = flatten(str(tool.get("description", "")))
    if summary:
        line += f" — {summary}"
    parameters = tool.get("parameters")
    shown = _parameters(parameters, where) if isinstance(parameters, Mapping) else []
    if shown:
        line += f" | params: {', '.join(shown)}"
    return line


def _tool(text: str, where: str) -> dict[str, Any] | None:
    """The tool a description spells as a JSON object with a name, or None for plain text.

    Whether it is one is decided leniently, as the official server reads it; then it is read strictly.
    """
    try:
        probed = json.loads(text)
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError) as error:  # an integer or a nesting beyond what Python reads
        raise ContractError(f"{where} is JSON that cannot be read: {error}") from error
    if not isinstance(probed, dict) or "name" not in probed:
        return None
    strict: dict[str, Any] = strict_json.loads(text, where)
    return strict


def _parameters(parameters: Mapping[str, Any], where: str) -> list[str]:
    required = parameters.get("required")
    try:
        starred = set(required) if isinstance(required, list) else set()
    except TypeError as error:
        # An object or a list stands where a name should: the official server refuses it here too.
        raise ContractError(
            f"{where}: parameters.required must hold names only: {error}", error="TypeError"
        ) from error
    inner = parameters.get("properties")
    properties = inner if isinstance(inner, Mapping) else parameters
    return [
        name + (_mark(spec, name in starred) if isinstance(spec, Mapping) else "")
        for name, spec in properties.items()
        if name not in STRUCTURE_KEYS or isinstance(spec, Mapping)
    ]


def _mark(spec: Mapping[str, Any], required: bool) -> str:
    """What follows a parameter's name: a star, a default."""
    default = spec.get("default")
    shown = "" if default is None or default == "" else f"={flatten(str(default))[:MAX_DEFAULT]}"
    return ("*" if required else "") + shown
