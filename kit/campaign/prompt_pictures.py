"""Small pictures for generated prompts: shapes of sixteen colours, as PNG bytes that are the same everywhere.

Covers: drawing bars, discs and stripes on a plain ground, and a PNG file of them written here (4-bit palette,
stored without compression), because two versions of an image library may pack the same pixels differently.
Does not cover: what a prompt asks about a picture (`kit.campaign.prompts`), or reading one back (`kit.contract.images`).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # [height, width] of palette indices
Below = Callable[[int], int]  # a whole number from 0 up to, not including, its argument

# Names are words a question can use. The first six are one token each in every vocabulary of this kit.
PALETTE: dict[str, tuple[int, int, int]] = {
    "white": (250, 250, 250), "black": (12, 12, 14), "red": (208, 32, 38), "green": (24, 140, 60),
    "orange": (240, 130, 24), "gray": (128, 130, 134), "blue": (28, 74, 196), "yellow": (242, 208, 40),
    "pink": (240, 150, 180), "brown": (112, 72, 38), "purple": (110, 44, 150), "cyan": (48, 190, 205),
    "lime": (150, 210, 48), "navy": (16, 24, 84), "cream": (248, 236, 200), "wine": (104, 18, 44),
}  # fmt: skip
COLOURS = tuple(PALETTE)
PLAIN = COLOURS[:6]
STORED = 65_535  # bytes of one stored deflate block at most


def draw(width: int, height: int, ground: str, main: str, below: Below) -> bytes:
    """A PNG of `width` x `height` (width even): a large shape of the colour `main`, and a few small ones, on `ground`."""
    pixels: Pixels = np.full((height, width), COLOURS.index(ground), dtype=np.uint8)
    others = [index for index, name in enumerate(COLOURS) if name not in (ground, main)]
    for _ in range(2 + below(4)):
        side = 6 + below(10)
        _shape(pixels, others[below(len(others))], side, below(width), below(height), below(3))
    side = min(width, height) // 2 + below(min(width, height) // 4)
    _shape(pixels, COLOURS.index(main), side, width // 2 + below(9) - 4, height // 2 + below(9) - 4, below(2))
    return png(pixels)


def _shape(pixels: Pixels, colour: int, side: int, x: int, y: int, kind: int) -> None:
    """A square (kind 0), a disc (1) or a striped square (2) of about `side` pixels around (x, y)."""
    rows, columns = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
    inside = (abs(rows - y) * 2 <= side) & (abs(columns - x) * 2 <= side)
    if kind == 1:
        inside = ((rows - y) ** 2 + (columns - x) ** 2) * 4 <= side**2
    elif kind == 2:
        inside &= (rows + columns) % 4 < 2
    pixels[inside] = colour


def png(pixels: Pixels) -> bytes:
    """The bytes of a 4-bit palette PNG, without compression, so no library has a say in them."""
    height, width = pixels.shape
    packed = (pixels[:, 0::2] << 4) | pixels[:, 1::2]
    lines = b"".join(b"\0" + row.tobytes() for row in packed)
    colours = b"".join(bytes(rgb) for rgb in PALETTE.values())
    head = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"PLTE", colours), (b"IDAT", _stored(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _stored(data: bytes) -> bytes:
    """A zlib stream of stored blocks."""
    blocks = [data[start : start + STORED] for start in range(0, len(data), STORED)]
    body = b"".join(
        struct.pack("<BHH", number == len(blocks), len(block), len(block) ^ 0xFFFF) + block
        for number, block in enumerate(blocks, 1)
    )
    return b"\x78\x01" + body + struct.pack(">I", zlib.adler32(data))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
