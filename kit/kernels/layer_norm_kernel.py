"""`add_layer_norm` as one Triton kernel that sums as torch's CUDA LayerNorm does.

torch gives a row to 128 threads that read four neighbouring values at a time. Each thread runs Welford's
update over what it reads, multiplying with the reciprocal of the count; the lanes of a warp are then merged
pairwise (16 apart, 8, 4, 2, 1), and so are the four warps (2 apart, 1). Which multiplications are fused with
the addition behind them is nvcc's choice, written out here: the kernel is compiled without fusing of its own.
Covers rows whose width is a multiple of four, which is where torch works in this way.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

THREADS = tl.constexpr(128)
LANES = tl.constexpr(32)
WARPS = tl.constexpr(4)
VECTOR = tl.constexpr(4)


@triton.jit
def _halves(x, HALF: tl.constexpr):
    """x [2 * HALF] -> its lower and its upper half."""
    return tl.split(tl.permute(tl.reshape(x, (2, HALF)), (1, 0)))


@triton.jit
def _by_lane(x):
    """x [threads], warp by warp -> lane by lane, so that lanes 16 apart are the halves of the whole."""
    return tl.reshape(tl.permute(tl.reshape(x, (WARPS, LANES)), (1, 0)), (THREADS,))


@triton.jit
def _update(value, inside, mean, squares, COUNT: tl.constexpr):
    """Take the COUNT-th value of every thread into its mean and sum of squared deviations."""
    delta = value - mean
    moved = tl.fma(delta, 1.0 / COUNT, mean)
    grown = tl.fma(delta, value - moved, squares)
    return tl.where(inside, moved, mean), tl.where(inside, grown, squares)


@triton.jit
def _merge(mean, squares, count, HALF: tl.constexpr):
    """Statistics of 2 * HALF parts -> of HALF parts: each of the lower half with its partner of the upper."""
    mean_a, mean_b = _halves(mean, HALF)
    squares_a, squares_b = _halves(squares, HALF)
    count_a, count_b = _halves(count, HALF)
    total = count_a + count_b
    reciprocal = tl.div_rn(1.0, tl.maximum(total, 1.0))
    share_a, share_b = count_a * reciprocal, count_b * reciprocal
    delta = mean_a - mean_b
    merged = tl.fma(share_b, mean_b, share_a * mean_a)
    spread = tl.fma(delta * delta * count_b, share_a, squares_a + squares_b)
    return merged, spread, total


@triton.jit
def _add_layer_norm(residual, delta, weight, bias, total, out, eps, WIDTH: tl.constexpr, ROUNDS: tl.constexpr):
    row = tl.program_id(0) * WIDTH
    thread = tl.arange(0, THREADS)
    item = thread[:, None] * VECTOR + tl.arange(0, VECTOR)[None, :]
    mean = tl.zeros([THREADS], tl.float32)
    squares = tl.zeros([THREADS], tl.float32)
    for step in tl.static_range(ROUNDS):
        column = step * THREADS * VECTOR + item
        known = column < WIDTH
        a = tl.load(residual + row + column, mask=known, other=0.0).to(tl.float32)
        b = tl.load(delta + row + column, mask=known, other=0.0).to(tl.float32)
        rounded = (a + b).to(total.dtype.element_ty)
        tl.store(total + row + column, rounded, mask=known)
        even, odd = tl.split(tl.reshape(rounded.to(tl.float32), (THREADS, VECTOR // 2, 2)))
        first, third = tl.split(even)
        second, fourth = tl.split(odd)
        inside = (step * THREADS + thread) * VECTOR < WIDTH
        mean, squares = _update(first, inside, mean, squares, step * VECTOR + 1)
        mean, squares = _update(second, inside, mean, squares, step * VECTOR + 2)
        mean, squares = _update(third, inside, mean, squares, step * VECTOR + 3)
        mean, squares = _update(fourth, inside, mean, squares, step * VECTOR + 4)

    vectors = (WIDTH // VECTOR - thread + THREADS - 1) // THREADS
    mean, squares, count = _by_lane(mean), _by_lane(squares), _by_lane((vectors * VECTOR).to(tl.float32))
    mean, squares, count = _merge(mean, squares, count, 64)
    mean, squares, count = _merge(mean, squares, count, 32)
    mean, squares, count = _merge(mean, squares, count, 16)
    mean, squares, count = _merge(mean, squares, count, 8)
    mean, squares, count = _merge(mean, squares, count, 4)
    mean, squares, count = _merge(mean, squares, count, 2)
    mean, squares, count = _merge(mean, squares, count, 1)
    inverse = tl.rsqrt(tl.div_rn(squares, WIDTH * 1.0) + eps)[:, None]
    mean = mean[:, None]

    for step in tl.static_range(ROUNDS):
        column = step * THREADS * VECTOR + item
        known = column < WIDTH
        a = tl.load(residual + row + column, mask=known, other=0.0).to(tl.float32)
        b = tl.load(delta + row + column, mask=known, other=0.0).to(tl.float32)
        x = (a + b).to(total.dtype.element_ty).to(tl.float32)
        w = tl.load(weight + column, mask=known, other=0.0).to(tl.float32)
        shift = tl.load(bias + column, mask=known, other=0.0).to(tl.float32)
        normed = tl.fma(w, inverse * (x - mean), shift)
        tl.store(out + row + column, normed.to(out.dtype.element_ty), mask=known)


def add_layer_norm(
    residual: Tensor, delta: Tensor, weight: Tensor, bias: Tensor, eps: float
) -> tuple[Tensor, Tensor]:
    """As `kit.kernels.layer_norm.add_layer_norm`, at most 2**31 elements. Raises ValueError for other widths."""
    rows, width = residual.shape
    if width % 4:
        raise ValueError(f"rows are {width} wide, expected a multiple of 4")
    residual, delta = residual.contiguous(), delta.contiguous()
    total, out = torch.empty_like(residual), torch.empty_like(residual)
    _add_layer_norm[(rows,)](
        residual, delta, weight, bias, total, out, eps,
        WIDTH=width, ROUNDS=triton.cdiv(width, 512), num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip
    return total, out
