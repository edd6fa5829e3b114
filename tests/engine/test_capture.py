"""Recorded ATen calls: a replay reads its buffers, repeats the bits, shares the weights and knows its bytes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kit.engine.capture import AtenRecording, AtenReplay, choose, registered_delta_rule
from kit.engine.captured import same_bits
from kit.engine.graph_cache import CaptureError
from kit.kernels import delta_rule, select
from kit.kernels.table import qualified_name

WIDTH = 64


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def record(forward: Callable[[], Tensor]) -> AtenRecording:
    recording = AtenReplay().record(forward, "test")
    assert isinstance(recording, AtenRecording)
    return recording


WEIGHT = random(WIDTH, WIDTH, seed=1)

# Every kind of call a forward makes: products, SDPA, views, writes into views, lists, multiple results.
FORWARDS: dict[str, Callable[[Tensor], Tensor]] = {
    "bf16 product": lambda x: F.linear(x, WEIGHT),
    "product with bias": lambda x: F.linear(x, WEIGHT, WEIGHT[0]),
    "causal attention": lambda x: F.scaled_dot_product_attention(*(x.view(1, -1, 4, 16).transpose(1, 2),) * 3, is_causal=True),
    "grouped attention": lambda x: F.scaled_dot_product_attention(
        x.view(1, -1, 4, 16).transpose(1, 2), *(x[:, :32].reshape(1, -1, 2, 16).transpose(1, 2),) * 2, enable_gqa=True
    ),
    "convolution": lambda x: F.silu(F.conv1d(x.t().unsqueeze(0), WEIGHT[:, :4].unsqueeze(1), groups=WIDTH, padding=3)),
    "view of a result": lambda x: (x * 2)[-1:],
    "several results": lambda x: torch.cat([part.float().exp() for part in x.split([16, 32, 16], dim=-1)], dim=-1),
    "write in place": lambda x: (x * 2).mul_(3).add_(x),
    "write into a view": lambda x: _written(x),
    "out argument": lambda x: torch.add(x, x, out=torch.empty_like(x)),
    "norm": lambda x: x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6),
    "literal tensor": lambda x: x * torch.tensor([2.0, 3.0]).repeat(WIDTH // 2),
    "written literal": lambda x: x * torch.tensor(2.0).add_(1),
}  # fmt: skip


def _written(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, :8].copy_(y[:, 8:16] * 2)
    y[..., 1::2] = 0
    return y


class TestReplay:
    @pytest.mark.parametrize("name", FORWARDS)
    def test_repeats_the_bits_of_an_eager_run_on_whatever_the_buffer_holds(self, name: str) -> None:
        forward = FORWARDS[name]
        buffer = random(20, WIDTH)
        recording = record(lambda: forward(buffer))
        for seed in (0, 1, 0, 2):
            buffer.copy_(random(20, WIDTH, seed=seed))
            assert same_bits(recording.replay(), forward(buffer)), seed

    def test_reads_all_of_its_buffers_each_time(self) -> None:
        a, b = random(4, WIDTH), random(4, WIDTH, seed=1)
        recording = record(lambda: a @ b.t())
        for buffer in (a, b):
            saved = buffer.clone()
            buffer[0, 0] = float("nan")
            assert recording.replay().isnan().any()
            buffer.copy_(saved)
            assert same_bits(recording.replay(), a @ b.t())

    def test_nothing_of_the_last_replay_is_left_in_the_next(self) -> None:
        buffer = random(4, WIDTH)
        recording = record(lambda: _written(buffer))
        clean = recording.replay().clone()
        buffer.fill_(float("nan"))
        recording.replay()
        buffer.copy_(random(4, WIDTH))
        assert same_bits(recording.replay(), clean)

    def test_answers_in_one_static_output(self) -> None:
        buffer = random(4, WIDTH)
        recording = record(lambda: buffer * 2)
        assert recording.replay().data_ptr() == recording.replay().data_ptr()

    def test_sees_weights_that_changed_in_place(self) -> None:
        weight, buffer = random(WIDTH, WIDTH), random(4, WIDTH)
        recording = record(lambda: F.linear(buffer, weight))
        weight.neg_()
        assert same_bits(recording.replay(), F.linear(buffer, weight))

    def test_intermediate_results_are_freed_as_in_an_eager_run(self) -> None:
        buffer = random(4, WIDTH)
        recording = record(lambda: ((buffer * 2) * 3) * 4)
        assert [call.dropped for call in recording.calls] == [(), (0,), (1,)]


class TestOwnership:
    def constants(self, recording: AtenRecording) -> list[Tensor]:
        return [arg for call in recording.calls for arg in call.args if isinstance(arg, Tensor)]

    def test_weights_and_buffers_are_shared_not_copied(self) -> None:
        buffer = random(4, WIDTH)
        recording = record(lambda: F.linear(buffer, WEIGHT) + buffer)
        assert {tensor.data_ptr() for tensor in self.constants(recording)} == {buffer.data_ptr(), WEIGHT.data_ptr()}

    def test_bytes_are_the_static_output(self) -> None:
        buffer = random(4, WIDTH)
        assert record(lambda: F.linear(buffer, WEIGHT)).bytes == 4 * WIDTH * 2
        assert record(lambda: F.linear(buffer, WEIGHT)[-1:]).bytes == WIDTH * 2

    def test_bytes_count_literal_tensors(self) -> None:
        buffer = random(4, WIDTH)
        assert record(lambda: buffer * torch.tensor([2.0] * WIDTH)).bytes == 4 * WIDTH * 4 + WIDTH * 4

    def test_closing_lets_go_of_everything(self) -> None:
        buffers = [random(4, WIDTH)]
        recording = record(lambda: buffers[0] * 2)
        seen = weakref.ref(buffers.pop())
        recording.close()
        recording.close()
        gc.collect()
        assert seen() is None
        with pytest.raises(RuntimeError, match="closed"):
            recording.replay()


class TestFailure:
    @pytest.mark.parametrize(
        ("forward", "message"),
        [
            (lambda x: x * x.sum().item(), "to the host"),
            (lambda x: x if bool((x > 0).all()) else -x, "to the host"),
            (lambda x: WEIGHT, "none of its recorded calls"),
            (lambda x: x @ x, "RuntimeError: .*shapes cannot be multiplied"),
        ],
        ids=["value read", "branch on values", "not computed", "error in the forward"],
    )
    def test_what_cannot_be_replayed_is_refused(self, forward: Callable[[Tensor], Tensor], message: str) -> None:
        buffer = random(4, WIDTH)
        with pytest.raises(CaptureError, match=message):
            record(lambda: forward(buffer))

    def test_later_recordings_work(self) -> None:
        buffer = random(4, WIDTH)
        backend = AtenReplay()

        def half() -> Tensor:
            _ = buffer * 2
            raise ValueError("injected")

        with pytest.raises(CaptureError, match="ValueError: injected"):
            backend.record(half, "test")
        assert same_bits(backend.record(lambda: buffer * 2, "test").replay(), buffer * 2)


class TestDeltaRule:
    def inputs(self, tokens: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        q, k = random(tokens, 2, 32, seed=seed), random(tokens, 2, 32, seed=seed + 1)
        v, beta = random(tokens, 4, 32, seed=seed + 2), random(tokens, 4, seed=seed + 3).sigmoid()
        return q, k, v, -random(tokens, 4, seed=seed + 4).float().exp(), beta

    @pytest.mark.parametrize("tokens", [1, 63, 64, 65, 200])
    def test_the_registered_operator_is_the_op(self, tokens: int) -> None:
        inputs = self.inputs(tokens)
        assert same_bits(registered_delta_rule()(*inputs), delta_rule.delta_rule(*inputs))

    def test_a_recording_is_one_call_whatever_the_length(self) -> None:
        short, long = self.inputs(10), self.inputs(700)
        operator = AtenReplay().ops(select("exact", "cpu")).delta_rule
        assert len(record(lambda: operator(*long)).calls) == len(record(lambda: operator(*short)).calls) == 1
        assert len(record(lambda: delta_rule.delta_rule(*long)).calls) > 100

    def test_it_replays_changed_inputs(self) -> None:
        buffers = self.inputs(100)
        recording = record(lambda: registered_delta_rule()(*buffers))
        for buffer, fresh in zip(buffers, self.inputs(100, seed=9), strict=True):
            buffer.copy_(fresh)
        assert same_bits(recording.replay(), delta_rule.delta_rule(*buffers))

    def test_the_table_still_names_what_runs(self) -> None:
        ops = select("exact", "cpu")
        assert AtenReplay().ops(ops).describe() == ops.describe()
        assert qualified_name(registered_delta_rule()) == "kit.kernels.delta_rule.delta_rule"


def test_a_cpu_gets_the_backend_that_claims_no_speed() -> None:
    backend = choose(torch.device("cpu"))
    assert backend.name == "aten-replay"
    assert "nothing about the speed" in backend.claim
