"""Checkpoints from the Hugging Face hub: found on disk, or downloaded at the pinned commits.

Covers: looking in the kit's cache and in the hub's own, downloading exactly the pinned files (interrupted
downloads continue), and the note that says which bytes were verified. Does not cover: what is verified
(`kit.checkpoint.contents`).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import snapshot_download, try_to_load_from_cache

from kit.checkpoint.files import CheckpointError, blob_folders, cache_root, safe_file
from kit.checkpoint.pins import FolderPins, Pins, load_pins
from kit.evidence.records import sha256_file, write_json
from kit.profile import from_root

if TYPE_CHECKING:
    from kit.profile import Profile

NOTE_FORMAT = "kit-verified/1"


def pins_of(profile: Profile) -> Pins:
    """The profile's pins; the repositories and commits it names must be the pinned ones."""
    checkpoint = profile.checkpoint
    path = from_root(checkpoint.pins)
    pins = load_pins(path)
    for part, folder, name, revision in (
        ("base", pins.base, checkpoint.base, checkpoint.base_revision),
        ("adapter", pins.adapter, checkpoint.adapter, checkpoint.adapter_revision),
    ):
        if (folder.repository, folder.revision) != (name, revision):
            raise CheckpointError(
                f"profile {profile.name}: checkpoint.{part} is {name}@{revision}, "
                f"{path.name} pins {folder.repository}@{folder.revision}"
            )
    return pins


def home(pins: Pins) -> Path:
    """The folder in the kit's cache that a download goes to: one for all profiles with the same pins."""
    return cache_root() / "checkpoints" / f"{pins.base.repository.rpartition('/')[2]}-{pins.digest()[:12]}"


def find_file(pins: Pins, name: str) -> Path | None:
    """One small base file (such as `tokenizer.json`) if it is on disk with its pinned bytes, else None."""
    for place in (home(pins) / "base", _snapshot(pins.base)):
        if place is not None and (place / name).is_file():
            safe_file(place / name, (place, *blob_folders(place)))
            if sha256_file(place / name) == pins.base.sha256[name]:
                return place / name
    return None


def find(profile: Profile, pins: Pins) -> tuple[Path, Path]:
    """The base and adapter folders on disk: the kit's download, else the hub's cache.

    Every pinned file must be there, as a regular file that does not lead out of its folder (a snapshot of the
    hub's cache may link to its own blobs). Raises CheckpointError naming the first missing file.
    """
    folders = []
    for part, folder in (("base", pins.base), ("adapter", pins.adapter)):
        place = home(pins) / part
        if not place.is_dir():
            place = _snapshot(folder) or place
        for name in folder.sha256:
            if not (place / name).exists():
                raise CheckpointError(
                    f"{part} of profile {profile.name} is not on disk ({place / name} is missing): "
                    f"python -m kit checkpoint params/{profile.name}.toml fetch"
                )
            safe_file(place / name, (place, *blob_folders(place)))
        folders.append(place)
    return folders[0], folders[1]


def _snapshot(pins: FolderPins) -> Path | None:
    """The folder of this commit in the hub's own cache, if any of its files is there."""
    for name in sorted(pins.sha256):
        cached = try_to_load_from_cache(pins.repository, name, revision=pins.revision)
        if isinstance(cached, str):
            return Path(cached[: -len(name)])
    return None


def download(pins: Pins) -> tuple[Path, Path]:
    """Fetch both repositories at their pinned commits, the pinned files and nothing else.

    Call it again after an interruption: finished files are kept and a partial one continues. Needs network.
    Raises CheckpointError with the hub's reason.
    """
    place = home(pins)
    for part, folder in (("base", pins.base), ("adapter", pins.adapter)):
        (place / part).mkdir(parents=True, exist_ok=True)
        try:
            snapshot_download(
                folder.repository,
                revision=folder.revision,
                local_dir=place / part,
                allow_patterns=sorted(folder.sha256),
            )
        except (OSError, ValueError) as error:
            reason = str(error).strip().splitlines()
            raise CheckpointError(
                f"{folder.repository}@{folder.revision}: download stopped: {reason[0] if reason else error!r}; "
                "what is there is kept, run the command again to continue"
            ) from error
    return place / "base", place / "adapter"


def drop(pins: Pins, names: list[str]) -> None:
    """Remove downloaded files whose bytes were wrong, so that the next fetch loads them again.

    names: `base/NAME` or `adapter/NAME`. Files outside the kit's own download are left alone.
    """
    for name in names:
        path = home(pins) / name
        path.unlink(missing_ok=True)
        notes = path.parent / ".cache" / "huggingface" / "download"
        (notes / f"{path.name}.metadata").unlink(missing_ok=True)  # says the file is complete
    if names:
        note_path(pins).unlink(missing_ok=True)


def note_path(pins: Pins) -> Path:
    """Beside the download: which bytes `kit checkpoint verify` found right on this machine."""
    folder = home(pins)
    return folder.with_name(folder.name + ".verified.json")


def write_note(pins: Pins, base: Path, adapter: Path) -> None:
    """Remember size and modification time of every verified file."""
    path = note_path(pins)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"format": NOTE_FORMAT, "digest": pins.digest(), "files": _stamps(pins, base, adapter)})


def check_note(profile: Profile, pins: Pins, base: Path, adapter: Path) -> None:
    """Refuse files that were never verified here or that changed since. Cheap: no byte is read."""
    path = note_path(pins)
    todo = f"python -m kit checkpoint params/{profile.name}.toml verify"
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        stamps = dict(note["files"]) if note["digest"] == pins.digest() else {}
    except FileNotFoundError:
        raise CheckpointError(f"the files in {base.parent} were never verified on this machine: {todo}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}: unreadable ({error!r}); remove it and run: {todo}") from error
    changed = [name for name, stamp in _stamps(pins, base, adapter).items() if stamps.get(name) != stamp]
    if changed:
        raise CheckpointError(f"{changed[0]} changed since it was verified ({len(changed)} files in all): {todo}")


def _stamps(pins: Pins, base: Path, adapter: Path) -> dict[str, list[int]]:
    folders = {"base": base, "adapter": adapter}
    stamps = {}
    for name in pins.hashes():
        part, _, rest = name.partition("/")
        status = os.stat(folders[part] / rest)
        stamps[name] = [status.st_size, status.st_mtime_ns]
    return stamps

