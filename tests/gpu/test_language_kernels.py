"""Language kernels on a GPU in BF16: bits of their twins at every published width and at lengths around each block
size of torch's reduction, every BF16 value through the unary parts, repeats, capture and replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: BF16 kernels cannot be compiled here", allow_module_level=True)
pytest.importorskip("triton")

from kit.kernels import Ops, select
from kit.kernels.proof import PoisonedAllocations, Proofs, compare
from tests.gpu.language_inputs import LENGTHS, OPS, SIZES, Inputs

DEVICE = torch.device("cuda")


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture(scope="module")
def table() -> Ops:
    return select("exact", DEVICE)


def kernel(table: Ops, op: str, args: tuple[Any, ...]) -> Any:
    """The kernel itself (not what a guard would choose), on poisoned outputs."""
    with PoisonedAllocations():  # type: ignore[no-untyped-call]
        return getattr(table, op).runs(*args)


def every_bfloat16() -> Tensor:
    """All 65,280 finite ones; what an infinity turns into is a NaN at times, whose payload is nobody's claim."""
    every = (
        torch.arange(-(2**15), 2**15, dtype=torch.int32, device=DEVICE).to(torch.int16).view(torch.bfloat16)
    )
    return every[every.isfinite()]


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("op", OPS)
class TestBits:
    def test_of_the_twin_at_every_length(self, table: Ops, op: str, size: str) -> None:
        twin = getattr(table, op).twin
        wrong = {}
        for tokens in LENGTHS:
            args = Inputs(size, tokens).of(op)
            elements, different = compare(kernel(table, op, args), twin(*args))
            if different or not elements:
                wrong[tokens] = f"{different} of {elements}"
        assert wrong == {}

    def test_of_the_twin_on_other_numbers_and_twenty_times_the_same(
        self, table: Ops, op: str, size: str
    ) -> None:
        for tokens in (3, 98):
            args = Inputs(size, tokens, seed=7).of(op)
            expected = getattr(table, op).twin(*args)
            for _ in range(20):
                assert compare(kernel(table, op, args), expected)[1] == 0

    def test_of_eager_runs_when_replayed_from_a_graph(self, table: Ops, op: str, size: str) -> None:
        guarded = getattr(table, op)
        args, others = (Inputs(size, 98, seed=seed).of(op) for seed in (1, 2))
        guarded(*args)
        expected = [guarded.twin(*inputs) for inputs in (args, others)]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            captured = guarded(*args)
        for inputs, result in zip((args, others), expected, strict=True):
            for static, value in zip(args, inputs, strict=True):
                if isinstance(static, Tensor):
                    static.copy_(value)
            graph.replay()
            assert compare(captured, result)[1] == 0


class TestEveryValue:
    """What a kernel does to one value depends on that value alone: all of them can be tried."""

    def test_silu(self, table: Ops) -> None:
        gate = every_bfloat16()[None]
        assert (
            compare(kernel(table, "silu_mul", (gate, torch.ones_like(gate))), torch.nn.functional.silu(gate))[
                1
            ]
            == 0
        )

    def test_sigmoid(self, table: Ops) -> None:
        gate = every_bfloat16()[None]
        assert compare(kernel(table, "sigmoid_gate", (torch.ones_like(gate), gate)), gate.sigmoid())[1] == 0

    @pytest.mark.parametrize("wide", [False, True], ids=["bfloat16", "float32"])
    def test_gates(self, table: Ops, wide: bool) -> None:
        """a and b; then the decay rate, whose exponent is taken in FP32. Stored in BF16 or FP32."""
        dtype = torch.float32 if wide else torch.bfloat16
        values = every_bfloat16()[:, None]
        rate, bias = (torch.tensor([x], device=DEVICE).to(dtype) for x in (0.4, -0.7))
        args = (values, values, rate, bias)
        assert compare(kernel(table, "delta_gates", args), table.delta_gates.twin(*args))[1] == 0  # type: ignore[attr-defined]
        row = values.t().contiguous()
        args = (torch.ones_like(row), row, row[0].to(dtype), torch.zeros_like(row[0]).to(dtype))
        ours, theirs = kernel(table, "delta_gates", args)[0], table.delta_gates.twin(*args)[0]  # type: ignore[attr-defined]
        assert compare(ours, theirs)[1] == 0

    def test_gate_of_the_norm(self, table: Ops) -> None:
        values = every_bfloat16().view(-1, 128)
        x = torch.ones_like(values)
        args = (x, values, torch.ones(128, device=DEVICE, dtype=torch.bfloat16), 1e-6)
        assert compare(kernel(table, "gated_rms_norm", args), table.gated_rms_norm.twin(*args))[1] == 0  # type: ignore[attr-defined]

    def test_convolution_of_one_value(self, table: Ops) -> None:
        """One tap of one: what is left is SiLU, behind a rounding that changes nothing."""
        values = every_bfloat16().view(-1, 3 * 128)
        weight = torch.zeros(3 * 128, 1, 4, device=DEVICE, dtype=torch.bfloat16)
        weight[:, :, 3] = 1
        args = (values, weight, 1, 128, 1)
        assert compare(kernel(table, "causal_conv", args), table.causal_conv.twin(*args))[1] == 0  # type: ignore[attr-defined]


def test_every_choice_of_the_table_is_a_kernel_at_published_shapes() -> None:
    table = select("exact", DEVICE)
    for size in SIZES:
        for tokens in (98, 392):
            for op in OPS:
                getattr(table, op)(*Inputs(size, tokens).of(op))
    assert isinstance(table.proofs, Proofs)
    refused = [decision for decision in table.proofs.describe() if decision["choice"] != "kernel"]
    assert refused == []


def test_a_shape_a_kernel_does_not_cover_runs_the_twin_and_says_why() -> None:
    table = select("exact", DEVICE)
    x, weight = (torch.randn(*shape, device=DEVICE).bfloat16() for shape in ((5, 64), (64,)))
    assert compare(table.rms_norm(x, weight, 1e-6), table.rms_norm.twin(x, weight, 1e-6))[1] == 0  # type: ignore[attr-defined]
    assert isinstance(table.proofs, Proofs)
    (decision,) = table.proofs.describe()
    assert (decision["choice"], "rows are 64 wide" in decision["reason"]) == ("twin", True)
