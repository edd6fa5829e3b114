"""A profile as TOML, so that what was declared agrees with what was resolved. Strings, numbers, lists and tables."""

from __future__ import annotations

import json
from typing import Any


def as_toml(document: dict[str, Any]) -> str:
    """A nested document as TOML; a None has no form there and is left out."""
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    lines = [f"{key} = {value_of(value)}" for key, value in plain.items() if value is not None]
    for key, table in document.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]"]
            lines += [f"{name} = {value_of(value)}" for name, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def value_of(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {value_of(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(value_of, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
