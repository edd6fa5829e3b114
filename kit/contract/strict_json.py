"""JSON read strictly, so that two readers cannot understand one body differently.

Covers: the encoding, duplicate keys at any depth, NaN and Infinity, floats that overflow, lone surrogates,
nesting over 126 containers, integers too long for Python to print. Does not cover: what the document means.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NoReturn

from kit.contract.errors import ContractError

MAX_DEPTH = 126
# Python reads and prints integers up to this length only (a defence against quadratic conversion).
MAX_INTEGER_DIGITS = sys.int_info.default_max_str_digits


def loads(text: str | bytes, where: str = "request body") -> Any:
    """Parse one JSON document. Bytes may be UTF-8, UTF-16 or UTF-32, as `json.loads` detects them.

    Raises ContractError naming `where` and the rule that was broken, and nothing else.
    """
    decoded = _decode(text, where) if isinstance(text, bytes) else text
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
    except RecursionError as error:
        raise _too_deep(where) from error
    _check_depth_and_strings(value, where)
    return value


class _Reader:
    """The hooks of one parse; they carry the name of what is read into the messages."""

    def __init__(self, where: str) -> None:
        self.where = where

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            key = _short(_repeated(pairs))
            raise ContractError(f"{self.where} has the key {key} twice in one object; keys must be distinct")
        return result

    def constant(self, name: str) -> NoReturn:
        raise ContractError(f"{self.where} has the number {name}; only finite JSON numbers are allowed")

    def float(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            raise ContractError(f"{self.where} has the number {_short(text)}, which is too large for a float")
        return value

    def integer(self, text: str) -> int:
        digits = len(text.removeprefix("-"))
        # The process may have been given a smaller limit; 0 means it has none.
        limit = min(MAX_INTEGER_DIGITS, sys.get_int_max_str_digits() or MAX_INTEGER_DIGITS)
        if digits > limit:
            raise ContractError(
                f"{self.where} has an integer of {digits} digits; at most {limit} are allowed"
            )
        return int(text)


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return key


def _decode(data: bytes, where: str) -> str:
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise ContractError(
            f"{where} is not valid {name} at byte {error.start}; send JSON as UTF-8"
        ) from error


def _check_depth_and_strings(value: Any, where: str) -> None:
    """Walk the document level by level: containers may not go on below MAX_DEPTH, strings must be Unicode."""
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                _check_string(item, where)
            elif isinstance(item, (dict, list)):
                if depth == MAX_DEPTH:
                    raise _too_deep(where)
                below.extend(item)  # a list's items, or a dict's keys
                if isinstance(item, dict):
                    below.extend(item.values())
        level, depth = below, depth + 1


def _check_string(text: str, where: str) -> None:
    # Decoded text has no surrogates of its own: only an escape such as \ud800 can bring one in.
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ContractError(
            f"{where} has the lone surrogate U+{code:04X} in a string; surrogates must come in pairs"
        ) from error


def _too_deep(where: str) -> ContractError:
    return ContractError(
        f"{where} is nested too deep; at most {MAX_DEPTH} objects and lists inside each other are allowed"
    )


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
