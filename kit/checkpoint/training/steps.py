"""One step of training: the losses, their gradients, AdamW; on a GPU the whole of it captured once a bucket and replayed.

Covers: `Step` and what it counts on the device (losses, right answers by family and level), its state saved and put back in
place, so that captured steps go on working. Does not cover: when to step, with which rate, or what the counts decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.batches import CELLS, Arrived
from kit.checkpoint.training.hints import hint_loss
from kit.checkpoint.training.settings import Bucket, Rates

BETAS = (0.9, 0.95)
WARM = 3  # steps before a capture, at rate 0
VISION = "model.visual."
State = dict[str, dict[str, Tensor]]


@dataclass(frozen=True)
class Counts:
    """Since the last reading. label, flag, text, reason, hint: mean losses, NaN where there is none; seen, right: [cells]."""

    steps: int
    label: float
    flag: float
    text: float
    reason: float
    hint: float
    seen: NDArray[np.float64]
    right: NDArray[np.float64]


class Step:
    """Trains a network's trainable parameters and a linear flag on the end of every candidate's line.

    labels: the 32 token ids. marks: of `hints.marks`. cells: families times levels. The flag says "this is the right one"
    and serves training only: copying begins with it. The loss of the next token, where a phase has one, teaches what
    stands beside what: without it no value was ever found by its key. That of the reason behind the answer teaches what
    the answer rests on, which of a screen is all that is to be seen on it. Parameters of the vision tower move on batches
    with images alone.
    """

    def __init__(
        self,
        network: Any,
        flag: nn.Linear,
        labels: Sequence[int],
        marks: tuple[int, int],
        rates: Rates,
        cells: int,
        clip: float,
    ) -> None:
        self.network, self.flag, self.rates, self.clip = network, flag, rates, clip
        self.device = flag.weight.device
        self._marks = marks
        self._labels = torch.tensor(labels, device=self.device)
        named = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self._text = {name: p for name, p in named.items() if not name.startswith(VISION)}
        self._text |= {f"flag.{name}": p for name, p in flag.named_parameters()}
        self._vision = {name: p for name, p in named.items() if name.startswith(VISION)}
        self.rate = torch.tensor(0.0, device=self.device)
        self._sums = torch.zeros(6, device=self.device)
        self._seen, self._right = (torch.zeros(cells, device=self.device) for _ in range(2))
        groups = (self._text, self._vision) if self._vision else (self._text,)
        self._optimizers = [self._optimizer(parameters) for parameters in groups]
        self._batches: dict[Bucket, tuple[Batch, Tensor, dict[str, Tensor]]] = {}
        self._graphs: dict[Bucket, torch.cuda.CUDAGraph] = {}
        cuda = self.device.type == "cuda"
        self._pool: Any = torch.cuda.graph_pool_handle() if cuda else None
        self._text_losses = torch.compile(text_losses, dynamic=False) if cuda else text_losses

    def run(self, arrived: Arrived, rate: float) -> bool:
        """One step on a batch; True where its bucket was captured first. On a GPU it returns before the step is over."""
        batch, cells = self._load(arrived)
        if self.device.type != "cuda":
            self.rate.fill_(rate)
            self._step(batch, cells)
            return False
        new = arrived.bucket not in self._graphs
        if new:
            self._graphs[arrived.bucket] = self._capture(batch, cells)
        self.rate.fill_(rate)
        self._graphs[arrived.bucket].replay()
        return new

    def read(self) -> Counts:
        """Counts since the last reading; waits for the device."""
        steps, label, flag, text, reason, hint = self._sums.tolist()
        seen, right = (t.double().cpu().numpy().copy() for t in (self._seen, self._right))
        for tensor in (self._sums, self._seen, self._right):
            tensor.zero_()
        rates = self.rates

        def mean(total: float, weight: float) -> float:
            return total / steps if steps and weight else float("nan")

        return Counts(
            int(steps), mean(label, 1), mean(flag, rates.flags), mean(text, rates.text), mean(reason, rates.reason),
            mean(hint, rates.hint), seen, right,
        )  # fmt: skip

    def state(self) -> State:
        """Parameters, moments and steps taken, by parameter, on the CPU."""
        held: State = {}
        for name, parameter, moments in self._each():
            held[name] = {"value": parameter.detach().cpu().clone()}
            held[name] |= {
                key: moments[key].detach().cpu().clone() for key in ("exp_avg", "exp_avg_sq", "step")
            }
        return held

    def restore(self, state: State) -> None:
        """Put a state back in place. Raises KeyError where it is another network's."""
        with torch.no_grad():
            for name, parameter, moments in self._each():
                parameter.copy_(state[name]["value"])
                for key in ("exp_avg", "exp_avg_sq", "step"):
                    moments[key].copy_(state[name][key])
                if parameter.grad is not None:
                    parameter.grad.zero_()

    def _each(self) -> list[tuple[str, nn.Parameter, dict[str, Tensor]]]:
        parameters = self._text | self._vision
        states = {p: moments for optimizer in self._optimizers for p, moments in optimizer.state.items()}
        return [(name, p, states[p]) for name, p in parameters.items()]

    def _optimizer(self, parameters: Mapping[str, nn.Parameter]) -> torch.optim.AdamW:
        cuda = self.device.type == "cuda"
        groups = [
            {"params": [p for p in parameters.values() if p.ndim > 1], "weight_decay": self.rates.decay},
            {"params": [p for p in parameters.values() if p.ndim <= 1], "weight_decay": 0.0},
        ]
        groups = [group for group in groups if group["params"]]
        optimizer = torch.optim.AdamW(groups, lr=self.rate, betas=BETAS, fused=cuda, capturable=cuda)
        for parameter in parameters.values():
            parameter.grad = torch.zeros_like(parameter)
            optimizer.state[parameter] = {
                "step": torch.zeros((), device=self.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return optimizer

    def _load(self, arrived: Arrived) -> tuple[Batch, Tensor]:
        """The bucket's tensors, filled. Bytes go over as they are and are widened there."""
        fields = {name: torch.from_numpy(array) for name, array in arrived.arrays.items()}
        if arrived.bucket not in self._batches:
            arrays = {name: array for name, array in arrived.arrays.items() if name != CELLS}
            narrow = {name: tensor.to(self.device, copy=True) for name, tensor in fields.items()}
            self._batches[arrived.bucket] = (Batch.of(arrays, self.device), narrow[CELLS].long(), narrow)
        batch, cells, narrow = self._batches[arrived.bucket]
        for name, tensor in fields.items():
            target: Tensor = cells if name == CELLS else getattr(batch, name)
            if target.dtype == tensor.dtype:
                target.copy_(tensor, non_blocking=True)
            else:
                narrow[name].copy_(tensor, non_blocking=True)
                target.copy_(narrow[name])
        return batch, cells

    def _capture(self, batch: Batch, cells: Tensor) -> torch.cuda.CUDAGraph:
        kept = [tensor.clone() for tensor in (self._sums, self._seen, self._right)]
        self.rate.fill_(0.0)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM):
                self._step(batch, cells)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            self._step(batch, cells)
        for tensor, value in zip((self._sums, self._seen, self._right), kept, strict=True):
            tensor.copy_(value)
        return graph

    def _step(self, batch: Batch, cells: Tensor) -> None:
        images = batch.pixels is not None
        rates, head = self.rates, self.network.lm_head.weight
        rows = self.network(batch)
        label, flag, right = self._losses(rows, batch)
        text = reason = hint = 0 * label
        if rates.text > 0 or rates.reason > 0:
            text, reason = self._text_losses(rows.flatten(0, 1), head, *next_tokens(batch))
        if rates.hint > 0:
            hint = hint_loss(rows, head, batch, *self._marks)
        loss = label + rates.flags * flag + rates.text * text + rates.reason * reason + rates.hint * hint
        loss.backward()  # type: ignore[no-untyped-call]
        moved = [*self._text.values(), *(self._vision.values() if images else ())]
        nn.utils.clip_grad_norm_(moved, self.clip, foreach=True)
        for optimizer in self._optimizers if images else self._optimizers[:1]:
            optimizer.step()
        for parameter in moved:
            if parameter.grad is not None:
                parameter.grad.zero_()
        with torch.no_grad():
            self._sums += torch.stack((torch.ones_like(label), label, flag, text, reason, hint)).detach()
            self._seen.scatter_add_(0, cells, torch.ones_like(right))
            self._right.scatter_add_(0, cells, right)

    def _losses(self, rows: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """(label loss, flag loss, 1 for each right answer [B])."""
        logits = label_logits(rows, batch, self.network.lm_head.weight, self._labels)
        label = F.cross_entropy(logits, batch.right)
        ends = rows.gather(1, batch.lines.unsqueeze(-1).expand(-1, -1, rows.shape[-1])).float()
        wanted = (torch.arange(batch.lines.shape[1], device=rows.device) == batch.right.unsqueeze(-1)).float()
        each = F.binary_cross_entropy_with_logits(self.flag(ends).squeeze(-1), wanted, reduction="none")
        flag = (each * batch.line_mask).sum() / batch.line_mask.sum()
        return label, flag, (logits.argmax(1) == batch.right).float()


def label_logits(rows: Tensor, batch: Batch, head: Tensor, labels: Tensor) -> Tensor:
    """FP32 [B, 32] from the rows at the answers; -inf for labels that are no candidate."""
    answers = rows[torch.arange(len(rows), device=rows.device), batch.answer].float()
    logits = answers @ head.index_select(0, labels).float().t()
    return logits.masked_fill(batch.line_mask == 0, float("-inf"))


def next_tokens(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """[B * T] each: the token that follows, and whether it belongs to the prompt before its answer, or to the reason behind.

    Of a prompt with images what follows them counts alone; of a reason, what follows the break before it.
    """
    place = torch.arange(batch.ids.shape[1], device=batch.ids.device)
    answer = batch.answer.unsqueeze(-1)
    before = (place >= batch.behind.unsqueeze(-1)) & (place < answer)
    reason = (place > answer) & (place + 1 < batch.length.unsqueeze(-1))
    return batch.ids.roll(-1, 1).flatten(), before.flatten(), reason.flatten()


def text_losses(rows: Tensor, head: Tensor, wanted: Tensor, before: Tensor, reason: Tensor) -> tuple[Tensor, Tensor]:
    """Mean cross entropies of the next token, in prompts and in reasons; 0 where there is none.

    rows [N, hidden]; wanted, before and reason [N] of `next_tokens`. Flat, so that one compiled program serves every bucket
    of as many tokens.
    """
    each = F.cross_entropy(F.linear(rows, head.to(rows.dtype)).float(), wanted, reduction="none")
    text = (each * before).sum() / before.sum().clamp(min=1)
    return text, (each * reason).sum() / reason.sum().clamp(min=1)
