"""What a run keeps of its checkpoint: hashes, calibration, and the 32 label rows an auditor can multiply with.

Covers: checkpoint.json and records/label_head.bin. Does not cover: verifying a download (`kit checkpoint
PROFILE verify`), which for 55 GB is not repeated in every run.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kit import checkpoint
from kit.checkpoint.files import hash_files
from kit.checkpoint.shards import read_index
from kit.checkpoint.tokens import load_tokenizer
from kit.evidence.records import sha256_bytes, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from kit.campaign.run_folder import Run

FORMAT = "kit-checkpoint/1"
HEAD = "lm_head.weight"
HEAD_FILE = "records/label_head.bin"


def record_checkpoint(run: Run) -> dict[str, Any]:
    """checkpoint.json of a run; writes the label rows (BF16, little endian, label order) beside it."""
    files = checkpoint.locate(run.profile)
    tokenizer = load_tokenizer(files.base)
    rows, shape = label_rows(files.base, tokenizer.label_ids)
    (run.path / "records").mkdir(exist_ok=True)
    write_atomic(run.path / HEAD_FILE, rows)
    small = run.profile.checkpoint.kind != "hub"  # hub files are pinned one by one and hashed by `verify`
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
        "tensors": inventory_summary(files.base, files.adapter),
        "tokenizer": tokenizer.source.replace(str(files.base), "base"),
        "calibration": asdict(files.calibration),
        "label_head": {
            "ids": list(tokenizer.label_ids),
            "rows_sha256": sha256_bytes(rows),
            "file": HEAD_FILE,
            "shape": shape,
        },
    }


def label_rows(base: Path, label_ids: tuple[int, ...]) -> tuple[bytes, list[int]]:
    """The label rows of the untied head as little-endian BF16 bytes, and their shape [32, hidden]."""
    import torch
    from safetensors import safe_open

    with safe_open(base / read_index(base / "model.safetensors.index.json")[HEAD], framework="pt") as shard:
        head = shard.get_slice(HEAD)
        rows = torch.stack([head[index] for index in label_ids])
    if rows.dtype != torch.bfloat16:
        rows = rows.to(torch.bfloat16)
    return rows.contiguous().view(torch.int16).numpy().astype("<i2").tobytes(), list(rows.shape)


def inventory_summary(base: Path, adapter: Path) -> dict[str, dict[str, int]]:
    """Number of tensors by dtype, of the base and of the adapter, from the shard headers."""
    from kit.checkpoint.shards import read_header

    summary: dict[str, dict[str, int]] = {}
    for name, folder in (("base", base), ("adapter", adapter)):
        counts: dict[str, int] = {}
        for shard in sorted(folder.glob("*.safetensors")):
            for info in read_header(shard).values():
                counts[info.dtype] = counts.get(info.dtype, 0) + 1
        summary[name] = dict(sorted(counts.items()))
    return summary
