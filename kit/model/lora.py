"""An unmerged LoRA adapter: its files, its options, and the pair of matrices of each projection.

Covers: reading a PEFT adapter folder strictly (rank, scale, FP32 pairs; every option the forward does not
implement is refused), and handing each projection its pair. Does not compute (`kit.kernels.projections`).
Does not cover: merging (the kit never does), or adapters on embeddings, the head or the vision tower.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch

from kit.kernels import Projection
from kit.model.content_sums import ContentSums
from kit.model.weights import SafetensorsStore, TensorStore, WeightError, Weights

PREFIX = "base_model.model."  # PEFT puts it before the name of every module
MAX_RANK = 128
INERT = {  # keys that do not change the forward of a loaded, unmerged adapter, or are read below
    "peft_type", "r", "lora_alpha", "target_modules", "task_type", "auto_mapping", "peft_version",
    "base_model_name_or_path", "revision", "inference_mode", "lora_dropout", "init_lora_weights",
    "layers_pattern", "megatron_core", "qalora_group_size",
}  # fmt: skip


class AdapterError(ValueError):
    """The adapter's options or tensors are not what the forward implements; lists every problem."""


class Adapter:
    """The pairs of an adapter, handed out to the projections they belong to.

    dtype: what the pairs compute in. PEFT keeps them in FP32 under a narrower model and widens them to FP64
    under an FP64 one.
    """

    def __init__(
        self,
        store: TensorStore,
        rank: int,
        alpha: float,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.rank, self.scale = rank, alpha / rank
        self.store = store
        self.tensors = 0
        self._weights = Weights(store, dtype, device)
        self._names = set(store.names())
        self._problems: list[str] = []
        for name in sorted(self._names):
            if store.shape_and_dtype(name)[1] != torch.float32:
                self._problems.append(
                    f"{name}: dtype {store.shape_and_dtype(name)[1]}, expected torch.float32"
                )

    @property
    def sums(self) -> ContentSums:
        """Sums of the pairs handed out."""
        return self._weights.sums

    def project(self, weights: Weights, module: str, rows: int, columns: int) -> Projection:
        """The projection `module` (name without `.weight`): base weight [rows, columns] and its pair, if any."""
        weight = weights.take(f"{module}.weight", rows, columns)
        down, up = (f"{PREFIX}{module}.lora_{side}.weight" for side in "AB")
        if down not in self._names and up not in self._names:
            return Projection(weight)
        pair = self._weights.take(down, self.rank, columns), self._weights.take(up, rows, self.rank)
        self.tensors += 2
        for name, tensor in zip((down, up), pair, strict=True):
            if not bool(torch.isfinite(tensor).all()):
                self._problems.append(f"{name}: holds values that are not finite")
        return Projection(weight, *pair, self.scale)

    def finish(self) -> None:
        """Raise AdapterError listing every half pair, wrong shape or dtype, and tensor nothing reads."""
        problems = list(self._problems)
        try:
            self._weights.finish()
        except WeightError as error:
            problems += [line.strip() for line in str(error).splitlines()[1:]]
        if problems:
            listed = "\n".join(f"  {problem}" for problem in problems)
            raise AdapterError(f"{self.store.source}: the adapter does not fit the model:\n{listed}")


def load_adapter(
    folder: Path,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    store: TensorStore | None = None,
) -> Adapter:
    """Read `adapter_config.json` and map `adapter_model.safetensors`, or take the tensors from `store`.

    Raises AdapterError or WeightError.
    """
    path = folder / "adapter_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdapterError(f"{path}: cannot be read as JSON: {error}") from error
    rank, alpha = parse_adapter_config(config, str(path))
    return Adapter(store or SafetensorsStore(folder, "adapter_model"), rank, alpha, device, dtype)


def parse_adapter_config(config: dict[str, Any], source: str = "adapter_config.json") -> tuple[int, float]:
    """(rank, alpha) of a plain LoRA. Raises AdapterError listing every option that is not implemented."""
    problems = []
    if config.get("peft_type") != "LORA":
        problems.append(f'peft_type: found {json.dumps(config.get("peft_type"))}, expected "LORA"')
    for key, found in config.items():
        if key == "bias" and found == "none":
            continue
        if key not in INERT and found:  # every variant of LoRA is switched on by a key that is off when empty
            expected = '"none"' if key == "bias" else "absent, null, false or empty"
            problems.append(f"{key}: found {json.dumps(found)}, expected {expected}")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        problems.append(f"r: found {json.dumps(rank)}, expected an integer of 1 to {MAX_RANK}")
    if not isinstance(alpha, int | float) or not math.isfinite(alpha) or alpha <= 0:
        problems.append(f"lora_alpha: found {json.dumps(alpha)}, expected a positive number")
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise AdapterError(f"{source}: options the native forward does not implement:\n{listed}")
    assert isinstance(rank, int)
    assert isinstance(alpha, int | float)
    return rank, float(alpha)
