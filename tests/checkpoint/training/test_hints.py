"""The end of the question and the beginning of the right text are found in every family's prompts."""

from __future__ import annotations

import pytest
import torch
from tokenizers import Tokenizer

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.encode import Encoded, Form, open_encoder
from kit.checkpoint.training.export import DECIDER
from kit.checkpoint.training.hints import hint_loss, marks, places
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.packing import pack
from kit.checkpoint.training.tasks import LEVELS
from kit.contract.prompt import LABELS

FILE = DECIDER / "base" / "tokenizer.json"
LIBRARY = Tokenizer.from_file(str(FILE))
MARKS = marks(LIBRARY)


def encoded(family: str, form: Form, dropout: float = 0.0) -> list[Encoded]:
    encoder = open_encoder(FILE, dropout)
    return [item for n in range(4) for item in encoder.encode(drawn(family, "train", n, 0), form)]


def batch_of(items: list[Encoded]) -> Batch:
    patches = max(0 if item.pixels is None else len(item.pixels) for item in items)
    return Batch.of(pack(items, 512, -(-patches // 4) * 4))


@pytest.mark.parametrize("form", ["bare", "chat"])
@pytest.mark.parametrize("family", sorted(LEVELS))
def test_the_question_ends_above_the_candidates_and_the_text_stands_behind_its_label(family: str, form: Form) -> None:
    items = encoded(family, form)
    ends, texts, found = places(batch_of(items), *MARKS)
    assert found.all()
    for item, end, text in zip(items, ends.tolist(), texts.tolist(), strict=True):
        after = LIBRARY.decode(item.ids[end + 1 :], skip_special_tokens=False)
        assert after.startswith("Candidates:\nA) ")
        before = LIBRARY.decode(item.ids[:text], skip_special_tokens=False)
        assert before.endswith(f"\n{LABELS[item.right]})")


def test_a_heading_in_pieces_does_not_count() -> None:
    items = [item for n in range(30) for item in encoded("match", "bare", dropout=0.9)]
    _, _, found = places(batch_of(items), *MARKS)
    assert 0 < found.sum() < len(items)


def test_the_loss_is_small_where_the_text_is_said_and_large_where_it_is_not() -> None:
    items = encoded("lookup", "bare")
    batch = batch_of(items)
    ends, texts, _ = places(batch, *MARKS)
    head = torch.eye(4096)
    rows = torch.zeros(len(items), 512, 4096)
    assert hint_loss(rows, head, batch, *MARKS) == pytest.approx(8.318, abs=0.01)
    for row, (end, text) in enumerate(zip(ends.tolist(), texts.tolist(), strict=True)):
        rows[row, end, batch.ids[row, text]] = 20.0
    assert hint_loss(rows, head, batch, *MARKS) < 0.01
