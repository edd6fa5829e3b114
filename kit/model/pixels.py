"""RGB8 images to the patch rows the vision tower reads.

Covers: the size an image is brought to, torch's antialiased bicubic resize in uint8, normalisation, and the
order of patches. In FP32 the result equals, bit for bit, what the reference's image processor gives with
torchvision; Pillow's own resize differs by grey levels, so nothing falls back to it.
Does not cover: decoding (`kit.contract.images`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.contract.errors import ContractError

if TYPE_CHECKING:
    from kit.contract.images import Image
    from kit.engine.base import Grid

PATCH = 16
MERGE = 2
FRAMES = 2  # a still picture is two equal frames
FACTOR = PATCH * MERGE
MIN_PIXELS = 65_536
MAX_PIXELS = 16_777_216
MAX_ASPECT = 200


def smart_resize(height: int, width: int) -> tuple[int, int]:
    """The (height, width) an image is resized to: multiples of 32 with 65,536 to 16,777,216 pixels.

    Each side is rounded to a multiple, halves to the even one; outside the range both sides are scaled alike,
    rounded down when there are too many pixels and up when there are too few.
    Raises ContractError where one side is more than 200 times the other.
    """
    if max(height, width) > MAX_ASPECT * min(height, width):
        raise ContractError(
            f"image of {width}x{height} pixels: one side may be at most {MAX_ASPECT} times the other"
        )
    resized = round(height / FACTOR) * FACTOR, round(width / FACTOR) * FACTOR
    if resized[0] * resized[1] > MAX_PIXELS:
        shrink = math.sqrt(height * width / MAX_PIXELS)
        return _floor(height / shrink), _floor(width / shrink)
    if resized[0] * resized[1] < MIN_PIXELS:
        grow = math.sqrt(MIN_PIXELS / (height * width))
        return math.ceil(height * grow / FACTOR) * FACTOR, math.ceil(width * grow / FACTOR) * FACTOR
    return resized


def _floor(side: float) -> int:
    return max(FACTOR, math.floor(side / FACTOR) * FACTOR)


def grid_of(height: int, width: int) -> Grid:
    """(1, rows, columns) of patches an image of this size becomes; rows * columns / 4 tokens."""
    resized_height, resized_width = smart_resize(height, width)
    return 1, resized_height // PATCH, resized_width // PATCH


def patches(images: Sequence[Image]) -> tuple[Tensor, tuple[Grid, ...]]:
    """Patch rows of all images in order, float32 [N, 1536], and one grid an image.

    A row is [channel 3][frame 2][16][16] of (p - 127.5) / 127.5; rows come in 2x2 blocks of patches, blocks
    row by row. Raises ContractError for an extreme aspect ratio, ValueError without images.
    """
    grids = tuple(grid_of(image.height, image.width) for image in images)
    rows = [_rows(_resized(image, grid), grid) for image, grid in zip(images, grids, strict=True)]
    return rows[0] if len(rows) == 1 else torch.cat(rows), grids


def _resized(image: Image, grid: Grid) -> Tensor:
    """uint8 [1, 3, height, width] at the grid's size."""
    flat = torch.frombuffer(bytearray(image.rgb), dtype=torch.uint8)
    picture = flat.view(image.height, image.width, 3).permute(2, 0, 1).contiguous().unsqueeze(0)
    size = (grid[1] * PATCH, grid[2] * PATCH)
    if size == (image.height, image.width):
        return picture
    return F.interpolate(picture, size=size, mode="bicubic", antialias=True, align_corners=False)


def _rows(picture: Tensor, grid: Grid) -> Tensor:
    """uint8 [1, 3, H, W] -> float32 [rows * columns, 1536]."""
    _, rows, columns = grid
    blocks = picture.view(3, rows // MERGE, MERGE, PATCH, columns // MERGE, MERGE, PATCH)
    values = (blocks.permute(1, 4, 2, 5, 0, 3, 6).float() - 127.5) / 127.5
    frames = values.unsqueeze(5).expand(-1, -1, -1, -1, -1, FRAMES, -1, -1)
    return frames.reshape(rows * columns, 3 * FRAMES * PATCH * PATCH)
