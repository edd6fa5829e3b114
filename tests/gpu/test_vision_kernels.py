"""Vision kernels on a GPU in BF16: bits of their twins at the published widths, and every choice on record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: BF16 kernels cannot be compiled here", allow_module_level=True)

from kit.kernels import Ops, finite, select
from kit.kernels.proof import PoisonedAllocations, Proofs, compare
from kit.kernels.table import PLAIN

DEVICE = torch.device("cuda")
PATCHES = (16, 256, 512, 1536, 6144)
HEADS = {1152: (16, 72), 1024: (16, 64)}
EPS = 1e-6


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture
def ops() -> Ops:
    return select("exact", DEVICE)


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    generator = torch.Generator(DEVICE).manual_seed(seed)
    return (torch.randn(*shape, generator=generator, device=DEVICE) * scale).bfloat16()


def proved(ops: Ops, name: str, *args: object) -> None:
    """The kernel itself (not what a guard would choose) against the twin, repeated, on poisoned outputs."""
    guarded, twin = getattr(ops, name), getattr(PLAIN, name)
    expected = twin(*args)
    for _ in range(20):
        with PoisonedAllocations():  # type: ignore[no-untyped-call]
            ours = guarded.runs(*args)
        elements, different = compare(ours, expected)
        assert (different, elements > 0) == (0, True)


@pytest.mark.parametrize("patches", PATCHES)
@pytest.mark.parametrize("width", list(HEADS))
class TestBits:
    def test_positions(self, ops: Ops, patches: int, width: int) -> None:
        corners = torch.randint(0, 2304, (patches, 4), device=DEVICE)
        weights = torch.rand(patches, 4, device=DEVICE)
        proved(ops, "add_positions", random(patches, width), random(2304, width, seed=1), corners, weights)

    def test_rotary(self, ops: Ops, patches: int, width: int) -> None:
        heads, head = HEADS[width]
        angle = torch.rand(patches, head // 2, device=DEVICE) * 48
        angle = torch.cat((angle, angle), -1)
        proved(ops, "vision_rotary", random(patches, 3 * heads * head), angle.cos(), angle.sin())

    def test_residual_and_layer_norm(self, ops: Ops, patches: int, width: int) -> None:
        residual, delta = random(patches, width, scale=3.0), random(patches, width, seed=1)
        proved(ops, "add_layer_norm", residual, delta, random(width, seed=2), random(width, seed=3), EPS)


def test_the_guard_uses_a_kernel_after_its_proof_and_says_so(ops: Ops) -> None:
    args = (random(256, 1152), random(256, 1152, seed=1), random(1152, seed=2), random(1152, seed=3), EPS)
    first, second = ops.add_layer_norm(*args), ops.add_layer_norm(*args)
    assert compare(first, second)[1] == 0
    assert isinstance(ops.proofs, Proofs)
    (decision,) = ops.proofs.describe()
    assert (decision["op"], decision["choice"], decision["different"]) == ("add_layer_norm", "kernel", 0)


@pytest.mark.parametrize("patches", PATCHES)
def test_whatever_form_of_the_patch_embedding_is_chosen_has_its_bits(ops: Ops, patches: int) -> None:
    args = (random(patches, 1536), random(1152, 3, 2, 16, 16, seed=1, scale=0.03), random(1152, seed=2))
    ops.patch_embed(*args)
    assert compare(ops.patch_embed(*args), PLAIN.patch_embed(*args))[1] == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_finite_scan(ops: Ops, dtype: torch.dtype) -> None:
    x = random(1000, 1003).to(dtype)
    assert ops.all_finite(x).item() is finite.all_finite(x).item() is True
    for bad in (float("nan"), float("inf"), -float("inf")):
        for place in (0, 77, x.numel() - 1):
            spoilt = x.clone()
            spoilt.view(-1)[place] = bad
            assert ops.all_finite(spoilt).item() is finite.all_finite(spoilt).item() is False


def test_the_finite_scan_agrees_on_every_bfloat16(ops: Ops) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32, device=DEVICE).to(torch.int16).view(torch.bfloat16)
    flags = [ops.all_finite(value).item() for value in every[::17]]
    assert flags == every[::17].isfinite().tolist()
