"""A step learns, counts, leaves the vision tower alone on text, and goes on from its state."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.batches import CELLS, Arrived
from kit.checkpoint.training.network import Decider
from kit.checkpoint.training.packing import pack
from kit.checkpoint.training.settings import Bucket, Rates
from kit.checkpoint.training.steps import VISION, Step, label_logits, next_tokens, text_loss
from tests.checkpoint.training import tiny_network
from tests.checkpoint.training.random_decider import prompt

LABELS = (*range(32, 58), *range(15, 21))


def made(seed: int = 0) -> Step:
    torch.manual_seed(seed)
    network = Decider(tiny_network.config())
    return Step(network, nn.Linear(64, 1), LABELS, (70, 71), Rates(share=1.0, peak=1e-2), cells=4, clip=1.0)


def arrived(images: bool = False) -> Arrived:
    grids = ((16, 16),) if images else ()
    items = [prompt(20, grids, seed) for seed in range(2)]
    bucket = Bucket(128, 256 if images else 0, 2)
    arrays = pack(items, bucket.tokens, bucket.patches)
    return Arrived(0, bucket, {**arrays, CELLS: np.array([1, 3], np.int32)}, lambda: None)


def test_the_loss_of_a_batch_falls_and_is_counted() -> None:
    step = made()
    step.run(arrived(), 1e-2)
    first = step.read()
    for _ in range(15):
        step.run(arrived(), 1e-2)
    later = step.read()
    assert (first.steps, later.steps) == (1, 15)
    assert later.label < first.label
    assert later.seen.tolist() == [0, 15, 0, 15]
    assert later.right.max() <= 15
    assert step.read().steps == 0


def test_text_moves_the_language_and_pictures_move_both() -> None:
    step = made()
    before = step.state()
    step.run(arrived(), 1e-2)
    text = step.state()
    moved = {name for name in before if not torch.equal(before[name]["value"], text[name]["value"])}
    assert moved
    assert not any(name.startswith(VISION) for name in moved)
    step.run(arrived(images=True), 1e-2)
    assert any(not torch.equal(text[n]["value"], s["value"]) for n, s in step.state().items() if n.startswith(VISION))


def test_a_state_put_back_goes_on_as_if_nothing_had_been() -> None:
    step = made()
    for _ in range(3):
        step.run(arrived(), 1e-2)
    kept = step.state()
    step.run(arrived(), 1e-2)
    expected = step.state()
    step.run(arrived(), 1e-2)
    step.restore(kept)
    step.run(arrived(), 1e-2)
    for name, tensors in step.state().items():
        torch.testing.assert_close(tensors["value"], expected[name]["value"])


def test_a_rate_of_zero_moves_nothing() -> None:
    step = made()
    before = step.state()
    step.run(arrived(), 0.0)
    assert all(torch.equal(before[name]["value"], tensors["value"]) for name, tensors in step.state().items())


def test_another_networks_state_is_refused() -> None:
    with pytest.raises(KeyError):
        made().restore({})


def test_labels_that_are_no_candidate_cannot_be_chosen() -> None:
    batch = Batch.of(pack([prompt(20)], 64))
    logits = label_logits(torch.randn(1, 64, 8), batch, torch.randn(100, 8), torch.tensor(LABELS))
    assert torch.isfinite(logits[0, :3]).all()
    assert torch.isinf(logits[0, 3:]).all()


def test_the_next_tokens_are_those_of_the_prompt_up_to_its_answer() -> None:
    items = [prompt(20), prompt(30, seed=1)]
    batch = Batch.of(pack(items, 64))
    wanted, counted = next_tokens(batch)
    for row, item in enumerate(items):
        assert counted.view(2, 64)[row].sum() == item.answer
        assert wanted.view(2, 64)[row, : item.answer].tolist() == item.ids[1:]
    sure = nn.functional.one_hot(wanted, 4096).float() * 50
    assert text_loss(sure, torch.eye(4096), wanted, counted) < 1e-3
