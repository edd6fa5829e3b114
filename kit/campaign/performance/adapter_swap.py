"""Another adapter in the place of the loaded one: what it costs, and that captured graphs go on being right.

Covers: writing new pairs into the tensors that projections, and graphs, point to. Nothing is invalidated, because
no address changes; what proves it is the answer, which must follow the adapter there and back. The other adapter
is made from the loaded one (shapes and sizes are its own), so the answer must change.
Does not cover: adapters of another rank or other targets, which need new tensors and therefore new graphs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kit.kernels import Projection
from kit.model.language import AttentionMixer

if TYPE_CHECKING:
    from kit.model.language import Language

Pair = tuple[Tensor, Tensor]
Answer = Callable[[], object]


def pairs(language: Language) -> Iterator[Pair]:
    """(down, up) of every adapted projection, the tensors themselves."""
    for layer in language.layers:
        mixer, mlp = layer.mixer, layer.mlp
        own = (
            (mixer.q, mixer.k, mixer.v, mixer.o)
            if isinstance(mixer, AttentionMixer)
            else (mixer.qkv, mixer.z, mixer.b, mixer.a, mixer.out)
        )
        yield from filter(None, map(_pair, (*own, mlp.gate, mlp.up, mlp.down)))


def _pair(projection: Projection) -> Pair | None:
    down, up = projection.down, projection.up
    return None if down is None or up is None else (down, up)


def another(loaded: Sequence[Pair]) -> list[Pair]:
    """An adapter of the same shapes that does something else: every up matrix negated."""
    return [(down.clone(), up.neg()) for down, up in loaded]


def write(targets: Sequence[Pair], values: Sequence[Pair]) -> None:
    """Copy pairs into pairs, in place; queued on the current stream on a GPU."""
    for target, value in zip(targets, values, strict=True):
        for old, new in zip(target, value, strict=True):
            old.copy_(new)


@dataclass(frozen=True)
class Swap:
    """What was found. same_as_reference: the swapped answers of all engines agree; None with one engine."""

    tensors: int
    bytes: int
    from_device_ms: float
    from_host_ms: float
    changed: bool
    same_as_reference: bool | None
    returned: bool


def measure(language: Language, answers: Sequence[Answer], synchronise: Callable[[], None]) -> Swap:
    """Swap to another adapter and back. answers: the same request through each engine, a graph engine first.

    The loaded adapter is in place again when this returns, also after an error.
    """
    loaded = list(pairs(language))
    kept = [(down.clone(), up.clone()) for down, up in loaded]
    other = another(kept)
    host = [(down.cpu(), up.cpu()) for down, up in kept]
    before = [answer() for answer in answers]
    try:
        from_device = _timed(lambda: write(loaded, other), synchronise)
        swapped = [answer() for answer in answers]
    finally:
        from_host = _timed(lambda: write(loaded, host), synchronise)
    after = [answer() for answer in answers]
    return Swap(
        tensors=2 * len(loaded),
        bytes=sum(tensor.nbytes for pair in loaded for tensor in pair),
        from_device_ms=from_device,
        from_host_ms=from_host,
        changed=all(a != b for a, b in zip(before, swapped, strict=True)),
        same_as_reference=all(answer == swapped[0] for answer in swapped) if len(answers) > 1 else None,
        returned=before == after,
    )


def _timed(work: Callable[[], None], synchronise: Callable[[], None]) -> float:
    synchronise()
    began = time.perf_counter()
    with torch.inference_mode():
        work()
    synchronise()
    return (time.perf_counter() - began) * 1e3


def facts(swap: Swap) -> dict[str, Any]:
    """The swap as plain data for performance.json."""
    return dict(vars(swap))
