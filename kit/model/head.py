"""Logits of the 32 labels from a hidden row, through as few rows of lm_head as give the full product's bits.

Covers: the label rows, and the choice among a ladder of row counts. A matrix product's order of sums depends
on its shape, so multiplying the 32 label rows alone may differ from the reference's product with the whole
vocabulary; more leading rows (labels are among the first ids) bring the reference's kernel back. Rounding to
BF16 hides most of it, one logit in hundreds shows, so rungs are also tried on rows whose label logits cancel.
Does not cover: the softmax and the answer (`kit.contract.answer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

LEADING_ROWS = (256, 1024, 4096, 8192, 16384, 65536)


@dataclass(frozen=True)
class Trial:
    """One rung of the ladder: rows multiplied, and how many label logits differed from the full product.

    cancelling: those of `compared` that came from rows whose label logits cancel.
    """

    rows: int
    compared: int
    cancelling: int
    different: int


class LabelHead:
    """weight [V, H] of lm_head; label_ids: token id of each label.

    Before `choose` was called every row of the vocabulary is multiplied.
    """

    def __init__(self, weight: Tensor, label_ids: Sequence[int]) -> None:
        self._full = weight
        self._ids = torch.tensor(label_ids, device=weight.device)
        self._rows, self._columns = weight, self._ids
        self.trials: tuple[Trial, ...] = ()

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [1, H] -> [labels] in the model's dtype."""
        return F.linear(hidden, self._rows)[0].index_select(0, self._columns)

    def label_rows(self) -> Tensor:
        """The rows of the labels, [labels, H], a copy."""
        return self._full.index_select(0, self._ids)

    def choose(self, hiddens: Tensor) -> None:
        """Take the first rung whose label logits equal the full product's for every row of `hiddens` [n, H].

        Each row is tried as it is and with its label logits cancelled. Rows are multiplied one by one, as in
        service. The full product always agrees with itself, so the last resort is the whole vocabulary.
        """
        tried = torch.cat((hiddens, cancelled(hiddens, self.label_rows())))
        rows = [tried[i : i + 1] for i in range(tried.shape[0])]
        expected = torch.stack([F.linear(row, self._full)[0].index_select(0, self._ids) for row in rows])
        trials = []
        for weight, columns in self._ladder():
            got = torch.stack([F.linear(row, weight)[0].index_select(0, columns) for row in rows])
            different = int((got != expected).sum())
            trials.append(Trial(weight.shape[0], expected.numel(), expected.numel() // 2, different))
            if different == 0:
                self._rows, self._columns = weight, columns
                break
        self.trials = tuple(trials)

    def _ladder(self) -> list[tuple[Tensor, Tensor]]:
        """(rows, where the labels are among them), from the fewest rows to all of them."""
        own = (self.label_rows(), torch.arange(len(self._ids), device=self._ids.device))
        top = int(self._ids.max())
        leading = [n for n in LEADING_ROWS if top < n < self._full.shape[0]]
        return [own, *((self._full[:n], self._ids) for n in leading), (self._full, self._ids)]

    def describe(self) -> dict[str, Any]:
        """Rows multiplied, out of how many, and every rung that was tried."""
        return {
            "rows": self._rows.shape[0],
            "of": self._full.shape[0],
            "trials": [vars(trial) for trial in self.trials],
        }


def cancelled(hiddens: Tensor, labels: Tensor) -> Tensor:
    """hiddens [n, H] without their part in the span of the label rows [labels, H], rounded to their dtype.

    What is left of a logit is a sum of terms as large as before that cancel to a few parts in a thousand, so
    its BF16 shows bits of the FP32 sum that the logit's own size hides: an order of sums that changes one
    logit in a thousand changes most of these.
    """
    rows, wide = labels.double().cpu(), hiddens.double().cpu()
    gram: Tensor = torch.linalg.pinv(rows @ rows.t(), hermitian=True)
    return (wide - wide @ rows.t() @ gram @ rows).to(hiddens)
