"""`query_key` as one Triton kernel: norm, rotary embedding and gate split of every query and key head at once.

A program takes a few heads, of the queries or of the keys; it sums as torch's CUDA reduction does. Covers heads
of 128 to 512 values whose turned part lies within the first piece a thread reads; at most 2**31 elements.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from kit.kernels.strict_kernel import STRICT, lanes, row_sum

ROWS = 4  # heads of a program
WIDEST = 512


@triton.jit
def _normed(x, weight, at, column, inside, inverse, dtype: tl.constexpr):
    """Values of a head, normalised and rounded, in FP32."""
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 + tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    return ((value * inverse) * scale).to(dtype).to(tl.float32)


@triton.jit
def _heads(
    x, weight, cos, sin, out, program, rows, share, eps, HEADS: tl.constexpr, STRIDE: tl.constexpr,
    WIDTH: tl.constexpr, TURNED: tl.constexpr, LANES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Heads [rows, WIDTH], STRIDE apart in x -> out, contiguous; row // HEADS is the token."""
    row = program * ROWS + tl.arange(0, ROWS)[:, None]
    lane = tl.arange(0, LANES * 4)[None, :]
    dtype: tl.constexpr = out.dtype.element_ty
    partial = tl.zeros([ROWS, LANES * 4], tl.float32)
    for start in tl.static_range(0, WIDTH, LANES * 4):
        column = start + lane
        inside = (row < rows) & (column < WIDTH)
        value = tl.load(x + row * STRIDE + column, mask=inside, other=0.0).to(tl.float32)
        partial += value * value
    inverse = tl.rsqrt(row_sum(partial, ROWS, LANES) * share + eps)[:, None]

    for start in tl.static_range(0, WIDTH, LANES * 4):
        column = start + lane
        inside = (row < rows) & (column < WIDTH)
        value = _normed(x, weight, row * STRIDE + column, column, inside, inverse, dtype)
        if start < TURNED:
            turned = inside & (column < TURNED)
            low = column < TURNED // 2
            partner = tl.where(low, column + TURNED // 2, column - TURNED // 2)
            other = _normed(x, weight, row * STRIDE + partner, partner, turned, inverse, dtype)
            other = tl.where(low, other * -1.0, other)  # -x would be 0 - x, of another sign for 0
            angle = row // HEADS * TURNED + column
            along = tl.load(cos + angle, mask=turned, other=0.0).to(tl.float32)
            across = tl.load(sin + angle, mask=turned, other=0.0).to(tl.float32)
            first = (value * along).to(dtype).to(tl.float32)
            second = (other * across).to(dtype).to(tl.float32)
            value = tl.where(turned, first + second, value)
        tl.store(out + row * WIDTH + column, value.to(dtype), mask=inside)


@triton.jit(do_not_specialize=["tokens"])
def _query_key(
    q_gate, k, q_weight, k_weight, cos, sin, q_out, k_out, gate_out, tokens, share, eps,
    Q_HEADS: tl.constexpr, K_HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr, TURNED: tl.constexpr,
    Q_LANES: tl.constexpr, K_LANES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    queries = tl.cdiv(tokens * Q_HEADS, ROWS)
    if program < queries:
        _heads(
            q_gate, q_weight, cos, sin, q_out, program, tokens * Q_HEADS, share, eps,
            Q_HEADS, 2 * WIDTH, WIDTH, TURNED, Q_LANES, ROWS,
        )  # fmt: skip
        row = program * ROWS + tl.arange(0, ROWS)[:, None]
        column = tl.arange(0, BLOCK)[None, :]
        inside = (row < tokens * Q_HEADS) & (column < WIDTH)
        gate = tl.load(q_gate + row * (2 * WIDTH) + WIDTH + column, mask=inside)
        tl.store(gate_out + row * WIDTH + column, gate, mask=inside)
    else:
        _heads(
            k, k_weight, cos, sin, k_out, program - queries, tokens * K_HEADS, share, eps,
            K_HEADS, WIDTH, WIDTH, TURNED, K_LANES, ROWS,
        )  # fmt: skip


def query_key(
    q_gate: Tensor, k: Tensor, q_weight: Tensor, k_weight: Tensor, cos: Tensor, sin: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As `kit.kernels.query_key.query_key`. Raises ValueError for what it does not cover."""
    tokens, width, turned = q_gate.shape[0], q_weight.shape[0], cos.shape[1]
    inputs = (q_gate, k, q_weight, k_weight, cos, sin)
    if len({x.dtype for x in inputs}) > 1 or not all(x.is_contiguous() for x in inputs):
        raise ValueError("inputs must be contiguous and of one dtype")
    if width > WIDEST or turned > width:
        raise ValueError(f"heads are {width} wide with {turned} turned, expected at most {WIDEST}")
    heads, keys = q_gate.shape[1] // (2 * width), k.shape[1] // width
    q_out, k_out = q_gate.new_empty(tokens, heads, width), k.new_empty(tokens, keys, width)
    gate_out = q_gate.new_empty(tokens, heads * width)
    grid = (triton.cdiv(tokens * heads, ROWS) + triton.cdiv(tokens * keys, ROWS),)
    _query_key[grid](
        q_gate, k, q_weight, k_weight, cos, sin, q_out, k_out, gate_out, tokens, 1.0 / width, eps,
        Q_HEADS=heads, K_HEADS=keys, WIDTH=width, BLOCK=triton.next_power_of_2(width), TURNED=turned,
        Q_LANES=lanes(tokens * heads, width), K_LANES=lanes(tokens * keys, width), ROWS=ROWS, num_warps=4, **STRICT,
    )  # fmt: skip
    return q_out, k_out, gate_out
