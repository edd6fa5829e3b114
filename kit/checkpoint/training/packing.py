"""Encoded prompts as one batch of numpy arrays of a fixed shape, quick enough for worker processes.

Covers: padding to the right, rotary positions, and what the vision tower must know of every patch: its place, the
size of its image, the image it belongs to, and the token its block of 2x2 becomes. Imports no torch.
Does not cover: tensors (`kit.checkpoint.training.batch`), or which prompts come together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kit.checkpoint.tokens import positions
from kit.contract.prompt import LABELS

if TYPE_CHECKING:
    from kit.checkpoint.training.encode import Encoded

MERGE = 2
PATCH_BYTES = 768
IMAGE_TOKEN = 4044  # `image_token_id` of kit/checkpoint/decider/base/config.json
NOTHING = -1  # image number of a patch that pads

Arrays = dict[str, NDArray[Any]]


def pack(samples: Sequence[Encoded], tokens: int, patches: int = 0, image_token: int = IMAGE_TOKEN) -> Arrays:
    """The fields of `Batch` for these prompts: [len(samples), tokens] and, with `patches`, [.., patches].

    Integers are as narrow as they can be; a batch widens them. Raises ValueError for a prompt that does not fit, and
    for one with images where `patches` is 0: nothing is cut.
    """
    rows = len(samples)
    arrays: Arrays = {
        "ids": np.zeros((rows, tokens), np.int32),
        "positions": np.empty((3, rows, tokens), np.int32),
        "answer": np.array([sample.answer for sample in samples], np.int32),
        "length": np.array([len(sample.ids) for sample in samples], np.int32),
        "behind": np.array([_behind_images(sample, image_token) for sample in samples], np.int32),
        "right": np.array([sample.right for sample in samples], np.int32),
        "lines": np.zeros((rows, len(LABELS)), np.int32),
        "line_mask": np.zeros((rows, len(LABELS)), np.float32),
    }
    if patches:
        arrays |= _no_patches(rows, tokens, patches)
    for row, sample in enumerate(samples):
        if len(sample.ids) > tokens:
            raise ValueError(f"a prompt of {len(sample.ids)} tokens does not fit a batch of {tokens}")
        arrays["ids"][row, : len(sample.ids)] = sample.ids
        arrays["lines"][row, : len(sample.lines)] = sample.lines
        arrays["line_mask"][row, : len(sample.lines)] = 1
        arrays["positions"][:, row] = np.arange(tokens)
        if sample.grids:
            _add_images(arrays, row, sample, image_token)
    return arrays


def _behind_images(sample: Encoded, image_token: int) -> int:
    """The index of the first token behind the last image; 0 without images."""
    if not sample.grids:
        return 0
    return len(sample.ids) - sample.ids[::-1].index(image_token)


def _no_patches(rows: int, tokens: int, patches: int) -> Arrays:
    """Patches that belong to no image, and whose features go nowhere: to the place behind the last token."""
    if patches % MERGE**2:
        raise ValueError(f"{patches} patches are no number of blocks of {MERGE}x{MERGE}")
    return {
        "pixels": np.zeros((rows, patches, PATCH_BYTES), np.uint8),
        "places": np.zeros((rows, patches, 2), np.int16),
        "sizes": np.ones((rows, patches, 2), np.int16),
        "images": np.full((rows, patches), NOTHING, np.int16),
        "slots": np.full((rows, patches // MERGE**2), tokens, np.int32),
    }


def _add_images(arrays: Arrays, row: int, sample: Encoded, image_token: int) -> None:
    """Write the images of one sample into its row."""
    count = sum(height * width for _, height, width in sample.grids)
    room = arrays["pixels"].shape[1] if "pixels" in arrays else 0
    if count > room or sample.pixels is None:
        raise ValueError(f"images of {count} patches do not fit a batch of {room}")
    axes = np.array(positions(sample.ids, sample.grids, image_token, MERGE), np.int32)
    length = axes.shape[1]
    arrays["positions"][:, row, :length] = axes
    arrays["positions"][:, row, length:] = axes[:, -1:]
    slots = np.flatnonzero(np.asarray(sample.ids) == image_token)
    arrays["slots"][row, : len(slots)] = slots
    arrays["pixels"][row, :count] = sample.pixels
    start = 0
    for number, (_, height, width) in enumerate(sample.grids):
        span = slice(start, start + height * width)
        arrays["places"][row, span] = block_places(height, width)
        arrays["sizes"][row, span] = height, width
        arrays["images"][row, span] = number
        start = span.stop


def block_places(height: int, width: int) -> NDArray[np.int16]:
    """Row and column of each patch, [height * width, 2], in the order of the pixels: 2x2 blocks, row by row."""
    places = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), axis=-1)
    blocks = places.reshape(height // MERGE, MERGE, width // MERGE, MERGE, 2).swapaxes(1, 2)
    return blocks.reshape(-1, 2).astype(np.int16)
