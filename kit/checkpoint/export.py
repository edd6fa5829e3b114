"""`kit checkpoint PROFILE export FOLDER`: a checkpoint rearranged into the folder the native engine loads.

Covers: shards with language tensors, taken over byte for byte (hard-linked where the file system can, copied
otherwise; everything else is a file of its own); the vision tensors and the leading rows of the head, the label
rows among them, each in a small shard; an index over them; tokenizer, settings and adapter; and the order of
work. Every file appears whole or not at all, each finished one is noted in export-progress.json, and a killed
export goes on where it was; the completion marker is written last. Inputs are verified first and only read.
Left out: the rest of the head, the draft head of multi-token prediction, shards that hold nothing else.
Does not cover: the marker and loading (`kit.checkpoint.exported`); checkpoints whose tensors are made at load.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open

from kit import __version__
from kit.checkpoint import contents, exported, shards
from kit.checkpoint.exported import CONTRACT, MARKER, PROGRESS, Entry, Marker, file_entry
from kit.checkpoint.files import CheckpointError
from kit.checkpoint.tokens import load_tokenizer
from kit.evidence.records import BLOCK, write_json

if TYPE_CHECKING:
    from kit.checkpoint import CheckpointFiles

EXPORTER = 1  # what this module makes of the same inputs; in every fingerprint
PROGRESS_FORMAT = "kit-export-progress/1"
PARTIAL = ".partial-"
LANGUAGE, VISION, HEAD = "model.language_model.", "model.visual.", "lm_head.weight"
VISION_SHARD, HEAD_SHARD = "vision.safetensors", "label_rows.safetensors"
# The label ids are among the first; so many leading rows give the bits of the whole head on a GPU, where the
# label rows alone do not (`kit.model.head` proves what is multiplied against all there are).
HEAD_ROWS = 8192

Step = Callable[[Path], None]


def export(files: CheckpointFiles, folder: Path, inputs: dict[str, str]) -> Marker:
    """Make or finish the export of a verified checkpoint in `folder`, which must be new, empty or its own.

    inputs: SHA-256 by `base/NAME` and `adapter/NAME` of everything to be taken over. Raises CheckpointError for
    a folder that holds something else, or an export of other inputs.
    """
    if files.plan is not None:
        raise CheckpointError(f"{files.source}: its tensors are made at load, so there is nothing to export")
    _refuse_overlap(files, folder)
    work = _Export(files, folder, inputs)
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder):
        if (folder / MARKER).exists():
            return work.finished_before()
        return work.run()


class _Export:
    """One export: its inputs, its steps, and what has been done of them."""

    def __init__(self, files: CheckpointFiles, folder: Path, inputs: dict[str, str]) -> None:
        self.files, self.folder, self.inputs = files, folder, inputs
        self.weight_map = shards.read_index(files.base / contents.INDEX)
        self.label_ids = load_tokenizer(files.base).label_ids
        self.head_rows = self._head_rows()
        self.contract: dict[str, Any] = {
            "version": CONTRACT,
            "label_token_ids": list(self.label_ids),
            "head_rows": self.head_rows,
            "calibration": asdict(files.calibration),
        }
        self.producer = {"kit": __version__, "exporter": EXPORTER}
        self.fingerprint = exported.fingerprint(inputs, self.contract, self.producer)
        self.done: dict[str, Entry] = {}

    def finished_before(self) -> Marker:
        """The marker of a folder that is complete already, if it is this export."""
        marker = exported.open_export(self.folder)
        if marker.fingerprint() != self.fingerprint:
            raise CheckpointError(f"{self.folder}: a finished export of other inputs; name a new folder")
        return marker

    def run(self) -> Marker:
        """Every step that is not done yet, then the marker."""
        self._resume()
        steps = dict(self._steps())
        again = [name for name in steps if name in self.done]
        for name, (origin, step) in steps.items():
            if name not in self.done:
                self._do(name, origin, step)
        self._verify(again)
        marker = Marker(
            self.files.source, self.files.digest, self.inputs, self.contract, self.producer,
            {name: self.done[name] for name in sorted(steps)},
        )  # fmt: skip
        write_json(self.folder / MARKER, marker.to_json())
        (self.folder / PROGRESS).unlink()
        return marker

    # ------------------------------------------------------------ what is made

    def _steps(self) -> Iterator[tuple[str, tuple[str, Step]]]:
        """Name in the export -> (input it is byte for byte, or "", what makes it)."""
        language = {shard for name, shard in self.weight_map.items() if name.startswith(LANGUAGE)}
        for name in sorted(self.inputs):
            part, _, rest = name.partition("/")
            if part == "base" and (rest == contents.INDEX or (rest.endswith(".safetensors") and rest not in language)):
                continue
            source = (self.files.base if part == "base" else self.files.adapter) / rest
            yield name, (name, partial(link_or_copy if part == "base" and rest in language else copy, source))
        yield f"base/{VISION_SHARD}", ("", self._write_vision)
        if HEAD in self.weight_map:
            yield f"base/{HEAD_SHARD}", ("", self._write_head)
        yield f"base/{contents.INDEX}", ("", self._write_index)

    def _write_vision(self, target: Path) -> None:
        names = sorted(name for name in self.weight_map if name.startswith(VISION))
        shards.write_shard(target, [(name, self._tensor(name)) for name in names])

    def _write_head(self, target: Path) -> None:
        shards.write_shard(target, [(HEAD, self._tensor(HEAD, self.head_rows))])

    def _write_index(self, target: Path) -> None:
        """Where each tensor the engine reads now lies; language tensors stay where they were."""
        infos: dict[str, shards.TensorInfo] = {}
        for shard in sorted({s for n, s in self.weight_map.items() if n.startswith(LANGUAGE)}):
            found = shards.read_header(self.folder / "base" / shard)
            infos |= {name: info for name, info in found.items() if name.startswith(LANGUAGE)}
        for shard in (VISION_SHARD, HEAD_SHARD):
            if (self.folder / "base" / shard).exists():
                infos |= shards.read_header(self.folder / "base" / shard)
        shards.write_index(target, infos)

    def _tensor(self, name: str, rows: int | None = None) -> torch.Tensor:
        with safe_open(self.files.base / self.weight_map[name], framework="pt") as shard:
            tensor: torch.Tensor = shard.get_tensor(name) if rows is None else shard.get_slice(name)[:rows]
        if not bool(torch.isfinite(tensor).all()):
            raise CheckpointError(f"{self.files.base}: {name} holds values that are not finite")
        return tensor

    def _head_rows(self) -> int | None:
        if HEAD not in self.weight_map:
            return None  # tied: the embeddings are the head, and they are taken over whole
        with safe_open(self.files.base / self.weight_map[HEAD], framework="pt") as shard:
            rows: int = shard.get_slice(HEAD).get_shape()[0]
        return min(rows, max(HEAD_ROWS, max(self.label_ids) + 1))

    # ------------------------------------------------------------ how it is made

    def _do(self, name: str, origin: str, step: Step) -> None:
        """Make one file beside its place, check it, move it there, and note it."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(PARTIAL + target.name)
        step(beside)
        entry = file_entry(beside, origin)
        if origin and entry.sha256 != self.inputs[origin]:
            beside.unlink()
            raise CheckpointError(
                f"{origin}: SHA-256 is {entry.sha256}, expected {self.inputs[origin]}: it changed meanwhile"
            )
        target.unlink(missing_ok=True)  # renaming one link of a file over another does nothing
        os.replace(beside, target)
        _sync(target.parent)
        self.done[name] = entry
        self._note()

    def _note(self) -> None:
        done = {name: asdict(entry) for name, entry in self.done.items()}
        write_json(self.folder / PROGRESS, {"format": PROGRESS_FORMAT, "fingerprint": self.fingerprint, "done": done})

    def _resume(self) -> None:
        """Take up what an earlier process left, or begin in an empty folder."""
        if not (self.folder / PROGRESS).exists():
            if any(self.folder.iterdir()):
                raise CheckpointError(
                    f"{self.folder}: holds files and no {PROGRESS}, so it is not an export of ours; name a new folder"
                )
            self._note()
            return
        noted, done = _read_progress(self.folder)
        if noted != self.fingerprint:
            raise CheckpointError(
                f"{self.folder}: an unfinished export of other inputs or by another kit; name a new folder"
            )
        for leftover in self.folder.rglob(f"{PARTIAL}*"):
            leftover.unlink()
        self.done = {
            name: entry
            for name, entry in done.items()
            if exported.is_plain(name) and _size(self.folder / name) == entry.bytes
        }

    def _verify(self, names: list[str]) -> None:
        """Files an earlier process finished: still what it noted?"""
        for name, found in zip(names, exported.hash_many(self.folder / name for name in names), strict=True):
            if found != self.done[name].sha256:
                raise CheckpointError(f"{self.folder}: {name} changed since it was exported; name a new folder")


def link_or_copy(source: Path, target: Path) -> None:
    """The same bytes under another name: a hard link where that is possible, a copy where it is not."""
    target.unlink(missing_ok=True)
    try:
        os.link(os.path.realpath(source), target)  # a hub snapshot links to its blobs
    except OSError:  # another file system, or one without links
        copy(source, target)


def copy(source: Path, target: Path) -> None:
    """A file of its own with the same bytes, on the disk when this returns."""
    with source.open("rb") as reader, target.open("wb") as writer:
        shutil.copyfileobj(reader, writer, BLOCK)
        writer.flush()
        os.fsync(writer.fileno())


def _read_progress(folder: Path) -> tuple[object, dict[str, Entry]]:
    """Fingerprint and finished files that an earlier process noted."""
    try:
        progress = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
        if progress["format"] != PROGRESS_FORMAT:
            raise ValueError(f"format {progress['format']!r}")
        return progress["fingerprint"], {name: Entry.from_json(entry) for name, entry in progress["done"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{folder / PROGRESS}: cannot be continued ({error}); name a new folder") from error


def _refuse_overlap(files: CheckpointFiles, folder: Path) -> None:
    """Neither in a folder of the checkpoint nor around one; a folder of base/ and adapter/ is one checkpoint."""
    real = folder.resolve()
    sources = [files.base.resolve(), files.adapter.resolve()]
    if sources == [sources[0].parent / "base", sources[0].parent / "adapter"]:
        sources.append(sources[0].parent)
    for source in sources:
        if real == source or real.is_relative_to(source) or source.is_relative_to(real):
            raise CheckpointError(
                f"{folder}: lies in the checkpoint it would be made from, or around it; name another folder"
            )


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """One exporter a folder; the system lets go of it when its holder dies."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CheckpointError(f"{folder}: another process is exporting into it") from None
    finally:
        os.close(handle)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() and not path.is_symlink() else -1


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
