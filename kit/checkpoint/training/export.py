"""What training leaves, as the checkpoint the kit ships: `python -m kit.checkpoint.training.export TRAINED`.

Covers: base and adapter as safetensors with the committed small files beside them, checked as any checkpoint is, and
moved into kit/checkpoint/decider (or another folder) file by file. The bytes depend on the tensors, the calibration
and the small files alone. TRAINED holds checkpoints/base.pt, checkpoints/adapter.pt (tensors by name) and
checkpoints/decision_config.json (temperatures and threshold).
Does not cover: training, or the export of a checkpoint for the native engine (`kit.checkpoint.export`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kit.checkpoint import CheckpointFiles, contents, read_calibration, shards
from kit.checkpoint.architecture import Shape, adapter_shapes, base_shapes
from kit.checkpoint.files import CheckpointError, digest_of, hash_files, list_files
from kit.evidence.records import write_json

DECIDER = Path(__file__).resolve().parents[1] / "decider"
STATIC = (
    "base/config.json", "base/preprocessor_config.json", "base/chat_template.jinja", "base/tokenizer.json",
    "base/tokenizer_config.json", "adapter/adapter_config.json",
)  # fmt: skip
SHARD_BYTES = 8_000_000  # a file of the repository
ALL_BYTES = 18_000_000  # the whole folder


def decider_config() -> dict[str, Any]:
    """config.json of the decider."""
    config: dict[str, Any] = json.loads((DECIDER / "base" / "config.json").read_text(encoding="utf-8"))
    return config


def adapter_options() -> dict[str, Any]:
    """adapter_config.json of the decider: rank, scale and the modules it adapts."""
    options: dict[str, Any] = json.loads((DECIDER / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    return options


def write(
    base: Mapping[str, Tensor], adapter: Mapping[str, Tensor], calibration: Mapping[str, Any], folder: Path
) -> str:
    """Write base/ and adapter/ of `folder` and return their digest.

    base: every tensor of the model, rounded to BF16 here. adapter: every LoRA pair under PEFT's names, kept in FP32.
    calibration: the content of decision_config.json. Files of an earlier export are replaced once the new ones are
    known to be good. Raises CheckpointError for tensors that are missing, unknown, of another shape or not finite,
    and for a folder that would be larger than it may be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=folder))
    try:
        for name in STATIC:
            (made / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(DECIDER / name, made / name)
        write_json(made / "adapter" / "decision_config.json", dict(calibration))
        _write_base(base, made / "base")
        shapes = adapter_shapes(decider_config(), adapter_options()["r"])
        pairs = _fitting(adapter, shapes, torch.float32, "adapter")
        shards.write_shard(made / "adapter" / contents.ADAPTER, sorted(pairs.items()))
        digest = _verified(made)
        _install(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return digest


def _write_base(base: Mapping[str, Tensor], folder: Path) -> None:
    tensors = _fitting(base, base_shapes(decider_config()), torch.bfloat16, "base")
    groups = list(_groups(tensors))
    infos: dict[str, shards.TensorInfo] = {}
    for number, names in enumerate(groups, 1):
        path = folder / f"model-{number:05}-of-{len(groups):05}.safetensors"
        infos |= shards.write_shard(path, [(name, tensors[name]) for name in names])
    shards.write_index(folder / contents.INDEX, infos)


def _fitting(
    tensors: Mapping[str, Tensor], shapes: Mapping[str, Shape], dtype: torch.dtype, part: str
) -> dict[str, Tensor]:
    """The tensors in the order of `shapes`, in `dtype`. Raises CheckpointError where they are not those."""
    odd = sorted(tensors.keys() ^ shapes.keys())
    odd += [name for name in shapes if name in tensors and tuple(tensors[name].shape) != shapes[name]]
    if odd:
        raise CheckpointError(
            f"{part}: {len(odd)} tensors are missing, unknown or of another shape than config.json implies: "
            f"{', '.join(odd[: contents.SHOWN])}"
        )
    return {name: tensors[name].detach().to(dtype) for name in shapes}


def _groups(tensors: Mapping[str, Tensor]) -> Iterator[list[str]]:
    """Names in their order, cut where the next tensor would make a shard too large; a header takes its share."""
    most = SHARD_BYTES - 64 * 1024
    group: list[str] = []
    size = 0
    for name, tensor in tensors.items():
        length = tensor.numel() * tensor.element_size()
        if group and size + length > most:
            yield group
            group, size = [], 0
        group.append(name)
        size += length
    yield group


def _verified(made: Path) -> str:
    """The digest of a new checkpoint that nothing is wrong with. Raises CheckpointError."""
    base, adapter = made / "base", made / "adapter"
    digest = digest_of(hash_files(made))
    files = CheckpointFiles(base, adapter, digest, read_calibration(adapter), "the new checkpoint")
    if problems := contents.verify(files):
        raise CheckpointError(f"not fit to be shipped: {'; '.join(problems)}")
    return digest


def _install(made: Path, folder: Path) -> None:
    """Move the new files to their places, then remove tensors of an earlier export."""
    new = list_files(made)
    stay = {path for name, path in list_files(folder).items() if name.partition("/")[0] not in ("base", "adapter")}
    total = sum(path.stat().st_size for path in (*new.values(), *stay))
    if total > ALL_BYTES:
        raise CheckpointError(f"{folder}: would hold {total:,} bytes, expected at most {ALL_BYTES:,}")
    for name, path in new.items():
        (folder / name).parent.mkdir(exist_ok=True)
        os.replace(path, folder / name)
    for name, path in list_files(folder).items():
        if name not in new and path not in stay:
            path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the trained decider as the checkpoint the kit ships.")
    parser.add_argument("trained", type=Path, help="output folder of a training")
    parser.add_argument("folder", type=Path, nargs="?", default=DECIDER, help="where base/ and adapter/ go")
    chosen = parser.parse_args()
    found = chosen.trained / "checkpoints"
    base, adapter = (torch.load(found / f"{name}.pt", map_location="cpu", weights_only=True) for name in ("base", "adapter"))
    calibration = json.loads((found / "decision_config.json").read_text(encoding="utf-8"))
    digest = write(base, adapter, calibration, chosen.folder)
    size = sum(path.stat().st_size for path in list_files(chosen.folder).values())
    print(f'{chosen.folder}: {size:,} bytes\ndigest = "{digest}"')


if __name__ == "__main__":
    main()
