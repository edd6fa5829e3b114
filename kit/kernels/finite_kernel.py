"""`all_finite` as one pass over memory: torch's form writes a mask as long as the tensor and reads it again."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096
PROGRAMS = 2048  # a few waves of any GPU; each takes every PROGRAMS-th block


@triton.jit
def _scan(x, flag, elements, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK
    bad = tl.zeros([BLOCK], tl.int32)
    for first in tl.range(start, elements, BLOCK * PROGRAMS):
        at = first + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < elements, other=0.0)
        if value.dtype.primitive_bitwidth == 16:
            value = value.to(tl.float32)
        bad |= (tl.abs(value) < float("inf")).to(tl.int32) ^ 1  # a NaN is not below infinity either
    if tl.max(bad, 0) != 0:
        tl.store(flag, 0)  # every program that finds one writes the same


def all_finite(x: Tensor) -> Tensor:
    """As `kit.kernels.finite.all_finite`; a tensor with gaps is copied first."""
    flag = torch.ones((), dtype=torch.int8, device=x.device)
    elements = x.numel()
    grid = (min(PROGRAMS, max(1, triton.cdiv(elements, BLOCK))),)
    _scan[grid](x.contiguous(), flag, elements, BLOCK=BLOCK, PROGRAMS=PROGRAMS)
    return flag.view(torch.bool)
