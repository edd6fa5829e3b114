"""Where the time of one replay goes: device time of its kernels, by what they do.

Covers: one profiled call, and the class of a kernel by its name. Kernels that run at the same time on forked
streams are counted each, so the classes can add up to more than the latency; what the device waited for shows as
the difference the other way.
Does not cover: the host, or why a kernel is slow.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

MOST_KERNELS = 12

# The first pattern that is found in a kernel's name decides.
CLASSES: tuple[tuple[str, str], ...] = (
    ("memory", r"^mem(cpy|set)"),
    ("attention", r"flash|fmha|attention|sdpa"),
    ("delta rule", r"chunk_|gated_delta|recompute_w_u|solve_tril|kkt|l2norm|inverse_kernel|cumsum|wy_fast"),
    ("adapter", r"^_(shrink|add_parts|combine)|lora|simt|sgemm|gemmSN|f32f32_f32f32|ffma|gemv\w*<.*float"),
    ("products", r"gemm|nvjet|cutlass|cublas|xmma|gemv|splitK"),
    ("convolution", r"conv"),
    ("kit kernels", r"^_\w+$"),
    ("compiled", r"^triton_"),
    ("elementwise", r"elementwise|reduce|softmax|layer_norm|index|cat|copy|vectorized|fill|at::native"),
)


def classify(kernel: str) -> str:
    """Class of a kernel by its name; "other" where no pattern fits."""
    return next((name for name, pattern in CLASSES if re.search(pattern, kernel, re.IGNORECASE)), "other")


def profile(run: Callable[[], object]) -> dict[str, Any]:
    """Milliseconds of device time of one call by class, launches, and the costliest kernels. Needs a GPU.

    Raises RuntimeError where no kernel was seen.
    """
    import torch
    from torch.profiler import ProfilerActivity

    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as found:
        run()
        torch.cuda.synchronize()
    times: dict[str, float] = defaultdict(float)
    launches: Counter[str] = Counter()
    for event in found.events() or ():
        if str(event.device_type).endswith("CUDA"):
            times[event.name] += event.device_time_total / 1e3
            launches[event.name] += 1
    if not times:
        raise RuntimeError("the profiler saw no kernel: this process may not trace the device")
    return summary(times, launches)


def summary(times: Mapping[str, float], launches: Mapping[str, int]) -> dict[str, Any]:
    """Totals by class, in order of time, from milliseconds and launches by kernel name."""
    by_class: dict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for name, ms in times.items():
        by_class[classify(name)] += ms
        counts[classify(name)] += launches[name]
    costliest = sorted(times.items(), key=lambda item: -item[1])[:MOST_KERNELS]
    return {
        "classes": [
            {"class": name, "ms": round(ms, 4), "launches": counts[name]}
            for name, ms in sorted(by_class.items(), key=lambda item: -item[1])
        ],
        "total_ms": round(sum(times.values()), 4),
        "launches": sum(launches.values()),
        "costliest": [{"kernel": name[:120], "ms": round(ms, 4), "launches": launches[name]} for name, ms in costliest],
    }
