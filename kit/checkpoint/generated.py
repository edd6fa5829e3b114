"""Checkpoints whose tensors exist only as a recipe: small files on disk, every tensor made where it is used.

Covers: the store that hands a model its tensors (`GeneratedStore`), the canonical inventory whose SHA-256 is
the checkpoint's digest, and the small files (`write_static`). The digest is taken over what the values are a
function of, so it is known without making one of them. Does not cover: the values (`kit.checkpoint.generator`)
or what an engine holds after loading, which it reports itself (`kit.model.content_sums`).
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import torch

from kit.checkpoint.files import CheckpointError, hash_files
from kit.checkpoint.generator import Fill
from kit.checkpoint.shards import NAMES
from kit.checkpoint.synthetic import Plan, copy_static
from kit.checkpoint.tokens import build_package_tokenizer

FORMAT = "kit-generated/1"
Part = Literal["base", "adapter"]


class GeneratedStore:
    """The tensors of one half of a plan, made on `device` when asked for and not kept.

    One tensor is made at a time, however many threads ask: the lanes of the hash take some hundred MiB.
    """

    def __init__(self, plan: Plan, part: Part, device: str | torch.device = "cpu") -> None:
        self.source = f"generator {plan.generator}, seed {plan.seed}, {part}"
        self._plan, self._device = plan, torch.device(device)
        self._shapes = plan.base() if part == "base" else plan.adapter()
        self._one_at_a_time = threading.Lock()

    def names(self) -> Iterable[str]:
        return self._shapes.keys()

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], torch.dtype]:
        return self._shapes[name]

    def tensor(self, name: str) -> torch.Tensor:
        with self._one_at_a_time:
            return self._plan.tensor(name, self._device)


def write_static(plan: Plan, folder: Path) -> None:
    """Write the small files into the empty `folder`: base/ and adapter/ without one safetensors file.

    Raises CheckpointError when the recipe's tokenizer comes from a package that is not installed.
    """
    copy_static(plan.recipe, folder)
    if plan.recipe.package_tokenizer:
        (folder / "base" / "tokenizer.json").write_bytes(build_package_tokenizer().read_bytes())


def digest_of_plan(plan: Plan, folder: Path) -> str:
    """SHA-256 of the canonical inventory of a plan and of the small files in `folder`."""
    return hashlib.sha256(canonical(plan, hash_files(folder))).hexdigest()


def canonical(plan: Plan, files: dict[str, str]) -> bytes:
    """The inventory as sorted, compact JSON: generator, seed, files, and what every tensor is filled with.

    files: relative name -> SHA-256. A fill is [scale as a hexadecimal float, offset, echo or null].
    """
    data = {
        "format": FORMAT,
        "generator": plan.generator,
        "seed": plan.seed,
        "files": files,
        "tensors": {name: _tensor(plan, name, *info) for name, info in plan.shapes().items()},
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _tensor(plan: Plan, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> dict[str, Any]:
    whole, rows = plan.fills(name, shape)
    return {
        "dtype": NAMES[dtype],
        "shape": list(shape),
        "fill": _fill(whole),
        "rows": {str(row): _fill(how) for row, how in rows.items()},
    }


def _fill(how: Fill) -> list[Any]:
    echo = [how.echo.name, how.echo.start, how.echo.share] if how.echo else None
    return [how.scale.hex(), how.offset, echo]


def inventory(plan: Plan, folder: Path, source: str) -> dict[str, Any]:
    """Digest, small files and tensors as JSON data, in the form `kit.checkpoint.contents.inventory` has."""
    files = hash_files(folder)
    parts = {"base": plan.base(), "adapter": plan.adapter()}
    return {
        "digest": hashlib.sha256(canonical(plan, files)).hexdigest(),
        "source": source,
        "files": files,
        "parameters": {
            part: sum(math.prod(shape) for shape, _ in infos.values()) for part, infos in parts.items()
        },
        "tensors": {
            part: {name: [NAMES[dtype], list(shape), "generated"] for name, (shape, dtype) in sorted(infos.items())}
            for part, infos in parts.items()
        },
    }


def verify(plan: Plan, folder: Path, digest: str) -> list[str]:
    """Every problem of the small files and of the recipe; the tensors follow from both."""
    from kit.checkpoint.contents import adapter_option_problems

    problems: list[str] = []
    try:
        found = digest_of_plan(plan, folder)
        if found != digest:
            problems.append(f"recipe and small files give digest {found}, expected {digest}")
        options = json.loads((folder / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
        problems += adapter_option_problems(options)
    except (OSError, ValueError, CheckpointError) as error:
        problems.append(str(error))
    return problems
