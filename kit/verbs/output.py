"""What a verb leaves on standard output for a program to read: JSON, a line a document."""

from __future__ import annotations

import json
from typing import Any


def emit(document: dict[str, Any]) -> None:
    """One compact JSON line on standard output, flushed."""
    print(json.dumps(document, ensure_ascii=False, separators=(",", ":")), flush=True)
