"""The oracle: the same model in FP64, the truth that both sides of a comparison are measured against.

Covers: loading (config, tokenizer, a check of every tensor's name and shape; no weight stays in memory), and the
label logits and final-norm row of every question of many requests, rounded to nothing narrower than FP64.
What is model and what is arithmetic is written down in docs/oracle.md.
Does not cover: answers over HTTP (it is no engine of a campaign), or errors and their bounds
(`kit.campaign.oracle_errors`). Config, tokenizer, positions of tokens and pixels of images are those of the
engines, as they belong to the request; the forward is the oracle's own (`kit.engine.oracle_walk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit import checkpoint
from kit.checkpoint.tokens import load_tokenizer
from kit.engine.base import Prepared
from kit.engine.cuda_device import give_back
from kit.engine.oracle_walk import Form, Prompt, Record, Walk
from kit.engine.oracle_weights import Float64Weights, OracleError
from kit.engine.prepare import Preparer
from kit.model.config import load_config

if TYPE_CHECKING:
    from kit.profile import Profile

__all__ = ["Form", "Oracle", "OracleError", "OracleResult", "Tap", "load_oracle"]

Tap = Callable[[str, Tensor], None]  # (stage, its value on the oracle's device)
HELD = {"cpu": 2 << 30, "cuda": 24 << 30}  # bytes of rows that wait between two layers


@dataclass(frozen=True)
class OracleResult:
    """One question. logits: of its candidates, in their order. hidden: FP64 [H] on the CPU, after the final norm.

    stages: name -> FP64 value on the CPU, in walking order, where they were asked for.
    """

    question_id: str
    logits: tuple[float, ...]
    hidden: Tensor
    stages: Mapping[str, Tensor] = field(default_factory=dict)


class Oracle:
    """The FP64 forward of one checkpoint on one device."""

    def __init__(self, profile: Profile, device: str | torch.device | None = None) -> None:
        self.profile = profile
        self.device = torch.device(device or profile.runtime.device)
        files = checkpoint.locate(profile)
        self.calibration, self.digest = files.calibration, files.digest
        self.preparer = Preparer(load_tokenizer(files.base), profile)
        self.config = load_config(files.base)
        self.weights = Float64Weights(files, self.config, self.device)

    def prepare(self, body: bytes) -> Prepared:
        """See `kit.engine.base.Engine.prepare`."""
        return self.preparer.prepare(body)

    def decide_all(
        self, prepared: Sequence[Prepared], form: Form = "stacked", *, stages: bool = False, tap: Tap | None = None
    ) -> list[tuple[OracleResult, ...]]:
        """One tuple a request, one result a question. Every weight is read once for as many requests as fit.

        form: "stacked" runs prompts of equal length together, "alone" each by itself, "row0" as the first of a
        batch of two, "padded" behind masked padding; all are one function in real numbers.
        stages: keep every stage of every prompt (large: for few prompts). tap: is called with each stage of a
        single question. Raises OracleError where a tap is given more than one.
        """
        if tap and sum(len(request.questions) for request in prepared) != 1:
            raise OracleError("a tap follows one question: give one request with one question")
        results: list[tuple[OracleResult, ...]] = []
        for portion in self._portions(prepared):
            with torch.no_grad():
                results += self._decide(portion, form, stages, tap)
        return results

    def _portions(self, prepared: Sequence[Prepared]) -> Iterator[list[Prepared]]:
        """Requests in order, as many at a time as HELD allows; one at least."""
        portion: list[Prepared] = []
        held = 0
        for request in prepared:
            size = self._held(request)
            if portion and held + size > HELD.get(self.device.type, 0):
                yield portion
                portion, held = [], 0
            portion.append(request)
            held += size
        if portion:
            yield portion

    def _held(self, request: Prepared) -> int:
        """Bytes of a request between two layers: rows of its prompts, of its patches and of their features."""
        patches = sum(frames * rows * columns for frames, rows, columns in request.grids)
        tokens = request.input_tokens + patches // self.config.vision.spatial_merge_size**2
        return 8 * (tokens * self.config.text.hidden_size + patches * self.config.vision.hidden_size)

    def _decide(
        self, prepared: Sequence[Prepared], form: Form, stages: bool, tap: Tap | None
    ) -> Iterator[tuple[OracleResult, ...]]:
        prompts = [Prompt(number, item) for number, request in enumerate(prepared) for item in request.questions]
        kept: list[dict[str, Tensor]] = [{} for _ in prompts]
        record = _recorder(kept, stages, tap)
        labels = self.preparer.tokenizer.label_ids
        rows, logits = Walk(self.weights, self.config, self.device, labels, prompts, record).run(prepared, form)
        results = iter(
            OracleResult(prompt.item.question.id, tuple(values[: len(prompt.item.label_ids)]), row, own)
            for prompt, row, values, own in zip(prompts, rows, logits.tolist(), kept, strict=True)
        )
        for request in prepared:
            yield tuple(islice(results, len(request.questions)))

    def describe(self) -> dict[str, Any]:
        """JSON facts for the evidence."""
        return {
            "backend": "oracle",
            "checkpoint_digest": self.digest,
            "dtype": "float64",
            "device": self.device.type,
            "adapter": {"pairs": self.weights.pairs, "rank": self.weights.rank, "scale": self.weights.scale},
            "versions": {"torch": torch.__version__},
        }

    def close(self) -> None:
        """Give what the last walk took back to the device; no weight is held between calls."""
        give_back(self.device)


def _recorder(kept: list[dict[str, Tensor]], stages: bool, tap: Tap | None) -> Record | None:
    if not stages and tap is None:
        return None

    def record(prompt: int, name: str, value: Tensor) -> None:
        if tap:
            tap(name, value)
        if stages:
            kept[prompt][name] = value.cpu().clone()

    return record


def load_oracle(profile: Profile, device: str | torch.device | None = None) -> Oracle:
    """The oracle of a profile's checkpoint, on the profile's device or another.

    Raises CheckpointError, ConfigError, AdapterError, WeightError, or OracleError for a checkpoint whose tensors are
    not those of its architecture.
    """
    return Oracle(profile, device)
