"""What a run writes while it goes: log.jsonl, one line an event, and recipe.json.

Covers: lines with seconds and phase, also printed; a run taken up again appends; what a recipe says of an earlier run that
a later one begins with. Does not cover: what an event means.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kit.checkpoint.training.settings import Settings
from kit.evidence.records import sha256_file, write_json

PACKAGES = ("torch", "transformers", "peft", "numpy", "tokenizers", "pillow", "safetensors", "triton")


class Clock:
    """Seconds of a run, those before it was taken up again counted in."""

    def __init__(self, before: float = 0.0) -> None:
        self._start = time.monotonic() - before

    def now(self) -> float:
        return time.monotonic() - self._start


class Journal:
    """log.jsonl of a folder. Every line: event, seconds, and what is given."""

    def __init__(self, folder: Path, clock: Clock, quiet: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "log.jsonl"
        self._clock, self._quiet = clock, quiet

    def write(self, event: str, **fields: Any) -> None:
        """Append one line. Numbers that are none become null."""
        line = json.dumps(
            _plain({"event": event, "seconds": round(self._clock.now(), 1), **fields}), ensure_ascii=False
        )
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        if not self._quiet:
            print(line, flush=True)


def read(folder: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last line cut off by a kill is left out."""
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def write_recipe(folder: Path, settings: Settings, device: str, **more: Any) -> None:
    """recipe.json: what it takes to do the same again, and what came of it so far."""
    write_json(
        folder / "recipe.json",
        _plain({
            "format": "kit-training-recipe/1",
            "command": ["python", "-m", "kit.checkpoint.training", *sys.argv[1:]],
            "python": platform.python_version(),
            "packages": {name: _version(name) for name in PACKAGES},
            "device": device,
            "settings": asdict(settings),
            **more,
        }),
    )  # fmt: skip


def base_of(folder: Path) -> Path:
    """The rounded base of a run, there once its phase is over."""
    return folder / "checkpoints" / "base.pt"


def adapter_of(folder: Path) -> Path:
    """The adapter of a run, there once its phase is over."""
    return folder / "checkpoints" / "adapter.pt"


def begun_from(folder: Path | None, adapter_too: bool = False) -> dict[str, Any] | None:
    """What a recipe says of the run whose base a later one begins with: that base's digest and that run's own recipe.

    folder: of the earlier run; None where there is none, which a recipe says as null. adapter_too: the later one goes on with
    its adapter, whose digest is said too. Raises FileNotFoundError without a base, or without an adapter that is wanted.
    """
    if folder is None:
        return None
    base, recipe = base_of(folder), folder / "recipe.json"
    if not base.is_file():
        raise FileNotFoundError(f"{base} is missing: --from wants the folder of a run whose base is done")
    found = json.loads(recipe.read_text(encoding="utf-8")) if recipe.is_file() else None
    digests = {"base_sha256": sha256_file(base)}
    if adapter_too:
        adapter = adapter_of(folder)
        if not adapter.is_file():
            raise FileNotFoundError(f"{adapter} is missing: --keep-base wants the folder of a run whose adapter is done")
        digests["adapter_sha256"] = sha256_file(adapter)
    return {**digests, "recipe": found}


def known_of(folder: Path | None) -> dict[str, dict[str, float]]:
    """What an earlier run could do at its end: held-out accuracy by family and level; {} where no results say so."""
    results = folder / "results.json" if folder else None
    if results is None or not results.is_file():
        return {}
    found: dict[str, dict[str, float]] = json.loads(results.read_text(encoding="utf-8"))["held_out"]["by_level"]
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _plain(value: Any) -> Any:
    """JSON without NaN or infinities."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
