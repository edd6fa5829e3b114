"""Groups of adapted projections on a GPU: bits of the plain form at the published widths, eager and captured.

Covers: every group of the 27B and 4B layouts over prompt lengths from 1 to 2,282, every form at each, changed
inputs through one graph, repeats, poisoned memory, and what the decisions rest on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: the products are cuBLAS's", allow_module_level=True)

from kit.engine.cuda_graph import CudaGraphs
from kit.kernels import Projection
from kit.kernels.fused_projections import FORMS, Form, Forms, FusedProjections
from kit.kernels.projections import add_delta, project
from kit.kernels.projections_kernel import Launch, Member, Tile, combine, shrink
from kit.kernels.proof import PoisonedAllocations, Proofs, compare
from kit.kernels.sum_order import read

DEVICE = torch.device("cuda")
OWN: Forms = ((math.inf, Form(own=True)),)
FORMS_AT_ALL_LENGTHS: dict[str, Forms] = {
    "chosen": FORMS,
    "own": OWN,
    "own aside": ((math.inf, Form(own=True, adapter=1, narrow=1024)),),
    "cuBLAS": ((math.inf, Form(own=False)),),
    "cuBLAS aside": ((math.inf, Form(own=False, adapter=4, narrow=1024)),),
    "everything aside": ((math.inf, Form(own=False, adapter=3, narrow=10**6)),),
}
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


@pytest.mark.parametrize("forms", [FORMS, OWN], ids=["chosen", "own"])
def test_eager_bits(group: tuple[int, tuple[Projection, ...]], forms: Forms) -> None:
    inner, projections = group
    op = FusedProjections(Proofs(), forms)
    for tokens in TOKENS:
        for seed in (0, 1, 2):
            x = inputs(tokens, inner, seed)
            with PoisonedAllocations():  # type: ignore[no-untyped-call]
                ours = op(x, projections)
            assert equal(ours, project(x, projections)), (tokens, seed)


@pytest.mark.parametrize("form", FORMS_AT_ALL_LENGTHS)
def test_captured_bits_with_changed_inputs_and_repeats(
    group: tuple[int, tuple[Projection, ...]], form: str
) -> None:
    """The forward of the recording runs three groups, each on the one before's result."""
    inner, projections = group
    back = members(projections[0].weight.shape[0], (inner,))
    op, backend = FusedProjections(Proofs(), FORMS_AT_ALL_LENGTHS[form]), CudaGraphs(DEVICE)
    for tokens in (1, 63, 98, 228, 392, 1024):
        x = inputs(tokens, inner, 0).clone()

        def forward(run: Callable[..., tuple[Tensor, ...]] = op, x: Tensor = x) -> Tensor:
            outs = run(x, projections)
            (again,) = run(outs[0] * 0.1, back)
            return torch.cat((*outs, *run(again, projections)), dim=1)

        backend.run(forward)
        recording = backend.record(forward, "text")
        for seed in range(3):
            x.copy_(inputs(tokens, inner, seed))
            expected = [forward(project)]
            for repeat in range(7):
                assert equal([recording.replay()], expected), (tokens, seed, repeat)
        recording.close()
    backend.close()


@pytest.mark.parametrize("tokens", [98, 171, 392, 475, 1024, 2282])
def test_every_product_of_an_adapter_is_ours(tokens: int) -> None:
    """But for some out of the rank, with few rows: cuBLAS may add 48 and 1,024 in a way that is not followed.

    So on an H200 with cuBLAS of CUDA 13.0; elsewhere this may fail while bits are right.
    """
    proofs = Proofs()
    op = FusedProjections(proofs, OWN)
    for inner, widths in list(GROUPS.values())[:5]:
        op(inputs(tokens, inner, 0), members(inner, widths))
    refused = [decision for decision in proofs.describe() if decision["choice"] != "kernel"]
    allowed = {("project.expand", f"{tokens}x{width} in no known way") for width in (48, 1024)}
    assert {(decision["op"], decision["key"]) for decision in refused} <= allowed, refused


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


@pytest.mark.parametrize("launch", [Launch(32, 32, 2, 3), Launch(64, 16, 4, 3), Launch(128, 32, 8, 2)])
def test_the_launch_changes_no_bit_and_no_write_is_missing(launch: Launch) -> None:
    x = inputs(171, 5120, 0)
    downs = [p.down for p in members(5120, (48, 48, 48)) if p.down is not None]
    order = FusedProjections(Proofs())._shrink_order(x, x.float(), downs[0])
    assert order is not None
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        low = shrink(x, downs, order, launch=launch)
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
