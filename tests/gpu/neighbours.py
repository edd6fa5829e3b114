"""Whether somebody else may have used the GPU during a test: device memory that is not this process's, before and after.

Graphs are weighed by how much device memory grows outside torch's allocator, and so by what other processes do meanwhile: a
neighbour's growth makes an entry look too large, and it is evicted. A test that fails so should say so.
"""

from __future__ import annotations

from kit.campaign.device import used_bytes

MOVED = 64 << 20  # bytes: graphs and modules of the tests here take less, where a context is there already


def outside() -> int | None:
    """Bytes in use on the device that torch's allocator in this process does not hold; None where that is not known."""
    import torch

    if not torch.cuda.is_available() or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    used = used_bytes()
    return None if used is None else used - torch.cuda.memory_reserved()


def words(before: int | None, after: int | None) -> str:
    """What to say of a test that failed between two readings; "" where nothing moved, or it is not known."""
    if before is None or after is None or abs(after - before) <= MOVED:
        return ""
    return (
        f"during this test device memory that torch does not hold here went from {before >> 20} to {after >> 20} MiB: "
        "if another process used this GPU meanwhile, run it again with the GPU to itself"
    )
