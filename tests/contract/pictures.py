"""Pictures of every kind, made with Pillow or, where Pillow cannot write them, byte by byte."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image as PillowImage

WIDTH, HEIGHT = 13, 9


def picture(mode: str = "RGB", size: tuple[int, int] = (WIDTH, HEIGHT)) -> PillowImage.Image:
    """A picture in which every pixel differs from its neighbours in every channel."""
    width, height = size
    rgba = bytes(
        value
        for y in range(height)
        for x in range(width)
        for value in (x * 19 % 256, y * 27 % 256, (x * y * 7) % 256, (40 + x * 11) % 256)
    )
    made = PillowImage.frombytes("RGBA", size, rgba)
    if mode == "I;16":
        values = [(x * 97 + y * 31) % 700 for y in range(height) for x in range(width)]
        return PillowImage.frombytes("I;16", size, struct.pack(f"<{len(values)}H", *values))
    return (
        made
        if mode == "RGBA"
        else made.convert("RGB" if mode in ("CMYK", "P", "1", "YCbCr") else mode).convert(mode)
    )


def saved(image: PillowImage.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def animated(kind: str) -> bytes:
    frames = [picture(), picture().transpose(PillowImage.Transpose.ROTATE_180), picture()]
    lossless = {"lossless": True} if kind == "WEBP" else {}
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=50, **lossless)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, bits: int, colour: int, rows: bytes, *, extra: bytes = b"") -> bytes:
    """A PNG of any colour type (0 gray, 2 RGB, 3 palette, 4 gray+alpha, 6 RGBA); `rows` with filter bytes."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    data = zlib.compress(rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")
