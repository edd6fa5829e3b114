"""`causal_conv` as one Triton kernel: taps, SiLU, and the split into query, key and value heads.

The taps are added in their order in FP32; a product of two BF16 values is exact there, so that fusing it with
the sum or not gives the same bits. A program takes a few tokens of up to 64 channels within one head, and
writes a query or key head once for every value head it serves. At most 2**31 elements.
"""

from __future__ import annotations

import math

import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, silu

COLUMNS = 64  # channels of a program, at most: with more, tiles are moved between threads to meet the weights
ROWS = 8  # tokens of a program
MANY_ROWS = 32  # of one that is among many


@triton.jit
def _store_key(
    out, value, token, inside, start,
    KEYS: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Channels from `start` on, within one key head, to the GROUP neighbouring value heads it serves."""
    place = tl.multiple_of((start // WIDTH) * (WIDTH * GROUP) + start % WIDTH, COLUMNS)
    at = token * (KEYS * GROUP) + (place + tl.arange(0, COLUMNS)[None, :])
    for copy in tl.static_range(GROUP):
        tl.store(out + at + copy * WIDTH, value, mask=inside)


@triton.jit(do_not_specialize=["tokens"])
def _causal_conv(
    x, weight, q, k, v, tokens,
    CHANNELS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr, GROUP: tl.constexpr, TAPS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * COLUMNS
    token = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    inside = (token < tokens) & (column < COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for tap in tl.static_range(TAPS):
        source = token + (tap - (TAPS - 1))
        value = tl.load(x + source * CHANNELS + start + column, mask=inside & (source >= 0), other=0.0)
        total += tl.load(weight + (start + column) * TAPS + tap).to(tl.float32) * value.to(tl.float32)
    dtype = v.dtype.element_ty
    value = silu(total.to(dtype).to(tl.float32)).to(dtype)
    if start < KEYS:
        _store_key(q, value, token, inside, start, KEYS, WIDTH, GROUP, COLUMNS)
    elif start < 2 * KEYS:
        _store_key(k, value, token, inside, start - KEYS, KEYS, WIDTH, GROUP, COLUMNS)
    else:
        tl.store(v + token * (CHANNELS - 2 * KEYS) + (start - 2 * KEYS) + column, value, mask=inside)


def causal_conv(
    x: Tensor, weight: Tensor, key_heads: int, key_width: int, value_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """As `kit.kernels.causal_conv.causal_conv`. Raises ValueError for inputs that are not contiguous."""
    if not (x.is_contiguous() and weight.is_contiguous()) or x.dtype != weight.dtype:
        raise ValueError("x and weight must be contiguous and of one dtype")
    (tokens, channels), keys = x.shape, key_heads * key_width
    q, k = x.new_empty(2, tokens, value_heads, key_width).unbind()
    v = x.new_empty(tokens, value_heads, (channels - 2 * keys) // value_heads)
    shared = math.gcd(key_width, channels - 2 * keys, COLUMNS)
    columns = shared & -shared  # the largest power of two that divides both: a program stays within one head
    rows = ROWS if tokens <= 512 else MANY_ROWS
    _causal_conv[(channels // columns, triton.cdiv(tokens, rows))](
        x, weight, q, k, v, tokens, CHANNELS=channels, KEYS=keys, WIDTH=key_width, GROUP=value_heads // key_heads,
        TAPS=weight.shape[-1], ROWS=rows, COLUMNS=columns, num_warps=4, **STRICT,
    )  # fmt: skip
    return q, k, v
