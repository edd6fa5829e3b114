"""A loss on what the question asks for, before the candidates are read: looking up, taught by itself.

Covers: where a question ends and the right candidate's text begins, found among the tokens of a batch, and the loss of the
one at the other. A network that has found the value of a key there only has to recognise it among the candidates. In
training only. Does not cover: the losses that decide (`steps`).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.checkpoint.training.batch import Batch

HEADING, CLOSE = "Candidates", ")"  # tokens of every prompt: above the candidates, behind every label


def marks(library: Any) -> tuple[int, int]:
    """The ids of HEADING and CLOSE in a tokenizer. Raises ValueError where one is no single token."""
    heading, close = library.token_to_id(HEADING), library.token_to_id(CLOSE)
    if heading is None or close is None:
        raise ValueError(f"{HEADING!r} and {CLOSE!r} must be tokens of the tokenizer")
    return heading, close


def hint_loss(rows: Tensor, head: Tensor, batch: Batch, heading: int, close: int) -> Tensor:
    """Mean cross entropy of the first token of the right candidate's text at the last token of the question.

    rows [B, T, hidden], head [vocabulary, hidden], heading and close: `marks`. A prompt whose
    heading is cut into other tokens, as happens where merges are dropped, does not count.
    """
    end, text, found = places(batch, heading, close)
    asked = rows.gather(1, end.view(-1, 1, 1).expand(-1, -1, rows.shape[-1])).squeeze(1)
    logits = F.linear(asked, head.to(rows.dtype)).float()
    wanted = batch.ids.gather(1, text.unsqueeze(1)).squeeze(1)
    each = F.cross_entropy(logits, wanted, reduction="none")
    return (each * found).sum() / found.sum().clamp(min=1)


def places(batch: Batch, heading: int, close: int) -> tuple[Tensor, Tensor, Tensor]:
    """[B] each: the question's last token, the first token of the right text, and 1 where both were found, else 0."""
    ids, last = batch.ids, batch.ids.shape[1] - 1
    place = torch.arange(ids.shape[1], device=ids.device)
    above = ((ids == heading) & (place < batch.lines[:, :1])).int() * place
    title = above.amax(1)
    right = batch.right.unsqueeze(1)
    line_before = batch.lines.gather(1, (right - 1).clamp(min=0)).squeeze(1)
    before = torch.where(batch.right > 0, line_before, title)
    closed = torch.where((ids == close) & (place > before.unsqueeze(1)), place, last).amin(1)
    text = (closed + 1).clamp(max=last)
    found = (title > 0) & (text <= batch.lines.gather(1, right).squeeze(1))
    return (title - 1).clamp(min=0), text, found.float()
