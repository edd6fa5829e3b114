"""A step learns, counts, leaves the vision tower alone on text, and goes on from its state."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.batches import CELLS, Arrived
from kit.checkpoint.training.encode import Encoded
from kit.checkpoint.training.network import Decider
from kit.checkpoint.training.packing import IMAGE_TOKEN, pack
from kit.checkpoint.training.settings import Bucket, Rates
from kit.checkpoint.training.steps import VISION, Step, label_logits, next_tokens, text_losses
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


def with_reason(item: Encoded, reason: list[int]) -> Encoded:
    return dataclasses.replace(item, ids=[*item.ids, 0, *reason])


def test_the_next_tokens_are_those_of_the_prompt_and_of_the_reason_behind_it() -> None:
    items = [prompt(20), with_reason(prompt(30, seed=1), [7, 8, 9]), with_reason(prompt(20, [(16, 16)]), [5])]
    batch = Batch.of(pack(items, 128, 256))
    wanted, before, reason = (found.view(3, 128) for found in next_tokens(batch))
    assert wanted[0][before[0]].tolist() == items[0].ids[1:]
    assert wanted[1][before[1]].tolist() == items[1].ids[1 : items[1].answer + 1]
    behind = len(items[2].ids) - items[2].ids[::-1].index(IMAGE_TOKEN)
    assert wanted[2][before[2]].tolist() == items[2].ids[behind + 1 : items[2].answer + 1]
    assert [row[told].tolist() for row, told in zip(wanted, reason, strict=True)] == [[], [7, 8, 9], [5]]


def test_a_loss_is_the_mean_of_its_own_tokens_and_nothing_without_any() -> None:
    batch = Batch.of(pack([with_reason(prompt(30, seed=1), [7, 8, 9])], 64))
    wanted, before, reason = next_tokens(batch)
    sure = nn.functional.one_hot(wanted, 4096).float() * 50
    assert max(text_losses(sure, torch.eye(4096), wanted, before, reason)) < 1e-3
    blind = sure * ~reason.unsqueeze(-1)
    text, told = text_losses(blind, torch.eye(4096), wanted, before, reason)
    assert text < 1e-3
    assert told == pytest.approx(np.log(4096), rel=1e-4)
    assert text_losses(sure, torch.eye(4096), wanted, before, reason & False)[1] == 0


def test_a_reason_is_learned_and_no_answer_depends_on_it() -> None:
    """The row at the answer is the same with and without one, and with another."""
    step = made()
    plain = prompt(20)
    told, other = with_reason(plain, [7, 8, 9]), with_reason(plain, [11, 12])
    with torch.no_grad():
        rows = step.network(Batch.of(pack([plain, told, other], 64)))[:, plain.answer]
    torch.testing.assert_close(rows[1:], rows[:1].expand(2, -1))
    step.rates = dataclasses.replace(step.rates, reason=1.0)
    arrays = pack([told, other], 128)
    losses = []
    for _ in range(20):
        step.run(Arrived(0, Bucket(128, 0, 2), {**arrays, CELLS: np.array([0, 0], np.int32)}, lambda: None), 1e-2)
        losses.append(step.read().reason)
    assert losses[-1] < 0.2 * losses[0]
