"""Synthetic checkpoints: a recipe bound to a seed and a config, one tensor at a time or written to files.

Covers: `Plan`, which makes any tensor or row on any device with the same bits, and the ordinary on-disk format
of a recipe with files (`write`). Does not cover: where the files end up or whether they are intact
(`kit.checkpoint`), or checkpoints that have no tensor files (`kit.checkpoint.generated`).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kit.checkpoint import shards
from kit.checkpoint.architecture import Shape, adapter_shapes, base_shapes, head_name, tied_head
from kit.checkpoint.generator import Fill, fill
from kit.checkpoint.recipes import RECIPES, TINY, Recipe, fill_of, row_fills


@dataclass(frozen=True)
class Plan:
    """A recipe bound to a seed and to the config it is made for."""

    generator: str
    recipe: Recipe
    seed: int
    config: dict[str, Any]
    rank: int

    @property
    def head_name(self) -> str:
        """The tensor that holds the label rows."""
        return head_name(self.config)

    def base(self) -> dict[str, tuple[Shape, torch.dtype]]:
        """Shape and dtype of every base tensor, BF16, in the order of the forward."""
        return {name: (shape, torch.bfloat16) for name, shape in base_shapes(self.config).items()}

    def adapter(self) -> dict[str, tuple[Shape, torch.dtype]]:
        """Shape and dtype of every adapter tensor, float32."""
        pairs = adapter_shapes(self.config, self.rank)
        return {name: (shape, torch.float32) for name, shape in pairs.items()}

    def shapes(self) -> dict[str, tuple[Shape, torch.dtype]]:
        """Every tensor, base then adapter."""
        return self.base() | self.adapter()

    def fills(self, name: str, shape: Shape) -> tuple[Fill, dict[int, Fill]]:
        """How a tensor is filled, and the rows that are filled otherwise."""
        rows = row_fills(name, shape, self.recipe, tied=tied_head(self.config))
        return fill_of(name, shape, self.recipe), rows

    def tensor(self, name: str, device: str | torch.device = "cpu") -> torch.Tensor:
        """Make one whole tensor on a device; the same bits on every device."""
        shape, dtype = self.shapes()[name]
        out = torch.empty(shape, dtype=dtype, device=device)
        whole, own = self.fills(name, shape)
        fill(out, self.seed, name, whole)
        width = math.prod(shape[1:])
        for row, how in own.items():
            fill(out[row], self.seed, name, how, start=row * width)
        return out

    def rows(self, name: str, rows: Sequence[int], device: str | torch.device = "cpu") -> torch.Tensor:
        """Some rows of a tensor, without the rest: [len(rows), ...] with the bits they have in `tensor(name)`."""
        shape, dtype = self.shapes()[name]
        out = torch.empty((len(rows), *shape[1:]), dtype=dtype, device=device)
        whole, own = self.fills(name, shape)
        width = math.prod(shape[1:])
        for place, row in enumerate(rows):
            fill(out[place], self.seed, name, own.get(row, whole), start=row * width)
        return out


def plan(generator: str, seed: int) -> Plan:
    """The plan of a named generator. Raises ValueError for an unknown name."""
    if generator not in RECIPES:
        raise ValueError(f"unknown generator {generator!r}: expected one of {', '.join(RECIPES)}")
    recipe = RECIPES[generator]
    files = static_files(recipe)
    config = json.loads(files["base/config.json"].read_text(encoding="utf-8"))
    adapter = json.loads(files["adapter/adapter_config.json"].read_text(encoding="utf-8"))
    return Plan(generator, recipe, seed, config, adapter["r"])


def static_files(recipe: Recipe) -> dict[str, Path]:
    """The committed small files of a recipe by their name in the checkpoint: its own, and tiny's for the rest."""
    found: dict[str, Path] = {}
    for folder in (TINY, recipe.static):
        for path in sorted(folder.glob("*/*")):
            if path.suffix in (".json", ".jinja"):
                found[f"{path.parent.name}/{path.name}"] = path
    if recipe.package_tokenizer:
        del found["base/tokenizer.json"]
    return found


def write(generator: str, seed: int, folder: Path) -> None:
    """Write the checkpoint: `folder`/base and `folder`/adapter in the ordinary on-disk format.

    `folder` must be empty. The bytes depend on generator, seed and the committed static files alone.
    """
    made = plan(generator, seed)
    copy_static(made.recipe, folder)
    infos: dict[str, shards.TensorInfo] = {}
    groups = list(_split(base_shapes(made.config), made.recipe.shards))
    for number, names in enumerate(groups, 1):
        path = folder / "base" / f"model-{number:05}-of-{len(groups):05}.safetensors"
        infos |= shards.write_shard(path, ((name, made.tensor(name)) for name in names))
    shards.write_index(folder / "base" / "model.safetensors.index.json", infos)
    shards.write_shard(
        folder / "adapter" / "adapter_model.safetensors",
        ((name, made.tensor(name)) for name in sorted(made.adapter())),
    )


def copy_static(recipe: Recipe, folder: Path) -> None:
    """Copy the small files of a recipe into the empty `folder`."""
    for name, source in static_files(recipe).items():
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(source, folder / name)


def _split(shapes: dict[str, Shape], count: int) -> Iterator[list[str]]:
    """Cut the tensors, in order, into `count` groups of about equal bytes."""
    total = sum(math.prod(shape) for shape in shapes.values())
    group: list[str] = []
    done = 0
    cut = 1
    for name, shape in shapes.items():
        group.append(name)
        done += math.prod(shape)
        if cut < count and done * count >= total * cut:
            yield group
            group, cut = [], cut + 1
    yield group
