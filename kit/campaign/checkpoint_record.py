"""What a run keeps of its checkpoint: hashes, calibration, and the 32 label rows an auditor can multiply with.

Covers: checkpoint.json and records/label_head.bin, from files or from a recipe that makes every tensor; for
both, one sum over all tensors, which every engine must report too. Does not cover: verifying a download (`kit
checkpoint PROFILE verify`), which for 55 GB is not repeated in every run, nor summed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kit import checkpoint
from kit.checkpoint.files import hash_files
from kit.checkpoint.shards import NAMES, read_header, read_index
from kit.checkpoint.tokens import load_tokenizer
from kit.evidence.records import sha256_bytes, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from kit.campaign.run_folder import Run
    from kit.checkpoint import CheckpointFiles
    from kit.profile import Profile

FORMAT = "kit-checkpoint/1"
HEAD = "lm_head.weight"
HEAD_FILE = "records/label_head.bin"


def record_checkpoint(run: Run) -> dict[str, Any]:
    """checkpoint.json of a run; writes the label rows (BF16, little endian, label order) beside it."""
    files = checkpoint.locate(run.profile)
    tokenizer = load_tokenizer(files.base)
    rows, shape = label_rows(files, tokenizer.label_ids)
    (run.path / "records").mkdir(exist_ok=True)
    write_atomic(run.path / HEAD_FILE, rows)
    # Files of the hub are pinned one by one, those of an export held to its marker: both were hashed already.
    small = run.profile.checkpoint.kind not in ("hub", "export")
    return {
        "format": FORMAT,
        "kind": run.profile.checkpoint.kind,
        "source": files.source,
        "digest": files.digest,
        "files": {
            f"{part}/{name}": digest
            for part, folder in (("base", files.base), ("adapter", files.adapter))
            for name, digest in (hash_files(folder).items() if small else ())
        },
        "tensors": inventory_summary(files),
        "weights_sum": weights_sum(run.profile, files) if small else None,
        "tokenizer": tokenizer.source.replace(str(files.base), "base"),
        "calibration": asdict(files.calibration),
        "label_head": {
            "ids": list(tokenizer.label_ids),
            "rows_sha256": sha256_bytes(rows),
            "file": HEAD_FILE,
            "shape": shape,
        },
    }


def label_rows(files: CheckpointFiles, label_ids: tuple[int, ...]) -> tuple[bytes, list[int]]:
    """The label rows of the head as little-endian BF16 bytes, and their shape [32, hidden].

    Made alone where the head is generated, with the bits they have in it.
    """
    import torch

    if files.plan is not None:
        rows = files.plan.rows(files.plan.head_name, label_ids)
    else:
        rows = _rows_on_disk(files.base, label_ids)
    rows = rows.to(torch.bfloat16).contiguous()
    return rows.view(torch.int16).numpy().astype("<i2").tobytes(), list(rows.shape)


def _rows_on_disk(base: Path, label_ids: tuple[int, ...]) -> Tensor:
    import torch
    from safetensors import safe_open

    with safe_open(base / read_index(base / "model.safetensors.index.json")[HEAD], framework="pt") as shard:
        head = shard.get_slice(HEAD)
        return torch.stack([head[index] for index in label_ids])


def inventory_summary(files: CheckpointFiles) -> dict[str, dict[str, int]]:
    """Number of tensors by dtype, of the base and of the adapter, from the shard headers or the recipe."""
    plan = files.plan
    if plan is not None:
        parts = {
            "base": [NAMES[dtype] for _, dtype in plan.base().values()],
            "adapter": [NAMES[dtype] for _, dtype in plan.adapter().values()],
        }
    else:
        parts = {
            name: [info.dtype for shard in sorted(folder.glob("*.safetensors")) for info in read_header(shard).values()]
            for name, folder in (("base", files.base), ("adapter", files.adapter))
        }
    return {name: dict(sorted(Counter(dtypes).items())) for name, dtypes in parts.items()}


def weights_sum(profile: Profile, files: CheckpointFiles) -> str:
    """The sum every engine of the profile has to report, over tensors read or made on its device."""
    import torch

    from kit.model.weights import sum_contents

    device = profile.runtime.device
    found = sum_contents(files, getattr(torch, profile.runtime.dtype), device).digest()
    if device == "cuda":
        torch.cuda.empty_cache()  # the engines that follow have the device to themselves
    return found
