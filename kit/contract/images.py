"""From an image string of a request to RGB8, as Pillow converts it.

Covers: data URLs and bare base64, the format by its bytes (a declared MIME type is ignored), limits checked
before pixels are decoded, and a clear refusal of whatever is truncated, corrupt or of another format.
Orientation tags are not applied and of an animation the first frame counts, as the official server does.
Does not cover: resizing and patches (`kit.model.pixels`).
"""

from __future__ import annotations

import base64
import binascii
import io
from dataclasses import dataclass
from typing import Literal, cast

from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from kit.contract.errors import ContractError

MAX_IMAGES = 4
MAX_PIXELS = 3072 * 32 * 32
FORMATS = ("PNG", "JPEG", "WEBP")
MAX_ASPECT = 200  # beyond it the official processor refuses to resize


@dataclass(frozen=True)
class Image:
    """Decoded pixels: row-major RGB8, `height * width * 3` bytes."""

    width: int
    height: int
    rgb: bytes
    format: Literal["PNG", "JPEG", "WEBP"]


def decode_image(item: object, where: str = "image") -> Image:
    """Decode one entry of a request's `images`. Raises ContractError naming `where`."""
    data = _bytes_of(item, where)
    try:
        return _decode(data, where)
    except ContractError:
        raise
    except UnidentifiedImageError as error:
        raise ContractError(
            f"{where} holds no image that can be read; expected the bytes of a PNG, JPEG or WebP file"
        ) from error
    except PillowImage.DecompressionBombError as error:
        raise ContractError(f"{where} has far more pixels than the {MAX_PIXELS} that are allowed") from error
    except Exception as error:  # Pillow's decoders raise many kinds; all of them mean the bytes are unusable
        raise ContractError(f"{where} is damaged or incomplete and cannot be decoded: {error}") from error


def _decode(data: bytes, where: str) -> Image:
    # No other decoder sees the bytes, so a stranger's TIFF or EPS is not even opened.
    with PillowImage.open(io.BytesIO(data), formats=FORMATS) as opened:
        # The JPEG decoder itself reports files of several pictures as MPO, which the official server refuses.
        if opened.format not in FORMATS:
            raise ContractError(f"{where} is a file of format {opened.format}; expected PNG, JPEG or WebP")
        width, height = opened.size
        if width * height > MAX_PIXELS:
            raise ContractError(
                f"{where} is {width}x{height}, {width * height} pixels; at most {MAX_PIXELS} are allowed"
            )
        if max(width, height) > MAX_ASPECT * min(width, height):
            raise ContractError(
                f"{where} is {width}x{height}; the longer side may be at most {MAX_ASPECT} times the other"
            )
        rgb = opened.convert("RGB").tobytes()
        return Image(width, height, rgb, cast('Literal["PNG", "JPEG", "WEBP"]', opened.format))


def _bytes_of(item: object, where: str) -> bytes:
    if not isinstance(item, str):
        raise ContractError(f"{where} is not a string; expected base64 or a data:...;base64, URL")
    text = item
    if text.startswith("data:"):
        head, comma, text = text.partition(",")
        if not comma or not head.endswith(";base64"):
            raise ContractError(f"{where} is a data URL without ';base64,'; only base64 is accepted")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ContractError(f"{where} is not valid base64: {error}") from error
    if not data:
        raise ContractError(f"{where} is empty; expected the bytes of a PNG, JPEG or WebP file")
    return data
