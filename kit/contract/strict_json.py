"""JSON read strictly, so that two readers cannot understand one body differently.

Covers: UTF-8, duplicate keys at any depth, NaN and Infinity, floats that overflow, lone surrogates, nesting
over 126 containers, integers too long for Python to print. Does not cover: what the document means.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NoReturn

from kit.contract.errors import ContractError

MAX_DEPTH = 126
# Python refuses to print longer integers; such a number could be read but never put into a prompt.
MAX_INTEGER_DIGITS = sys.int_info.default_max_str_digits


def loads(text: str | bytes, where: str = "request body") -> Any:
    """Parse one JSON document. Raises ContractError naming `where` and the rule that was broken."""
    decoded = _decode(text, where) if isinstance(text, bytes) else text
    _check_depth(decoded, where)
    reader = _Reader(where)
    try:
        value = json.loads(
            decoded,
            object_pairs_hook=reader.object,
            parse_constant=reader.constant,
            parse_float=reader.float,
            parse_int=reader.integer,
        )
    except json.JSONDecodeError as error:
        raise ContractError(f"{where} is not valid JSON: {error.msg} at character {error.pos}") from error
    _check_surrogates(value, where)
    return value


class _Reader:
    """The hooks of one parse; they carry the name of what is read into the messages."""

    def __init__(self, where: str) -> None:
        self.where = where

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ContractError(f"{self.where} has the key {_short(twice)} twice in one object; keys must be distinct")
        return result

    def constant(self, name: str) -> NoReturn:
        raise ContractError(f"{self.where} has the number {name}; only finite JSON numbers are allowed")

    def float(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            raise ContractError(f"{self.where} has the number {_short(text)}, which is too large for a float")
        return value

    def integer(self, text: str) -> int:
        if len(text) > MAX_INTEGER_DIGITS:
            raise ContractError(
                f"{self.where} has an integer of {len(text)} characters; at most {MAX_INTEGER_DIGITS} are allowed"
            )
        return int(text)


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ContractError(f"{where} is not valid UTF-8 at byte {error.start}") from error


def _check_depth(text: str, where: str) -> None:
    """Count brackets outside strings before parsing, so that the parser's own recursion limit is never met."""
    depth = position = 0
    end = len(text)
    while position < end:
        character = text[position]
        if character == '"':
            position = _end_of_string(text, position + 1)
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ContractError(f"{where} is nested deeper than {MAX_DEPTH} containers")
        elif character in "]}":
            depth -= 1
        position += 1


def _end_of_string(text: str, position: int) -> int:
    """Index of the closing quote of a string whose content begins at `position` (or the end of the text)."""
    while True:
        quote = text.find('"', position)
        if quote < 0:
            return len(text)
        backslashes = 0
        while text[quote - 1 - backslashes] == "\\":
            backslashes += 1
        if backslashes % 2 == 0:
            return quote
        position = quote + 1


def _check_surrogates(value: Any, where: str) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            try:
                item.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ContractError(
                    f"{where} has the lone surrogate U+{ord(item[error.start]):04X} in a string"
                ) from error
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _short(text: str) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return repr(shown)
