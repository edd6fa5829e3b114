"""Groups of adapted projections on a GPU: bits of the plain form at the published widths, eager and captured.

Covers: every group of the 27B and 4B layouts over prompt lengths from 1 to 2,282, changed inputs through one
graph, repeats, poisoned memory, and what the decisions rest on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: the products are cuBLAS's", allow_module_level=True)

from kit.engine.cuda_graph import CudaGraphs
from kit.kernels import Projection
from kit.kernels.fused_projections import FusedProjections
from kit.kernels.projections import add_delta, project
from kit.kernels.projections_kernel import Member, Tile, combine, shrink
from kit.kernels.proof import PoisonedAllocations, Proofs, compare
from kit.kernels.sum_order import read

DEVICE = torch.device("cuda")
TOKENS = (1, 2, 3, 63, 98, 171, 278, 392, 475, 1024, 2282)
GROUPS = {  # inner width, rows of each projection
    "delta in": (5120, (10240, 6144, 48, 48)),
    "delta out": (6144, (5120,)),
    "attention in": (5120, (12288, 1024, 1024)),
    "mlp in": (5120, (17408, 17408)),
    "mlp out": (17408, (5120,)),
    "4b delta in": (2560, (8192, 4096, 32, 32)),
    "4b mlp out": (9216, (2560,)),
}


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield
    torch.cuda.synchronize()


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator(DEVICE).manual_seed(seed)
    return torch.randn(*shape, generator=generator, device=DEVICE) * scale


def inputs(tokens: int, inner: int, seed: int) -> Tensor:
    return random(tokens, inner, seed=1000 + seed).bfloat16()


def members(inner: int, widths: Sequence[int]) -> tuple[Projection, ...]:
    return tuple(
        Projection(
            random(width, inner, seed=i, scale=inner**-0.5).bfloat16(),
            random(16, inner, seed=10 + i, scale=inner**-0.5),
            random(width, 16, seed=20 + i, scale=0.25),
            2.0,
        )
        for i, width in enumerate(widths)
    )


def equal(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> bool:
    elements, different = compare(tuple(ours), tuple(theirs))
    return elements > 0 and different == 0 and all(tensor.is_contiguous() for tensor in ours)


@pytest.fixture(scope="module", params=list(GROUPS))
def group(request: pytest.FixtureRequest) -> tuple[int, tuple[Projection, ...]]:
    inner, widths = GROUPS[request.param]
    return inner, members(inner, widths)


def test_eager_bits(group: tuple[int, tuple[Projection, ...]]) -> None:
    inner, projections = group
    op = FusedProjections(Proofs())
    for tokens in TOKENS:
        for seed in (0, 1, 2):
            x = inputs(tokens, inner, seed)
            with PoisonedAllocations():  # type: ignore[no-untyped-call]
                ours = op(x, projections)
            assert equal(ours, project(x, projections)), (tokens, seed)


def test_captured_bits_with_changed_inputs_and_repeats(group: tuple[int, tuple[Projection, ...]]) -> None:
    """The forward of the recording runs three groups, each on the one before's result."""
    inner, projections = group
    back = members(projections[0].weight.shape[0], (inner,))
    op, backend = FusedProjections(Proofs()), CudaGraphs(DEVICE)
    for tokens in (1, 63, 98, 392, 1024):
        x = inputs(tokens, inner, 0).clone()

        def forward(run: Callable[..., tuple[Tensor, ...]] = op, x: Tensor = x) -> Tensor:
            outs = run(x, projections)
            (again,) = run(outs[0] * 0.1, back)
            return torch.cat((*outs, *run(again, projections)), dim=1)

        backend.run(forward)
        recording = backend.record(forward, "text")
        for repeat in range(20):
            x.copy_(inputs(tokens, inner, repeat % 3))
            assert equal([recording.replay()], [forward(project)]), (tokens, repeat)
        recording.close()
    backend.close()


@pytest.mark.parametrize("tokens", [98, 171, 392, 475, 1024, 2282])
def test_every_product_of_an_adapter_is_ours(tokens: int) -> None:
    """What cuBLAS of CUDA 13.0 does on an H200 is followed wholly; elsewhere this may fail while bits are right."""
    proofs = Proofs()
    op = FusedProjections(proofs)
    for inner, widths in list(GROUPS.values())[:5]:
        op(inputs(tokens, inner, 0), members(inner, widths))
    choices: dict[tuple[str, str], set[str]] = {}
    for decision in proofs.describe():
        place = (decision["op"], decision["key"].partition(" in ")[0])
        choices.setdefault(place, set()).add(decision["choice"])
    assert [place for place, found in choices.items() if "kernel" not in found] == []


@pytest.mark.parametrize("inner", [5120, 6144, 17408])
def test_an_order_read_from_a_product_gives_its_bits(inner: int) -> None:
    """At prompt lengths between those of the figures, of which cuBLAS cuts some unevenly."""
    downs = [p.down for p in members(inner, (48, 48)) if p.down is not None]
    for tokens in (2, 16, 115, 133, 187, 228, 254, 280, 346, 370, 481, 749, 911, 1240, 2237):
        x = inputs(tokens, inner, 0)
        order = read(lambda a, b: a @ b.t(), x.float(), downs[0])
        assert equal(shrink(x, downs, order).unbind(), [x.float() @ down.t() for down in downs]), (
            tokens,
            order,
        )


@pytest.mark.parametrize("rows", [32, 64, 128])
def test_rows_a_program_change_no_bit_and_no_write_is_missing(rows: int) -> None:
    x = inputs(171, 5120, 0)
    downs = [p.down for p in members(5120, (48, 48, 48)) if p.down is not None]
    order = FusedProjections(Proofs())._shrink_order(x, x.float(), downs[0])
    assert order is not None
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        low = shrink(x, downs, order, rows)
    assert equal(low.unbind(), [x.float() @ down.t() for down in downs])


@pytest.mark.parametrize(
    "tile", [Tile(16, 128, 1, 4), Tile(32, 64, 1, 4), Tile(64, 128, 2, 8), Tile(64, 64, 4, 4)]
)
def test_given_deltas_are_added_as_torch_adds_them(tile: Tile) -> None:
    low = random(171, 16)
    up = {width: random(width, 16, seed=width) for width in (48, 1024, 5120)}
    base = {width: random(171, width, seed=width + 1).bfloat16() for width in up}
    for scale in (2.0, 0.3):
        outs = {width: base[width].clone() for width in up}
        combine([Member(outs[width], low @ up[width].t(), None, scale) for width in up], tile)
        assert equal(list(outs.values()), [add_delta(base[width], low, up[width], scale) for width in up])


def test_an_unproven_shape_in_a_capture_is_the_plain_form() -> None:
    inner, widths = GROUPS["delta out"]
    projections, x = members(inner, widths), inputs(100, inner, 0)
    op, graph = FusedProjections(Proofs()), torch.cuda.CUDAGraph()
    expected = project(x, projections)
    with torch.cuda.graph(graph):
        (out,) = op(x, projections)
    graph.replay()
    assert equal([out], expected)
