"""What a checkpoint from the hub must be: revisions and the SHA-256 of every file, read from a pins file.

Covers: the file format `kit-pins/1` and its checks. Does not cover: comparing files with the pins
(`kit.checkpoint.contents`) or downloading them (`kit.checkpoint.hub`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kit.checkpoint.files import CheckpointError, digest_of

FORMAT = "kit-pins/1"


@dataclass(frozen=True)
class FolderPins:
    """One repository at one commit: relative file name -> SHA-256."""

    repository: str
    revision: str
    sha256: dict[str, str]


@dataclass(frozen=True)
class Pins:
    """Everything known about a published checkpoint before it is downloaded.

    lora_tensors, rank, alpha: of the adapter. shapes: facts about single base tensors that are checked beside
    what config.json implies. ignored: prefixes of base tensors nobody loads. label_token_ids: A-Z, 0-5.
    """

    base: FolderPins
    adapter: FolderPins
    rank: int
    alpha: int
    lora_tensors: int
    calibration: dict[str, float]
    shapes: dict[str, tuple[int, ...]]
    ignored: tuple[str, ...]
    label_token_ids: tuple[int, ...]

    def digest(self) -> str:
        """The digest a checkpoint has whose files are exactly the pinned ones."""
        return digest_of(self.hashes())

    def hashes(self) -> dict[str, str]:
        """Every pinned file as `base/NAME` or `adapter/NAME`, with its SHA-256."""
        folders = {"base": self.base, "adapter": self.adapter}
        return {f"{part}/{name}": sha for part, pins in folders.items() for name, sha in pins.sha256.items()}


def load_pins(path: Path) -> Pins:
    """Read a pins file. Raises CheckpointError naming the file and what is wrong with it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CheckpointError(f"{path}: not a file of format {FORMAT!r}")
    try:
        adapter, base = data["adapter"], data["base"]
        return Pins(
            base=_folder(base, path),
            adapter=_folder(adapter, path),
            rank=int(adapter["lora"]["rank"]),
            alpha=int(adapter["lora"]["alpha"]),
            lora_tensors=int(adapter["lora"]["tensors"]),
            calibration={key: float(value) for key, value in adapter["calibration"].items()},
            shapes={name: tuple(shape) for name, shape in base["shapes"].items()},
            ignored=tuple(base["ignored"]),
            label_token_ids=tuple(data["label_token_ids"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: missing or malformed entry: {error!r}") from error


def _folder(data: dict[str, Any], path: Path) -> FolderPins:
    pins = FolderPins(data["repository"], data["revision"], dict(data["sha256"]))
    if not re.fullmatch(r"[0-9a-f]{40}", pins.revision):
        raise CheckpointError(f"{path}: revision {pins.revision!r} of {pins.repository} is not a commit")
    for name, sha in pins.sha256.items():
        parts = PurePosixPath(name).parts
        if not re.fullmatch(r"[0-9a-f]{64}", sha):
            raise CheckpointError(f"{path}: {name}: {sha!r} is not a SHA-256 in lower-case hex")
        if not parts or parts[0] == "/" or ".." in parts or "\\" in name or str(PurePosixPath(name)) != name:
            raise CheckpointError(f"{path}: {name!r} is not a plain relative file name")
    return pins
