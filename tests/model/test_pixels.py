"""Images to patch rows: sizes, order, normalisation, frozen bytes for odd sizes."""

from __future__ import annotations

import hashlib
import importlib.util

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize as official_resize

from kit.contract.errors import ContractError
from kit.contract.images import Image
from kit.model.pixels import MAX_PIXELS, MIN_PIXELS, grid_of, patches, smart_resize

SETTINGS = {
    "do_convert_rgb": True,
    "size": {"shortest_edge": MIN_PIXELS, "longest_edge": MAX_PIXELS},
    "patch_size": 16,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


def picture(width: int, height: int) -> Image:
    """A deterministic picture with gradients, edges and a little noise, made of integers."""
    y, x = np.mgrid[0:height, 0:width].astype(np.int64)
    channels = [x * 7 + y * 3, (x // 9 + y // 5) % 2 * 255, (x * x + 31 * y) * 2654435761 >> 8]
    rgb = (np.stack(channels, axis=-1) % 256).astype(np.uint8)
    return Image(width, height, rgb.tobytes(), "PNG")


@pytest.mark.parametrize(
    ("height", "width", "resized"),
    [
        (256, 256, (256, 256)),
        (512, 768, (512, 768)),
        (32, 32, (256, 256)),  # grown to the least area
        (1, 1, (256, 256)),
        (31, 31, (256, 256)),
        (272, 304, (256, 320)),  # 8.5 and 9.5 multiples of 32: both to the even one
        (1080, 1920, (1088, 1920)),
        (1, 200, (32, 3648)),
        (6000, 6000, (4096, 4096)),  # shrunk to the greatest area
    ],
)
def test_smart_resize(height: int, width: int, resized: tuple[int, int]) -> None:
    assert smart_resize(height, width) == resized
    assert grid_of(height, width) == (1, resized[0] // 16, resized[1] // 16)


@settings(deadline=None)
@given(st.integers(1, 4000), st.integers(1, 4000))
def test_sizes_are_multiples_of_32_and_the_official_ones(height: int, width: int) -> None:
    if max(height, width) > 200 * min(height, width):
        with pytest.raises(ContractError, match="at most 200 times"):
            smart_resize(height, width)
        with pytest.raises(ValueError):
            official_resize(height, width, 32, MIN_PIXELS, MAX_PIXELS)
        return
    assert smart_resize(height, width) == official_resize(height, width, 32, MIN_PIXELS, MAX_PIXELS)


def test_an_extreme_aspect_ratio_is_refused_with_its_size() -> None:
    with pytest.raises(ContractError, match="image of 201x1 pixels") as caught:
        smart_resize(1, 201)
    assert caught.value.status == 422


def test_rows_are_blocks_of_two_by_two_patches() -> None:
    """Every patch is painted in one colour, its number; the first rows are the top left block."""
    numbers = np.arange(256, dtype=np.uint8).reshape(16, 16)
    rgb = np.repeat(np.repeat(numbers, 16, 0), 16, 1)[:, :, None].repeat(3, 2)
    pixels, grids = patches([Image(256, 256, rgb.tobytes(), "PNG")])
    assert grids == ((1, 16, 16),)
    assert pixels.shape == (256, 1536)
    assert pixels.dtype == torch.float32
    shown = (pixels[:, 0] * 127.5 + 127.5).round().int().tolist()
    assert shown[:8] == [0, 1, 16, 17, 2, 3, 18, 19]
    assert shown[32:36] == [32, 33, 48, 49]
    assert torch.equal(pixels, pixels[:, :1].expand(-1, 1536))


def test_a_row_is_channel_frame_line_column() -> None:
    image = picture(256, 256)
    source = torch.frombuffer(bytearray(image.rgb), dtype=torch.uint8).view(256, 256, 3)
    row = patches([image])[0][0].view(3, 2, 16, 16)
    assert torch.equal(row[:, 0], row[:, 1])
    assert torch.equal(row[:, 0], (source[:16, :16].permute(2, 0, 1).float() - 127.5) / 127.5)


def test_images_follow_each_other() -> None:
    first, second = picture(256, 256), picture(40, 90)
    both, grids = patches([first, second])
    assert grids == (grid_of(256, 256), grid_of(90, 40))
    assert torch.equal(both, torch.cat([patches([first])[0], patches([second])[0]]))


@pytest.mark.parametrize(("width", "height"), [(256, 256), (512, 256), (320, 288)])
def test_without_resizing_the_pil_processor_agrees(width: int, height: int) -> None:
    """To one rounding of its own rescale, which multiplies by 1/255 before it normalises."""
    from transformers import Qwen2VLImageProcessorPil

    image = picture(width, height)
    pillow = Pillow.frombytes("RGB", (width, height), image.rgb)
    official = Qwen2VLImageProcessorPil(**SETTINGS)(images=[pillow], return_tensors="pt")
    pixels, grids = patches([image])
    assert official["image_grid_thw"].tolist() == [list(grids[0])]
    assert (official["pixel_values"] - pixels).abs().max().item() <= 6e-8


@pytest.mark.parametrize(
    ("width", "height"), [(31, 31), (97, 61), (257, 255), (333, 500), (640, 480), (1023, 577), (1920, 1080)]
)
def test_with_torchvision_the_official_processor_agrees_bit_for_bit(width: int, height: int) -> None:
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed: the official image processor cannot be built")
    from transformers import Qwen2VLImageProcessor

    image = picture(width, height)
    pillow = Pillow.frombytes("RGB", (width, height), image.rgb)
    official = Qwen2VLImageProcessor(**SETTINGS)(images=[pillow], return_tensors="pt")
    assert torch.equal(official["pixel_values"], patches([image])[0])


FROZEN = {
    (31, 31): "440d336b17f711acd375565989ee074e63683a9d15751f444509ed15bb41757f",
    (97, 61): "19e82c5eb18543d7d07e1629df9411d7cf3868776820d45125e9ae15cb383443",
    (257, 255): "572e94717bd2b74890da530c46912610ab1f5435c153201c64c7b349bfbd9101",
    (333, 500): "b3a8e0a71a53bb9101c681cfe7b524b8fbeb5000d55d1ce00c9c961d32380e22",
    (640, 480): "910ff1fb0d01f9f7150176439f499cc11feca52966e4936aedb9124cd2d6611e",
    (1023, 577): "969a9a15bc0236196b8e6587d49734281295231f40b0d64aa3bcc5b1d9d39ebd",
    (256, 256): "0d58586db3ab96ca391f331cd41fa7037ca8190b73b6c2690c44d7fd2d875cf4",
}


@pytest.mark.parametrize(("width", "height"), list(FROZEN))
def test_pixel_values_of_odd_sizes_are_frozen(width: int, height: int) -> None:
    pixels, _ = patches([picture(width, height)])
    assert hashlib.sha256(pixels.numpy().tobytes()).hexdigest() == FROZEN[width, height]
