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
import warnings
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of what the limit below refuses
            return _decode(data, where)
    except ContractError:
        raise
    except Exception as error:  # Pillow's decoders raise many kinds; all of them mean the bytes are unusable
        raise ContractError(f"{where} cannot be decoded: {error}") from error


def _decode(data: bytes, where: str) -> Image:
    try:
        # Open with every decoder, then look: what Pillow calls by another name (MPO, say) is another format.
        opened = PillowImage.open(io.BytesIO(data))
    except UnidentifiedImageError as error:
        raise ContractError(f"{where} is not an image; expected PNG, JPEG or WebP bytes") from error
    with opened:
        if opened.format not in FORMATS:
            raise ContractError(f"{where} is a {opened.format} file; expected PNG, JPEG or WebP")
        width, height = opened.size
        if width * height > MAX_PIXELS:
            raise ContractError(f"{where} is {width}x{height}, {width * height} pixels; at most {MAX_PIXELS} are allowed")
        if max(width, height) > MAX_ASPECT * min(width, height):
            raise ContractError(f"{where} is {width}x{height}; the longer side may be at most {MAX_ASPECT} times the other")
        rgb = opened.convert("RGB").tobytes()
    return Image(width, height, rgb, cast('Literal["PNG", "JPEG", "WEBP"]', opened.format))


def _bytes_of(item: object, where: str) -> bytes:
    if not isinstance(item, str):
        raise ContractError(
            f"{where} is {type(item).__name__}; expected a base64 string or a data URL", error="TypeError"
        )
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
        raise ContractError(f"{where} is empty")
    return data
