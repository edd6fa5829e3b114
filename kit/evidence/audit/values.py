"""Strict JSON, digests, and what makes two values the same."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Dict, List, NoReturn, Tuple

from kit.evidence.audit.rules import SLACK, Json, UnreadableError


class Named(Dict[str, Any]):
    """A JSON object that knows which file it came from, so that a missing key is told with its file."""

    __slots__ = ("where",)
    where: str

    def __missing__(self, key: str) -> NoReturn:
        raise UnreadableError("%s has no %s, expected one" % (self.where, short(key)))


def parse_json(data: bytes, where: str) -> Any:
    """Strict JSON: no key twice in an object, no NaN, nothing infinite, no whole number over 64 bits."""

    def pairs(items: List[Tuple[str, Any]]) -> Json:
        found = Named(items)
        found.where = where
        if len(found) != len(items):
            raise UnreadableError("%s has a key twice in one object" % where)
        return found

    def constant(name: str) -> NoReturn:
        raise UnreadableError("%s holds %s, which is no number" % (where, name))

    def number(text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else constant(text)

    def whole(digits: str) -> int:
        if len(digits) > 20 or not -(2**63) <= int(digits) < 2**63:
            raise UnreadableError("%s holds a number of %d digits" % (where, len(digits)))
        return int(digits)

    try:
        text = data.decode("utf-8")
        return json.loads(
            text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number, parse_int=whole
        )
    except RecursionError as error:
        raise UnreadableError("%s is nested too deeply" % where) from error
    except ValueError as error:
        raise UnreadableError("%s is not JSON: %s" % (where, error)) from error


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_of(document: Any) -> str:
    """SHA-256 of a document's canonical JSON."""
    return sha256(json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode())


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 90 else text[:87] + "..."


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def same(a: Any, b: Any) -> bool:
    """Two computations of one figure, equal to 1e-12; anything else must be equal."""
    if is_number(a) and is_number(b):
        return bool(abs(a - b) <= SLACK * max(1.0, abs(a), abs(b)))
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def safe_name(name: str) -> bool:
    parts = name.split("/")
    return "\\" not in name and name.isprintable() and not any(part in ("", ".", "..") for part in parts)
