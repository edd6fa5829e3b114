"""One process at a time in a folder. Covers: an advisory lock that its holder's death releases. POSIX only."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusively(folder: str | Path) -> Iterator[None]:
    """Wait until nobody else is in the folder, and keep others out for as long as the block lasts."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
