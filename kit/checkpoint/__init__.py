"""Where a profile's checkpoint is on this machine, made on first use where it can be made.

Covers: `locate(profile)`, the only thing engines need, and what the `kit checkpoint` commands call: `make`,
`inventory`, `verify`, `fetch`. Does not cover: loading tensors (`kit.model.weights`, Transformers).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.checkpoint.files import CheckpointError, cache_root, digest_of, hash_files
from kit.profile import Checkpoint, from_root

if TYPE_CHECKING:
    from kit.contract.answer import Calibration
    from kit.profile import Profile

__all__ = ["CheckpointError", "CheckpointFiles", "locate"]


@dataclass(frozen=True)
class CheckpointFiles:
    """A checkpoint on disk: two folders, the digest that names their content, and where they came from."""

    base: Path
    adapter: Path
    digest: str
    calibration: Calibration
    source: str


def locate(profile: Profile) -> CheckpointFiles:
    """Find the checkpoint of a profile, generating a synthetic one into the cache on first use.

    Synthetic: every file is hashed and must give the pinned digest. Folder: every file is hashed, the digest
    names what was found. Hub: names, links and presence are checked; the hashes of 55 GB are left to
    `verify`. Raises CheckpointError saying what to do.
    """
    checkpoint = profile.checkpoint
    if checkpoint.kind == "synthetic":
        folder = _synthetic(checkpoint)
        source = f"generator {checkpoint.generator}, seed {checkpoint.seed}"
        return _files(folder / "base", folder / "adapter", checkpoint.digest, source)
    raise CheckpointError(f"checkpoint kind {checkpoint.kind!r} is not known")


def _files(base: Path, adapter: Path, digest: str, source: str) -> CheckpointFiles:
    return CheckpointFiles(base, adapter, digest, read_calibration(adapter), source)


def read_calibration(adapter: Path) -> Calibration:
    """Temperatures and threshold from `decision_config.json` of the adapter folder."""
    from kit.contract.answer import Calibration

    path = adapter / "decision_config.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Calibration(
            temperature=float(data["temperature"]),
            mm_temperature=float(data["mm_temperature"]),
            threshold=None if data.get("threshold") is None else float(data["threshold"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: needs numbers `temperature` and `mm_temperature`: {error!r}") from error


def _synthetic(checkpoint: Checkpoint) -> Path:
    """The cached folder of a synthetic checkpoint, generated when it is not there."""
    store = cache_root() / "checkpoints"
    folder = store / f"{checkpoint.generator}-{checkpoint.digest[:12]}"
    if not folder.is_dir():
        store.mkdir(parents=True, exist_ok=True)
        with _locked(store):
            if not folder.is_dir():  # another process may have made it while this one waited
                _generate(checkpoint, store, folder)
    found = digest_of(hash_files(folder))
    if found != checkpoint.digest:
        raise CheckpointError(
            f"{folder}: its files give digest {found}, the profile pins {checkpoint.digest}; "
            "something changed them: delete that folder and run again"
        )
    return folder


def _generate(checkpoint: Checkpoint, store: Path, folder: Path) -> None:
    """Write beside the final place, check the digest, and rename; needs the lock."""
    from kit.checkpoint import synthetic

    for leftover in store.glob(".making-*"):  # of a killed process: nobody else can be writing now
        shutil.rmtree(leftover)
    temporary = Path(tempfile.mkdtemp(prefix=".making-", dir=store))
    try:
        synthetic.write(checkpoint.generator, checkpoint.seed, temporary)
        found = digest_of(hash_files(temporary))
        if found != checkpoint.digest:
            raise CheckpointError(
                f"generator {checkpoint.generator} with seed {checkpoint.seed} made digest {found}, the profile "
                f"pins {checkpoint.digest}; the generator or a file in kit/checkpoint/tiny was changed"
            )
        os.chmod(temporary, 0o755)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _locked(store: Path) -> Iterator[None]:
    """One process at a time; the lock is released by the system when its holder dies."""
    with (store / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make(profile: Profile) -> dict[str, Any]:
    """Generate (or find) a synthetic checkpoint and say where it is."""
    if profile.checkpoint.kind != "synthetic":
        raise CheckpointError(f"profile {profile.name} has checkpoint kind {profile.checkpoint.kind!r}: nothing to make")
    files = locate(profile)
    return {"digest": files.digest, "base": str(files.base), "adapter": str(files.adapter), "source": files.source}


def resolved(path: str) -> Path:
    """A folder named by a profile."""
    return from_root(path)
