"""Many prompts through the oracle's layers, one layer after the other: each weight is read once.

Covers: embeddings with image rows in place, prompts put into batches (together, alone, in company, behind padding),
the layers, the final norm and the label logits, and the values between the stages for whoever wants them.
Does not cover: what a layer computes (`kit.engine.oracle_language`), requests and results (`kit.engine.oracle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from kit.engine.base import Prepared, PreparedQuestion
from kit.engine.oracle_language import LayerOutcome, Layout, layer, rms_norm, rotary
from kit.engine.oracle_vision import features
from kit.engine.oracle_weights import Float64Weights
from kit.model.config import ModelConfig

Form = Literal["stacked", "alone", "row0", "padded"]
Record = Callable[[int, str, Tensor], None]  # (which prompt, stage, its value on the oracle's device)
ROWS = 4096  # tokens that go through a layer at once
PADDING = 7  # rows in front of a prompt in the form "padded": no divisor of a chunk
PREFIX = "model.language_model"


@dataclass(frozen=True)
class Prompt:
    """One question, and the number of its request among those of the walk."""

    request: int
    item: PreparedQuestion


@dataclass
class Batch:
    """Prompts of one length on their way: x [S, T, H], row i is of prompt members[i]; further rows are company."""

    members: tuple[int, ...]
    x: Tensor
    layout: Layout


@dataclass(frozen=True)
class Walk:
    """label_ids: of all labels; a prompt's candidates are the first of them. record: None where nobody listens."""

    weights: Float64Weights
    config: ModelConfig
    device: torch.device
    label_ids: Sequence[int]
    prompts: Sequence[Prompt]
    record: Record | None = None

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
            del weights  # before the next layer's are made
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
        requests = [(i, one.grids, one.pixels) for i, one in enumerate(prepared) if one.pixels is not None]
        if not requests:
            return {}
        return features(self.weights, self.config.vision, requests, self._record_vision if self.record else None)

    def _record_vision(self, request: int, name: str, value: Tensor) -> None:
        """What a request's images become belongs to each of its prompts."""
        for number, prompt in enumerate(self.prompts):
            if prompt.request == request and self.record:
                self.record(number, name, value)

    def _batches(self, embedded: list[Tensor], form: Form) -> Iterator[Batch]:
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
            yield Batch(members, x, Layout(cos, sin, padding))

    def _members(self, form: Form) -> Iterator[tuple[int, ...]]:
        """Which prompts share a batch: those of one length up to a number of rows, or each alone."""
        lengths = [len(prompt.item.input_ids) for prompt in self.prompts]
        order = sorted(range(len(lengths)), key=lambda i: lengths[i])
        at = 0
        while at < len(order):
            length = lengths[order[at]]
            most = max(1, ROWS // length) if form == "stacked" else 1
            same = [i for i in order[at : at + most] if lengths[i] == length]
            yield tuple(same)
            at += len(same)

    def _record_layer(self, batch: Batch, name: str, outcome: LayerOutcome) -> None:
        if self.record is None:
            return
        for row, member in enumerate(batch.members):
            for suffix, value in ((".mixer", outcome.mixer), (".mlp", outcome.mlp), ("", outcome.residual)):
                self.record(member, name + suffix, value[row, batch.layout.padding :])
            if outcome.state is not None:
                self.record(member, f"{name}.state", outcome.state[row])

    def _read_out(self, batches: Sequence[Batch]) -> tuple[Tensor, Tensor]:
        text = self.config.text
        norm, head = self.weights.one(f"{PREFIX}.norm.weight"), self.weights.head_rows(self.label_ids)
        rows = norm.new_empty(len(self.prompts), text.hidden_size)
        for batch in batches:
            last = batch.x[: len(batch.members), -1]
            rows[list(batch.members)] = rms_norm(last, norm, text.rms_norm_eps)
        logits = rows @ head.mT
        if self.record:
            for number, prompt in enumerate(self.prompts):
                self.record(number, "hidden", rows[number])
                self.record(number, "logits", logits[number, : len(prompt.item.label_ids)])
        return rows.cpu(), logits.cpu()
