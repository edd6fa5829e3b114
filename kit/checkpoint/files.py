"""The files of a checkpoint: where the cache is, what is inside it, and one digest over all of it.

Covers: the cache root, safe listing of a folder (regular files that do not lead out of it), SHA-256 of its
files and the digest of a folder. Does not cover: tensors (`kit.checkpoint.contents`) or making anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from kit.evidence.records import sha256_bytes, sha256_file
from kit.profile import PROJECT_ROOT


class CheckpointError(RuntimeError):
    """A checkpoint is missing, damaged or unsafe; the message says what to do."""


def cache_root() -> Path:
    """`$KIT_CACHE`, or `.cache` in the project root."""
    return Path(os.environ.get("KIT_CACHE") or PROJECT_ROOT / ".cache").absolute()


def safe_file(path: Path, inside: Iterable[Path]) -> None:
    """Refuse a path that is not a regular file or whose real place is outside every folder of `inside`.

    A hub snapshot links to the blobs of its own repository, so those are allowed by naming them; a link to
    anywhere else could swap weights after they were verified. Raises CheckpointError.
    """
    real = path.resolve()
    if not real.is_file():
        raise CheckpointError(f"{path}: not a regular file")
    if not any(real.is_relative_to(folder.resolve()) for folder in inside):
        raise CheckpointError(f"{path}: leads out of the checkpoint to {real}; copy the file instead of linking it")


def blob_folders(folder: Path) -> tuple[Path, ...]:
    """Where links of a hub snapshot (`models--X/snapshots/REVISION`) may lead: `models--X/blobs`."""
    snapshot = folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--")
    return (folder.parent.parent / "blobs",) if snapshot else ()


def list_files(folder: Path, inside: Iterable[Path] = ()) -> dict[str, Path]:
    """Every file under `folder` by its relative name with `/`, hidden folders (downloads' notes) left out.

    Raises CheckpointError for a folder that is missing, links out of the folder, and linked folders.
    """
    if not folder.is_dir():
        raise CheckpointError(f"{folder}: no such folder")
    allowed = (folder, *inside)
    found: dict[str, Path] = {}
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in names:
            if (Path(place) / name).is_symlink():
                raise CheckpointError(f"{Path(place) / name}: a linked folder, expected a real one")
        for name in files:
            path = Path(place) / name
            safe_file(path, allowed)
            found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def hash_files(folder: Path, inside: Iterable[Path] = ()) -> dict[str, str]:
    """Relative name -> SHA-256 of every file of a folder."""
    return {name: sha256_file(path) for name, path in list_files(folder, inside).items()}


def digest_of(hashes: Mapping[str, str]) -> str:
    """SHA-256 over the lines `{sha256}  {name}` sorted by name: what `sha256sum` would print, hashed."""
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return sha256_bytes(lines.encode())
