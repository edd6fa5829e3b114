"""Packed prompts: every prompt whole in its row, every patch with its place, and nothing cut."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch

from kit.checkpoint.tokens import positions
from kit.checkpoint.training.batch import Batch
from kit.checkpoint.training.packing import IMAGE_TOKEN, block_places, pack
from kit.model.config import parse_config
from kit.model.vision import vision_tables
from tests.checkpoint.training.random_decider import CONFIG, network, prompt

TEXT, IMAGES = prompt(40), prompt(30, [(16, 16), (8, 32)])


def test_the_image_token_is_the_configs() -> None:
    assert CONFIG["image_token_id"] == IMAGE_TOKEN


def test_a_prompt_lies_at_the_left_of_its_row() -> None:
    arrays = pack([TEXT, IMAGES], 256, 512)
    for row, sample in enumerate((TEXT, IMAGES)):
        assert arrays["ids"][row, : len(sample.ids)].tolist() == sample.ids
        assert not arrays["ids"][row, len(sample.ids) :].any()
        assert arrays["answer"][row] == len(sample.ids) - 1
        assert arrays["lines"][row, :3].tolist() == sample.lines
        assert arrays["line_mask"][row].sum() == 3
    assert arrays["right"].tolist() == [2, 2]


def test_a_row_says_how_long_it_is_and_where_its_images_end() -> None:
    longer = dataclasses.replace(IMAGES, ids=[*IMAGES.ids, 5, 6, 7])
    arrays = pack([TEXT, longer], 256, 512)
    assert arrays["length"].tolist() == [len(TEXT.ids), len(IMAGES.ids) + 3]
    assert arrays["answer"].tolist() == [len(TEXT.ids) - 1, len(IMAGES.ids) - 1]
    last = max(at for at, token in enumerate(IMAGES.ids) if token == IMAGE_TOKEN)
    assert arrays["behind"].tolist() == [0, last + 1]
    assert np.array_equal(arrays["positions"][:, 1, : len(longer.ids)], positions(longer.ids, longer.grids, IMAGE_TOKEN))


def test_positions_are_the_tokenizers() -> None:
    arrays = pack([TEXT, IMAGES], 256, 512)
    for row, sample in enumerate((TEXT, IMAGES)):
        expected = positions(sample.ids, sample.grids, IMAGE_TOKEN)
        assert np.array_equal(arrays["positions"][:, row, : len(sample.ids)], np.array(expected))


def test_every_block_has_the_slot_of_its_token_and_padding_none() -> None:
    arrays = pack([TEXT, IMAGES], 256, 640)
    slots = arrays["slots"][1]
    assert [IMAGES.ids[slot] for slot in slots[:128]] == [IMAGE_TOKEN] * 128
    assert sorted(set(slots[:128])) == slots[:128].tolist()
    assert set(slots[128:]) == {256}
    assert set(arrays["slots"][0]) == {256}
    assert arrays["images"][1].tolist() == [0] * 256 + [1] * 256 + [-1] * 128


def test_places_are_those_the_engine_computes_with() -> None:
    """Rows and columns in the order of the pixels, and the same learned positions from them."""
    vision = network().model.visual
    grids = tuple(IMAGES.grids)
    tables = vision_tables(parse_config(CONFIG).vision, grids, torch.device("cpu"))
    batch = Batch.of(pack([IMAGES], 256, 512))
    assert batch.places is not None
    assert batch.sizes is not None
    table = vision.pos_embed.weight
    expected = (table[tables.corners] * tables.weights.unsqueeze(-1)).sum(1)
    assert torch.allclose(vision.positions(batch.places, batch.sizes)[0], expected, atol=1e-6)
    cos, sin = vision.rotary(batch.places)
    assert torch.allclose(cos[0, :, 0], tables.cos, atol=1e-6)
    assert torch.allclose(sin[0, :, 0], tables.sin, atol=1e-6)


def test_blocks_of_four_row_by_row() -> None:
    assert block_places(2, 4).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [0, 3], [1, 2], [1, 3]]


@pytest.mark.parametrize(
    ("tokens", "patches", "message"),
    [(64, 512, "does not fit a batch of 64"), (256, 256, "512 patches do not fit"), (256, 0, "512 patches"), (256, 510, "no number of blocks")],
)
def test_what_does_not_fit_is_refused(tokens: int, patches: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack([IMAGES], tokens, patches)


def test_a_batch_takes_new_arrays_into_the_same_memory() -> None:
    batch = Batch.of(pack([TEXT], 128))
    kept = batch.ids.data_ptr()
    other = prompt(70, seed=4)
    batch.load(pack([other], 128))
    assert batch.ids.data_ptr() == kept
    assert batch.ids[0, : len(other.ids)].tolist() == other.ids
    assert batch.ids.dtype == torch.int64


def test_a_batch_refuses_arrays_of_another_bucket() -> None:
    batch = Batch.of(pack([TEXT], 128))
    with pytest.raises(ValueError, match="ids has shape"):
        batch.load(pack([TEXT], 192))
    with pytest.raises(ValueError, match="for a batch of"):
        batch.load(pack([TEXT], 128, 256))


def test_packing_needs_no_torch() -> None:
    """So that dozens of worker processes stay small."""
    code = "import sys, kit.checkpoint.training.packing; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
