"""Measuring on a GPU, at the size of cpu-tiny: every phase runs, forms of the model agree, floors are real products."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

from kit.profile import Profile

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: nothing to measure here", allow_module_level=True)

from kit.campaign.performance import breakdown, session
from kit.campaign.performance.cublaslt import CublasLtError, LtLibrary, LtProduct
from kit.campaign.performance.cublaslt_search import Search
from kit.campaign.performance.floors import copy_bandwidth
from kit.campaign.performance.plan import Settings
from kit.engine import reference
from kit.engine.baseline import CapturedReference, ReferenceCalls, compiled_layers
from kit.engine.cuda_graph import CudaGraphs
from tests.engine.requests import images, text

DEVICE = torch.device("cuda")


def test_the_captured_reference_keeps_the_bits_of_the_called_one(profile: Profile) -> None:
    engine = reference.load(profile)
    called, captured = ReferenceCalls(engine), CapturedReference(engine)
    for body in (text(30), images((256, 256)), text(29), text(30), images((256, 256), (100, 77)), images((256, 256))):
        prepared = engine.prepare(body)
        assert captured.run(prepared) == called.run(prepared)
        _overwrite_free_memory()
        assert captured.run(prepared) == called.run(prepared)
    captured.close()
    engine.close()


def _overwrite_free_memory() -> None:
    """Whatever a graph reads that nobody holds any more does not survive this."""
    for size in (1 << 9, 1 << 12, 1 << 16, 1 << 19, 1 << 22):
        held = [torch.full((size,), 0x7F, dtype=torch.uint8, device=DEVICE) for _ in range(32)]
        del held
    torch.cuda.empty_cache()


PRODUCTS = [(98, 10240, 5120), (98, 48, 5120), (392, 5120, 17408), (1, 64, 64)]


@pytest.fixture(scope="module")
def searched() -> Iterator[Search]:
    search = Search()
    shapes = sorted({(rows, width) for _, rows, width in PRODUCTS})
    search.ask("cuda:0", sorted({tokens for tokens, _, _ in PRODUCTS}), shapes, seconds=120)
    yield search
    search.close()


@pytest.mark.parametrize(("tokens", "rows", "width"), PRODUCTS)
def test_a_searched_product_is_the_product_also_captured(searched: Search, tokens: int, rows: int, width: int) -> None:
    generator = torch.Generator(DEVICE).manual_seed(1)
    x, w = (torch.randn(n, width, generator=generator, device=DEVICE).bfloat16() for n in (tokens, rows))
    algorithm = searched.algorithm(tokens, (rows, width))
    expected = F.linear(x.double(), w.double()).float()
    library, backend = LtLibrary(DEVICE), CudaGraphs(DEVICE)
    product = LtProduct(library, x, rows)
    called = backend.run(lambda: product.run(w, algorithm)).float()
    assert float((called - expected).abs().max()) <= 2**-7 * float(expected.abs().max())
    recording = backend.record(lambda: product.run(w, algorithm), "products")
    assert torch.equal(recording.replay().float(), called)
    recording.close()
    backend.close()
    library.close()


def test_a_weight_of_another_shape_or_at_an_odd_place_is_refused() -> None:
    x = torch.ones(4, 64, dtype=torch.bfloat16, device=DEVICE)
    product = LtProduct(LtLibrary(DEVICE), x, 64)
    with pytest.raises(CublasLtError, match="expected contiguous BF16 weights"):
        product.run(torch.ones(32, 64, dtype=torch.bfloat16, device=DEVICE), bytes(64))
    shifted = torch.ones(64 * 64 + 8, dtype=torch.bfloat16, device=DEVICE)[8:].view(64, 64)
    with pytest.raises(CublasLtError, match="multiple of 256"):
        product.run(shifted, bytes(64))


def test_a_copy_moves_hundreds_of_gigabytes_a_second() -> None:
    assert copy_bandwidth(DEVICE) > 1e11


def test_kernels_are_seen_inside_a_replay() -> None:
    x = torch.randn(256, 256, device=DEVICE)
    seen = breakdown.profile(lambda: (x @ x).exp())
    assert seen["launches"] >= 2
    assert seen["total_ms"] > 0


def test_a_whole_session(profile: Profile) -> None:
    settings = Settings(
        budget_s=1000, blocks=5, block_ms=1, lengths=(98, 171), long=300, profiled=(98,), served=(98,), merged=(98,),
        compiled=(), stream=(96, 100, 104),
    )  # fmt: skip
    found = session.run(profile, settings)
    assert found.not_measured == []
    by_key = {(e.engine, e.workload, e.tokens): e for e in found.entries if not e.anchor}
    for name in ("reference", "reference-graph", "eager", "graph", "gemm-floor"):
        entry = by_key[name, "text", 98]
        assert entry.series.samples >= 5
        assert len(entry.series.device) == 5
        assert entry.extra_bytes is not None
    base = by_key["reference", "text", 98].logits
    for name in ("reference-graph", "eager", "graph"):
        assert by_key[name, "text", 98].logits == base
    assert by_key["merged", "text", 98].logits != base
    assert by_key["merged-graph", "text", 98].logits == by_key["merged", "text", 98].logits
    swap = found.facts["adapter_swap"]
    assert (swap["changed"], swap["same_as_reference"], swap["returned"], swap["captures_made"]) == (True, True, True, 0)
    for floor in found.facts["floors"]:  # cublasLt may have no algorithm for the smallest of these shapes
        assert [way["reason"] for way in floor["ways"][:2]] == ["", ""]
    assert {item["engine"] for item in found.facts["profile"]} == {"reference-graph", "graph"}


def test_compiled_layers_are_captured_and_undone(profile: Profile) -> None:
    """Takes a minute: Inductor compiles both kinds of layer."""
    engine = reference.load(profile)
    prepared, called = engine.prepare(text(30)), ReferenceCalls(engine)
    expected = called.run(prepared)
    with compiled_layers(engine, seconds=200):
        compiled = called.run(prepared)
        captured = CapturedReference(engine)
        assert captured.run(prepared) == captured.run(prepared) == compiled
        captured.close()
    assert called.run(prepared) == expected
    engine.close()
