"""What the language kernels share: CUDA's own FP32 functions, and row sums in the order in which torch takes them.

Covers: the compile options without which neither holds (`STRICT`: no fusing of products and sums that torch
rounds apart, denormals kept), exp and log1p as nvcc compiles them, sigmoid and SiLU as torch's CUDA operators
write them, and `lanes` with `row_sum`, the tree of torch's reduction over the last axis of an FP32 matrix: rows
are read four neighbours at a time by 32 to 512 threads, each of the four goes to its own partial sum, the four
are added left to right, and then the upper half of the threads to the lower until one is left.
Does not cover: rows shorter than 128 or so long that torch would share one between warps (`lanes` refuses both).
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice

STRICT = {"enable_fp_fusion": False, "enable_reflect_ftz": False}
VECTOR = 4  # neighbouring values a thread of torch's reduction reads at once
THREADS, WARPS = 512, 16  # the largest block of that reduction
SHORTEST = 128  # narrower rows are read one value at a time

if triton.knobs.runtime.interpret:  # the interpreter has no device library

    @triton.jit
    def exp(x):
        return tl.exp(x)

    @triton.jit
    def log1p(x):
        return tl.log(1.0 + x)

else:
    exp, log1p = libdevice.exp, libdevice.log1p


@triton.jit
def sigmoid(x):
    """x FP32 -> 1 / (1 + exp(-x)), correctly rounded division."""
    return tl.div_rn(1.0, 1.0 + exp(-x))


@triton.jit
def silu(x):
    """x FP32 -> x / (1 + exp(-x)), correctly rounded division."""
    return tl.div_rn(x, 1.0 + exp(-x))


def lanes(rows: int, width: int) -> int:
    """Threads that share one row when torch reduces [rows, width] over its last axis.

    Raises ValueError for a width whose order of sums is another than `row_sum`'s.
    """
    if width < SHORTEST or width % VECTOR:
        raise ValueError(f"rows are {width} wide, expected a multiple of {VECTOR} from {SHORTEST}")
    height = min(_power_of_two(rows), WARPS)
    threads = min(_power_of_two(width // VECTOR), THREADS // height)
    if -(-width // threads) >= min(16 * height, 256):
        raise ValueError(f"{rows} rows of {width}: torch would share a row between warps")
    return threads


def _power_of_two(number: int) -> int:
    """The largest power of two that is not above it."""
    return 1 << (number.bit_length() - 1)


@triton.jit
def row_sum(partial, ROWS: tl.constexpr, LANES: tl.constexpr):
    """partial [ROWS, LANES * 4], the sums thread by thread -> [ROWS]."""
    even, odd = tl.split(tl.reshape(partial, (ROWS, LANES, 2, 2)))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    total = ((first + second) + third) + fourth
    half: tl.constexpr = LANES // 2
    total = _halved(total, ROWS, half)
    return tl.reshape(total, (ROWS,))


@triton.jit
def _halved(total, ROWS: tl.constexpr, HALF: tl.constexpr):
    """[ROWS, 2 * HALF] -> [ROWS, 1]: lane i takes lane i + HALF, then HALF is halved. A sum of two has one order."""
    total = tl.sum(tl.reshape(total, (ROWS, 2, HALF)), axis=1)
    if HALF > 1:
        total = _halved(total, ROWS, HALF // 2)
    return total
