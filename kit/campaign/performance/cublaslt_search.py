"""The fastest of the algorithms that cuBLASLt suggests, searched in a process of its own.

Covers: `python -m kit.campaign.performance.cublaslt_search`, which tries every suggestion on random weights of the
asked shapes, compares it with torch's product and times it; and `Search`, which starts that process, asks it, and
holds what it found. A library called with an algorithm nobody else uses may take its process down: then only that
product has none, and the reason says so.
Does not cover: using what was found (`kit.campaign.performance.floors`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kit.campaign.performance.cublaslt import CublasLtError
from kit.campaign.statistics import median
from kit.profile import PROJECT_ROOT

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from kit.campaign.performance.cublaslt import LtProduct

COMMAND = (sys.executable, "-m", "kit.campaign.performance.cublaslt_search")
WEIGHTS = 4  # of a shape, taken in turn, so that small ones do not stay in a cache
TRIALS = 5
HEAD_START = 400_000  # cycles the device sleeps while the launches to be timed are queued behind it
TOLERANCE = 2.0**-6  # of the largest value: two orders of FP32 sums, rounded to BF16

Key = tuple[int, int, int]  # tokens, rows and width: T, N and K


class Found(NamedTuple):
    """The fastest algorithm, the milliseconds of one launch, and how many were tried."""

    algorithm: bytes
    ms: float
    tried: int


class Search:
    """A search process, started when made; it gets ready while the caller does something else."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
        )
        self._found: dict[Key, Found] = {}
        self._ending = "it was not asked"

    def ask(self, device: str, tokens: Sequence[int], shapes: Sequence[tuple[int, int]], seconds: float) -> None:
        """Have all products of those tokens and weight shapes [N, K] searched; waits, at most so many seconds."""
        asked = json.dumps({"device": device, "tokens": list(tokens), "shapes": list(shapes)})
        try:
            output, errors = self._process.communicate(asked, timeout=seconds)
            last = (errors.strip().splitlines() or ["it said nothing"])[-1][:200]
            self._ending = f"it ended with code {self._process.returncode}: {last}"
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
            self._ending = f"it was stopped after {seconds:.0f} s"
        for line in output.splitlines():
            if line.startswith("{"):
                item = json.loads(line)
                self._found[tuple(item["key"])] = Found(bytes.fromhex(item["algorithm"]), item["ms"], item["tried"])

    def algorithm(self, tokens: int, shape: tuple[int, int]) -> bytes:
        """The fastest one. Raises CublasLtError where none was found."""
        found = self._found.get((tokens, *shape))
        if found is None:
            raise CublasLtError(
                f"no algorithm for [{tokens}, {shape[1]}] by {list(shape)} was found; the search: {self._ending}"
            )
        return found.algorithm

    def close(self) -> None:
        """End the process, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def fastest(product: LtProduct, x: Tensor, weights: Sequence[Tensor]) -> Found:
    """Try every suggestion. Raises CublasLtError where none gives the product."""
    import torch.nn.functional as F

    expected = F.linear(x, weights[0]).float()
    allowed = TOLERANCE * float(expected.abs().max())
    best, tried = None, 0
    for algorithm in product.suggestions():
        try:
            different = float((product.run(weights[0], algorithm).float() - expected).abs().max())
        except CublasLtError:
            continue
        if not different <= allowed:
            continue
        tried += 1
        ms = median(_queued_ms(product, weights, algorithm) for _ in range(TRIALS))
        if best is None or ms < best[1]:
            best = algorithm, ms
    if best is None:
        raise CublasLtError(f"no algorithm multiplies {list(x.shape)} by {list(weights[0].shape)}")
    return Found(best[0], best[1] / len(weights), tried)


def _queued_ms(product: LtProduct, weights: Sequence[Tensor], algorithm: bytes) -> float:
    """Device time of a launch a weight, all queued before the first begins: without the host's part of them."""
    import torch

    cuda: Any = torch.cuda
    first, last = (cuda.Event(enable_timing=True) for _ in range(2))
    cuda._sleep(HEAD_START)
    first.record()
    for weight in weights:
        product.run(weight, algorithm)
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last))


def search(
    device: torch.device, tokens: Sequence[int], shapes: Sequence[tuple[int, int]]
) -> Iterator[tuple[Key, Found]]:
    """Every product that has an algorithm, as soon as it is known."""
    import torch

    from kit.campaign.performance.cublaslt import LtLibrary, LtProduct

    library = LtLibrary(device)
    generator = torch.Generator(device).manual_seed(1)
    for rows, width in shapes:
        weights = [torch.randn(rows, width, generator=generator, device=device).bfloat16() for _ in range(WEIGHTS)]
        for count in tokens:
            x = torch.randn(count, width, generator=generator, device=device).bfloat16()
            try:
                yield (count, rows, width), fastest(LtProduct(library, x, rows), x, weights)
            except CublasLtError as error:
                print(error, file=sys.stderr)
    library.close()


def main() -> None:
    """Get the device ready, read what is asked from standard input, print one line of JSON a product."""
    import torch

    torch.ones(1, 1, device="cuda").mm(torch.ones(1, 1, device="cuda"))  # loads the library, too
    asked = sys.stdin.read()
    if not asked:  # who started us is gone
        return
    wanted = json.loads(asked)
    shapes = [(rows, width) for rows, width in wanted["shapes"]]
    for key, found in search(torch.device(wanted["device"]), wanted["tokens"], shapes):
        told = {"key": key, "algorithm": found.algorithm.hex(), "ms": found.ms, "tried": found.tried}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
