"""What the matrix products of a prefill cost at least on this device, on the run's own weights.

Covers: four ways to do them (one product a projection, projections of one input stacked into one product, and
both with the fastest of cuBLASLt's algorithms that a search found), each as one captured graph over all layers;
and the time to read the language weights once at the bandwidth of a large copy. No engine that multiplies these
weights can be much faster than the fastest way; every way is kept in the evidence.
Does not cover: attention, the delta rule, norms, the adapter or the label head, which come on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from kit.campaign.performance.timing import device_ms
from kit.campaign.statistics import median
from kit.kernels import Projection
from kit.model.language import AttentionMixer

if TYPE_CHECKING:
    from kit.campaign.performance.cublaslt import LtLibrary
    from kit.campaign.performance.cublaslt_search import Search
    from kit.engine.capture import Backend, Recording
    from kit.model.language import Language

STACKED_COPIES = 6  # stacks of a kind that are built and taken in turn: together far more than a cache holds
COPY_BYTES = 1 << 30
COPIES = 10


@dataclass(frozen=True)
class Group:
    """Weights of one layer that share an input, each [N, K]."""

    kind: str
    weights: tuple[Tensor, ...]


def groups(language: Language) -> Iterator[Group]:
    """Every product of the decoder layers, in the order of a forward."""
    for layer in language.layers:
        mixer = layer.mixer
        if isinstance(mixer, AttentionMixer):
            yield _group("attention in", mixer.q, mixer.k, mixer.v)
            yield _group("attention out", mixer.o)
        else:
            yield _group("delta in", mixer.qkv, mixer.z, mixer.b, mixer.a)
            yield _group("delta out", mixer.out)
        yield _group("mlp in", layer.mlp.gate, layer.mlp.up)
        yield _group("mlp out", layer.mlp.down)


def _group(kind: str, *projections: Projection) -> Group:
    return Group(kind, tuple(projection.weight for projection in projections))


def stacked(found: Sequence[Group]) -> list[Group]:
    """The same groups with their weights one below the other; of each kind the first STACKED_COPIES take turns.

    A stack of every layer would double the memory of the weights.
    """
    made: dict[str, list[Group]] = {}
    seen: dict[str, int] = {}
    result = []
    for group in found:
        stacks, number = made.setdefault(group.kind, []), seen.get(group.kind, 0)
        seen[group.kind] = number + 1
        if len(group.weights) == 1:
            result.append(group)
            continue
        if number < STACKED_COPIES:
            stacks.append(Group(group.kind, (torch.cat(group.weights),)))
        result.append(stacks[number % len(stacks)])
    return result


class Floors:
    """The ways to do the products of `language`; `ways` gives each as a recording for a number of tokens.

    search: has found algorithms for `shapes`; without it two of the ways have none.
    """

    def __init__(self, language: Language, backend: Backend, search: Search | None = None) -> None:
        self._plain = list(groups(language))
        self._stacked = stacked(self._plain)
        self._backend = backend
        weight = self._plain[0].weights[0]
        self._device, self._dtype = weight.device, weight.dtype
        self._search = search
        self._library: LtLibrary | None = None

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """[N, K] of all weights, stacked or not."""
        weights = [weight for group in (*self._plain, *self._stacked) for weight in group.weights]
        return sorted({(weight.shape[0], weight.shape[1]) for weight in weights})

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights that are multiplied."""
        return sum(weight.nbytes for group in self._plain for weight in group.weights)

    def ways(self, tokens: int) -> Iterator[tuple[str, Recording | str]]:
        """(name, recording to replay, or why there is none) of each way; the caller closes recordings."""
        for name, make, found in (
            ("component", self._products, self._plain),
            ("stacked", self._products, self._stacked),
            ("cublaslt component", self._searched, self._plain),
            ("cublaslt stacked", self._searched, self._stacked),
        ):
            made: Recording | str
            try:
                made = self._record(make(found, tokens))
            except (RuntimeError, OSError) as error:  # another library, or none: the other ways stand
                made = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            yield name, made

    def _record(self, forward: Callable[[], Tensor]) -> Recording:
        with torch.inference_mode():
            self._backend.run(forward)
            return self._backend.record(forward, "floors")

    def _inputs(self, found: Sequence[Group], tokens: int) -> dict[int, Tensor]:
        widths = {weight.shape[1] for group in found for weight in group.weights}
        generator = torch.Generator(self._device).manual_seed(tokens)
        return {
            width: torch.randn(tokens, width, generator=generator, device=self._device).to(self._dtype)
            for width in sorted(widths)
        }

    def _products(self, found: Sequence[Group], tokens: int) -> Callable[[], Tensor]:
        inputs = self._inputs(found, tokens)
        weights = [weight for group in found for weight in group.weights]

        def forward() -> Tensor:
            result = inputs[weights[0].shape[1]]
            for weight in weights:
                result = F.linear(inputs[weight.shape[1]], weight)
            return result

        return forward

    def _searched(self, found: Sequence[Group], tokens: int) -> Callable[[], Tensor]:
        from kit.campaign.performance.cublaslt import CublasLtError, LtLibrary, LtProduct

        if self._search is None:
            raise CublasLtError("searched on a CUDA device only")
        if self._library is None:
            self._library = LtLibrary(self._device)
        inputs, weights = self._inputs(found, tokens), [weight for group in found for weight in group.weights]
        chosen: dict[tuple[int, int], tuple[LtProduct, bytes]] = {}
        for rows, width in {(weight.shape[0], weight.shape[1]) for weight in weights}:
            algorithm = self._search.algorithm(tokens, (rows, width))
            chosen[rows, width] = LtProduct(self._library, inputs[width], rows), algorithm

        def forward() -> Tensor:
            result = weights[0]
            for weight in weights:
                product, algorithm = chosen[weight.shape[0], weight.shape[1]]
                result = product.run(weight, algorithm)
            return result

        return forward

    def close(self) -> None:
        """Give the library's handle back; recordings were closed before."""
        if self._library is not None:
            self._library.close()
            self._library = None


def copy_bandwidth(device: torch.device) -> float:
    """Bytes a second, read and written, of copying COPY_BYTES within the device."""
    source = torch.ones(COPY_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / (median(device_ms(lambda: target.copy_(source)) for _ in range(COPIES)) / 1e3)
