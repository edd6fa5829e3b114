"""The oracle: the same model in FP64, the truth that both sides of a comparison are measured against.

Covers: loading (config, tokenizer, stores; no weight stays in memory), the walk of many prompts through one layer
after the other, label logits and the final-norm row of every question without a rounding to anything narrower,
the forms a prompt can be run in to show that a batch or padding is harmless, and the values between the stages.
What is model and what is arithmetic is written down in docs/oracle.md.
Does not cover: answers over HTTP (it is no engine of a campaign), or errors and their bounds
(`kit.campaign.oracle_errors`). Shared with the engines are config, tokenizer, positions of tokens and pixels of
images, which belong to the request; the forward is the oracle's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from kit import checkpoint
from kit.checkpoint.tokens import load_tokenizer
from kit.engine.base import Prepared, PreparedQuestion
from kit.engine.cuda_device import give_back
from kit.engine.oracle_language import LayerOutcome, Layout, layer, rms_norm, rotary
from kit.engine.oracle_vision import features
from kit.engine.oracle_weights import Float64Weights, OracleError
from kit.engine.prepare import Preparer
from kit.model.config import load_config

if TYPE_CHECKING:
    from kit.profile import Profile

Form = Literal["stacked", "alone", "row0", "padded"]
Tap = Callable[[str, Tensor], None]
ROWS = {"cpu": 2048, "cuda": 8192}  # tokens that go through a layer at once
PADDING = 7  # rows in front of a prompt in the form "padded": no divisor of a chunk
PREFIX = "model.language_model"


@dataclass(frozen=True)
class OracleResult:
    """One question. logits: of its candidates, in their order. hidden: FP64 [H] on the CPU, after the final norm.

    stages: name -> FP64 value on the CPU, in walking order, where they were asked for.
    """

    question_id: str
    logits: tuple[float, ...]
    hidden: Tensor
    stages: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass
class _Batch:
    """Prompts of one length on their way: x [S, T, H], row i belongs to prompt members[i]; others are company."""

    members: tuple[int, ...]
    x: Tensor
    layout: Layout


@dataclass(frozen=True)
class _Prompt:
    """One question of one request."""

    request: int
    item: PreparedQuestion


class Oracle:
    """The FP64 forward of one checkpoint on one device. Holds no weights between calls."""

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
        """One tuple a request, one result a question. Every weight is read once, however many requests there are.

        form: "stacked" runs prompts of equal length together, "alone" each by itself, "row0" as the first of a
        batch of two, "padded" behind masked padding; all are one function in real numbers.
        stages: keep every stage of every prompt (large: for few prompts). tap: is called with each stage of a
        single question instead. Raises OracleError where more than one is given to a tap.
        """
        prompts = [_Prompt(number, item) for number, request in enumerate(prepared) for item in request.questions]
        if tap and len(prompts) != 1:
            raise OracleError(f"a tap follows one question, and {len(prompts)} were given")
        kept: list[dict[str, Tensor]] = [{} for _ in prompts]

        def record(prompt: int, name: str, value: Tensor) -> None:
            if tap:
                tap(name, value)
            if stages:
                kept[prompt][name] = value.cpu().clone()

        walk = _Walk(self, prompts, record if tap or stages else None)
        with torch.inference_mode():
            rows, logits = walk.run(prepared, form)
        results = [
            OracleResult(prompt.item.question.id, tuple(logits[i][: len(prompt.item.label_ids)].tolist()), rows[i], kept[i])
            for i, prompt in enumerate(prompts)
        ]
        found = iter(results)
        return [tuple(next(found) for _ in request.questions) for request in prepared]

    def describe(self) -> dict[str, Any]:
        """JSON facts for the evidence."""
        return {
            "backend": "oracle",
            "checkpoint_digest": self.digest,
            "dtype": "float64",
            "device": str(self.device),
            "adapter": {"pairs": self.weights.pairs, "rank": self.weights.rank, "scale": self.weights.scale},
            "versions": {"torch": torch.__version__},
        }

    def close(self) -> None:
        """Give the memory of the last walk back to the device."""
        give_back(self.device)


class _Walk:
    """One call of `decide_all`: all prompts, layer by layer."""

    def __init__(
        self, oracle: Oracle, prompts: Sequence[_Prompt], record: Callable[[int, str, Tensor], None] | None
    ) -> None:
        self.weights, self.config, self.device = oracle.weights, oracle.config, oracle.device
        self.label_ids = oracle.preparer.tokenizer.label_ids
        self.prompts, self.record = prompts, record

    def run(self, prepared: Sequence[Prepared], form: Form) -> tuple[Tensor, Tensor]:
        """(final-norm rows [prompts, H], label logits [prompts, labels]), FP64 on the CPU."""
        text = self.config.text
        batches = list(self._batches(self._embedded(prepared), form))
        for index, kind in enumerate(text.layer_types):
            weights = self.weights.group(f"{PREFIX}.layers.{index}")
            for batch in batches:
                outcome = layer(weights, text, kind, batch.x, batch.layout)
                batch.x = outcome.residual
                self._record_layer(batch, f"layer.{index:02}", outcome)
            del weights
        return self._read_out(batches)

    def _embedded(self, prepared: Sequence[Prepared]) -> list[Tensor]:
        """The embeddings of every prompt, [T, H], image rows overwritten by the features of its request."""
        seen = self._features(prepared)
        ids = sorted({token for prompt in self.prompts for token in prompt.item.input_ids})
        place = {token: row for row, token in enumerate(ids)}
        table = self.weights.embedding_rows(ids)
        embedded = []
        for number, prompt in enumerate(self.prompts):
            tokens = prompt.item.input_ids
            x = table[torch.tensor([place[token] for token in tokens], device=self.device)]
            if prompt.request in seen:
                x[torch.tensor(tokens, device=self.device) == self.config.image_token_id] = seen[prompt.request]
            if self.record:
                self.record(number, "embedding", x)
            embedded.append(x)
        return embedded

    def _features(self, prepared: Sequence[Prepared]) -> dict[int, Tensor]:
        requests = [
            (number, request.grids, request.pixels)
            for number, request in enumerate(prepared)
            if request.pixels is not None
        ]
        return features(self.weights, self.config.vision, requests, self._record_vision if self.record else None)

    def _record_vision(self, request: int, name: str, value: Tensor) -> None:
        for number, prompt in enumerate(self.prompts):
            if prompt.request == request and self.record:
                self.record(number, name, value)

    def _batches(self, embedded: list[Tensor], form: Form) -> Iterator[_Batch]:
        for members in self._members(form):
            x = torch.stack([embedded[i] for i in members])
            positions = torch.tensor([self.prompts[i].item.positions for i in members], device=self.device)
            padding = 0
            if form == "row0":  # company of the same length and another content
                x, positions = torch.cat((x, x.flip(1))), positions.expand(2, -1, -1)
            elif form == "padded":
                padding = PADDING
                x = torch.cat((x[:, :1].expand(-1, padding, -1), x), dim=1)
                positions = torch.cat((positions[..., :1].expand(-1, -1, padding), positions), dim=-1)
            cos, sin = rotary(self.config.text, positions.transpose(0, 1))
            yield _Batch(members, x, Layout(cos, sin, padding))

    def _members(self, form: Form) -> Iterator[tuple[int, ...]]:
        """Which prompts share a batch: those of one length up to a number of rows, or each alone."""
        lengths = [len(prompt.item.input_ids) for prompt in self.prompts]
        order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        at = 0
        while at < len(order):
            most = max(1, ROWS[self.device.type] // lengths[order[at]]) if form == "stacked" else 1
            same = [i for i in order[at : at + most] if lengths[i] == lengths[order[at]]]
            yield tuple(same)
            at += len(same)

    def _record_layer(self, batch: _Batch, name: str, outcome: LayerOutcome) -> None:
        if self.record is None:
            return
        for row, member in enumerate(batch.members):
            for suffix, value in ((".mixer", outcome.mixer), (".mlp", outcome.mlp), ("", outcome.residual)):
                self.record(member, name + suffix, value[row, batch.layout.padding :])
            if outcome.state is not None:
                self.record(member, f"{name}.state", outcome.state[row])

    def _read_out(self, batches: Sequence[_Batch]) -> tuple[Tensor, Tensor]:
        text = self.config.text
        norm, head = self.weights.one(f"{PREFIX}.norm.weight"), self.weights.head_rows(self.label_ids)
        rows = torch.empty(len(self.prompts), text.hidden_size, dtype=torch.float64, device=self.device)
        for batch in batches:
            members = torch.tensor(batch.members, device=self.device)
            rows[members] = rms_norm(batch.x[: len(batch.members), -1], norm, text.rms_norm_eps)
        logits = rows @ head.mT
        if self.record:
            for number, prompt in enumerate(self.prompts):
                self.record(number, "hidden", rows[number])
                self.record(number, "logits", logits[number, : len(prompt.item.label_ids)])
        return rows.cpu(), logits.cpu()


def load_oracle(profile: Profile, device: str | torch.device | None = None) -> Oracle:
    """The oracle of a profile's checkpoint, on the profile's device or another. Raises CheckpointError, ConfigError,
    AdapterError, or OracleError for a checkpoint that is not complete."""
    return Oracle(profile, device)
