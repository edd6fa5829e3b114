"""Numbers from a counter: the one definition behind every synthetic tensor.

Element i of a tensor (row-major index in the whole tensor) is a pure function of (seed, tensor name, i), so
any slice can be made alone, on any device, in any order. Everything stays an integer until one float32
multiplication, which is correctly rounded everywhere; hence the bits do not depend on the device, the
thread count or the torch version.

    key0, key1 = first two 32-bit words of SHA-256("{seed}/{name}"), little endian
    h = mix(mix(i xor key0) + key1 mod 2^32)
    n = (h mod 2^16) + floor(h / 2^16) - 65535                    triangular, |n| <= 65535, mean 0
    value = float32(n + offset) * scale                           scale a float32, then cast to the dtype

A row may carry an echo of another tensor's row: its n is then 64 n + share n', with n' of the other row's
elements and a scale 64 times smaller, still an integer below 2^24 and hence exact before the one product.

`mix` is the 32-bit xorshift-multiply hash with shifts 16, 15, 15 and multipliers 0x21F0AAAD, 0x735A2D97 found
by the hash-prospector project. Both multipliers are below 2^31, so a product of 32-bit values fits in a
signed 64-bit lane and no operation ever overflows.
Does not cover: which tensors exist and how wide they are (`kit.checkpoint.recipes`).
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass

import torch

BITS32 = 0xFFFFFFFF
HALF_RANGE = 65535
STD_OF_N = math.sqrt((65536**2 - 1) / 6)  # of n above, the sum of two uniform 16-bit integers
ECHO_UNIT = 64  # how finely the share of an echo is chosen
CHUNK = 1 << 24  # elements made at once: 128 MiB of int64 lanes


@dataclass(frozen=True)
class Echo:
    """Elements start.. of tensor `name`, `share` / 64 times as wide as the values they are added to."""

    name: str
    start: int
    share: int


@dataclass(frozen=True)
class Fill:
    """How wide a tensor is: mean and standard deviation of its own values, and what they echo, if anything.

    The values are `float32(n + offset) * scale` with both constants derived here once: `scale` is rounded to
    float32, `offset` to an integer, so mean and deviation are met to about 1e-5 of the deviation.
    """

    std: float
    mean: float = 0.0
    echo: Echo | None = None

    @property
    def scale(self) -> float:
        """The multiplier, exactly representable in float32."""
        scale = self.std / STD_OF_N / (ECHO_UNIT if self.echo else 1)
        return float(struct.unpack("<f", struct.pack("<f", scale))[0])

    @property
    def offset(self) -> int:
        """Added to n; |n + offset| stays below 2^24, hence exact in float32."""
        offset = round(self.mean / self.scale)
        ranges = ECHO_UNIT + abs(self.echo.share) if self.echo else 1
        if abs(offset) + ranges * HALF_RANGE >= 1 << 24:
            raise ValueError(f"{self}: mean and echo are more than 255 half ranges away")
        return offset


def keys(seed: int, name: str) -> tuple[int, int]:
    """The two 32-bit keys of a tensor."""
    first, second = struct.unpack_from("<II", hashlib.sha256(f"{seed}/{name}".encode()).digest())
    return first, second


def integers(seed: int, name: str, start: int, stop: int, device: str | torch.device = "cpu") -> torch.Tensor:
    """n of elements start..stop-1 as int64 [stop - start], each in -65535..65535."""
    if stop > 1 << 32:
        raise ValueError(f"{name}: element {stop - 1} is beyond the 32-bit counter")
    first, second = keys(seed, name)
    lanes = torch.arange(start, stop, dtype=torch.int64, device=device).bitwise_xor_(first)
    lanes = _mix(lanes).add_(second).bitwise_and_(BITS32)
    lanes = _mix(lanes)
    high = lanes >> 16
    return lanes.bitwise_and_(0xFFFF).add_(high).sub_(HALF_RANGE)


def _mix(lanes: torch.Tensor) -> torch.Tensor:
    """The 32-bit hash, in place, on int64 lanes that hold 0..2^32-1."""
    lanes.bitwise_xor_(lanes >> 16)
    lanes.mul_(0x21F0AAAD).bitwise_and_(BITS32)
    lanes.bitwise_xor_(lanes >> 15)
    lanes.mul_(0x735A2D97).bitwise_and_(BITS32)
    return lanes.bitwise_xor_(lanes >> 15)


def fill(out: torch.Tensor, seed: int, name: str, how: Fill, start: int = 0) -> torch.Tensor:
    """Write values start.. into the contiguous tensor `out` (any float dtype), chunk by chunk; returns it.

    An echo starts with the first value of `out`, so a tensor with one is filled whole, or row by row.
    """
    flat = out.view(-1)
    scale, offset = how.scale, how.offset
    for low in range(0, flat.numel(), CHUNK):
        high = min(low + CHUNK, flat.numel())
        n = integers(seed, name, start + low, start + high, out.device)
        if echo := how.echo:
            n.mul_(ECHO_UNIT)
            n += integers(seed, echo.name, echo.start + low, echo.start + high, out.device).mul_(echo.share)
        # int64 -> float32 is exact here, so this product is the only rounding before the dtype's own.
        flat[low:high] = n.add_(offset).to(torch.float32).mul_(scale).to(out.dtype)
    return out
