"""A run's state in files small enough to travel, whole or not at all.

Covers: a document of tensors and plain values as parts of at most PART bytes, the list of parts written last; tensors
alone as one file. Does not cover: what the state is (`loop`).
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kit.evidence.records import write_atomic, write_json

PART = 12 << 20
LIST = "state.json"


class StateError(ValueError):
    """A saved state is incomplete or damaged."""


def save(folder: Path, document: dict[str, Any]) -> None:
    """Replace the state in a folder. A kill at any moment leaves the old state or the new one."""
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(document, buffer)
    data = buffer.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    parts = [f"{digest[:12]}.{number}.part" for number in range(-(-len(data) // PART))]
    for number, name in enumerate(parts):
        write_atomic(folder / name, data[number * PART : (number + 1) * PART])
    write_json(folder / LIST, {"sha256": digest, "parts": parts})
    for path in folder.glob("*.part"):
        if path.name not in parts:
            path.unlink()


def load(folder: Path) -> dict[str, Any] | None:
    """The state in a folder, tensors on the CPU, or None where none was saved. Raises StateError where it is damaged."""
    if not (folder / LIST).is_file():
        return None
    listed = json.loads((folder / LIST).read_text())
    try:
        data = b"".join((folder / name).read_bytes() for name in listed["parts"])
    except FileNotFoundError as error:
        raise StateError(f"{folder}: a part of the state is missing: {error.filename}") from error
    if hashlib.sha256(data).hexdigest() != listed["sha256"]:
        raise StateError(f"{folder}: the parts of the state are not those that were saved")
    document: dict[str, Any] = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    return document


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Tensors by name as one torch file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(tensors, buffer)
    write_atomic(path, buffer.getvalue())
