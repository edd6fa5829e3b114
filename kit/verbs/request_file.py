"""What verbs read before they begin, beside a profile (`kit.runtime.configured`): a request.

Does not cover: what a request may say (`kit.contract.request`).
"""

from __future__ import annotations

import sys
from pathlib import Path


def read_request(path: Path) -> bytes:
    """Bytes of a request file, or of standard input for `-`."""
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
