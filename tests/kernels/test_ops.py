"""Each op on its own: the formula, odd sizes, and buffers that held NaN before.

Bits against the reference's modules are the business of tests/campaign/test_operators.py; here ops are held to
float64 formulas written another way.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kit.kernels import Ops, select
from kit.kernels.proof import PoisonedAllocations
from kit.kernels.table import WITH_KERNELS, without_kernels

OPS = select("exact", "cpu")
BF16 = torch.bfloat16
EPS = 1e-6


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(ours: Tensor, exact: Tensor, bound: float) -> None:
    """Root mean square of the error, relative to the exact values'."""
    error = (ours.double() - exact.double()).pow(2).mean().sqrt() / exact.double().pow(2).mean().sqrt()
    assert error.item() < bound


class TestTable:
    def test_every_op_names_the_function_that_runs(self) -> None:
        described = OPS.describe()
        assert tuple(described) == Ops.names()
        assert described["delta_rule"] == "kit.kernels.delta_rule.delta_rule"

    def test_on_cuda_every_op_with_a_kernel_names_it_and_its_twin(self) -> None:
        pytest.importorskip("triton")
        plain, described = without_kernels("cuda").describe(), select("exact", "cuda").describe()
        assert {name for name in described if described[name] != plain[name]} == set(WITH_KERNELS)
        assert described["add_rms_norm"] == (
            "kit.kernels.rms_norm_kernel.add_rms_norm, or kit.kernels.rms_norm.add_rms_norm where bits differ"
        )

    def test_on_cuda_without_triton_the_twins_run_and_it_is_said(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == "triton" else found(name)
        )
        ops, plain = select("exact", "cuda"), without_kernels("cuda").describe()
        assert ops.proofs is None
        remarks = {
            name: text.removeprefix(plain[name])
            for name, text in ops.describe().items()
            if text != plain[name]
        }
        assert remarks == dict.fromkeys(WITH_KERNELS, " (no kernel: triton is not installed)")

    def test_unknown_numerics_are_refused(self) -> None:
        with pytest.raises(ValueError, match="numerics 'fused' is not implemented"):
            select("fused", "cpu")

    def test_on_cuda_packages_replace_what_the_reference_replaces(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import sys
        import types

        fla = types.ModuleType("fla.ops.gated_delta_rule")
        fla.chunk_gated_delta_rule = chunk_gated_delta_rule  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "fla.ops.gated_delta_rule", fla)
        monkeypatch.setitem(sys.modules, "fla.ops", types.ModuleType("fla.ops"))
        monkeypatch.setitem(sys.modules, "fla", types.ModuleType("fla"))
        ops = select("exact", "cuda")
        assert ops.describe()["delta_rule"].endswith("chunk_gated_delta_rule")
        q, v = random(5, 2, 8), random(5, 4, 8)
        assert ops.delta_rule(q, q, v, random(5, 4), random(5, 4)).shape == (5, 4, 8)


def chunk_gated_delta_rule(q: Tensor, k: Tensor, v: Tensor, **named: Any) -> tuple[Tensor, None]:
    """Stands for FLA's function: heads arrive repeated, gates by name, L2 norm left to the kernel."""
    assert q.shape[:3] == k.shape[:3] == v.shape[:3] == named["g"].shape == named["beta"].shape
    assert named["use_qk_l2norm_in_kernel"] is True
    assert torch.equal(q[:, :, 0], q[:, :, 1])
    return v, None


class TestDeltaRule:
    @staticmethod
    def recurrent(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor) -> Tensor:
        """Token by token in float64: decay, correct what the state predicts for k, read with q."""
        group = v.shape[1] // k.shape[1]
        q, k = (x.double().repeat_interleave(group, 1) for x in (q, k))
        q, k = (x / (x.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt() for x in (q, k))
        state = torch.zeros(v.shape[1], k.shape[-1], v.shape[-1], dtype=torch.float64)
        rows = []
        for t in range(v.shape[0]):
            state = state * g[t].double().exp()[:, None, None]
            error = v[t].double() - torch.einsum("hkv,hk->hv", state, k[t])
            state = state + torch.einsum("hk,hv,h->hkv", k[t], error, beta[t].double())
            rows.append(torch.einsum("hkv,hk->hv", state, q[t]) / math.sqrt(k.shape[-1]))
        return torch.stack(rows)

    @pytest.mark.parametrize("tokens", [1, 2, 3, 5, 63, 64, 65, 100, 128, 129, 200])
    @pytest.mark.parametrize(("keys", "values"), [(1, 1), (2, 6), (3, 3)])
    def test_chunks_give_what_the_recurrence_gives(self, tokens: int, keys: int, values: int) -> None:
        q, k = random(tokens, keys, 24, seed=1), random(tokens, keys, 24, seed=2)
        v = random(tokens, values, 40, seed=3)
        g, beta = -random(tokens, values, seed=4).abs(), random(tokens, values, seed=5).sigmoid()
        with PoisonedAllocations():  # type: ignore[no-untyped-call]
            out = OPS.delta_rule(q, k, v, g, beta)
        assert out.is_contiguous()
        close(out, self.recurrent(q, k, v, g, beta), 2e-6)

    def test_what_comes_later_does_not_matter(self) -> None:
        q, k, v = (random(150, 2, 16, seed=i, dtype=BF16) for i in range(3))
        g, beta = -random(150, 2, seed=4).abs(), random(150, 2, seed=5).sigmoid().to(BF16)
        whole = OPS.delta_rule(q, k, v, g, beta)
        for cut in (1, 5, 63, 64, 65, 128, 129):
            part = OPS.delta_rule(q[:cut], k[:cut], v[:cut], g[:cut], beta[:cut])
            close(part, whole[:cut], 2e-3)

    def test_a_strided_value_changes_nothing(self) -> None:
        q, k, v = (random(70, 2, 16, seed=i, dtype=BF16) for i in range(3))
        g, beta = -random(70, 2, seed=4).abs(), random(70, 2, seed=5).sigmoid().to(BF16)
        strided = v.permute(2, 1, 0).contiguous().permute(2, 1, 0)
        assert torch.equal(OPS.delta_rule(q, k, v, g, beta), OPS.delta_rule(q, k, strided, g, beta))

    def test_no_writing_no_output_and_no_nan(self) -> None:
        q = random(70, 1, 8)
        zero = torch.zeros(70, 1)
        assert torch.equal(OPS.delta_rule(q, q, q, zero - 80, zero), torch.zeros_like(q))
        assert OPS.delta_rule(torch.zeros_like(q), torch.zeros_like(q), q, zero, zero + 1).isfinite().all()


class TestMixerParts:
    @pytest.mark.parametrize("tokens", [1, 2, 3, 4, 5, 64, 65])
    def test_convolution_is_causal_with_zeros_before_the_prompt(self, tokens: int) -> None:
        x, weight = random(tokens, 10), random(10, 1, 4, seed=1)
        padded = torch.cat((torch.zeros(3, 10), x)).double()
        expected = sum(padded[i : i + tokens] * weight[:, 0, i].double() for i in range(4))
        assert isinstance(expected, Tensor)
        q, k, v = OPS.causal_conv(x, weight, 1, 2, 3)
        close(torch.cat((q[:, 0], k[:, 0], v.flatten(1)), 1), F.silu(expected), 1e-6)

    def test_convolution_repeats_key_heads_for_their_value_heads(self) -> None:
        q, k, v = OPS.causal_conv(random(5, 2 * 2 * 3 + 4 * 5), random(32, 1, 4, seed=1), 2, 3, 4)
        assert (q.shape, k.shape, v.shape) == ((5, 4, 3), (5, 4, 3), (5, 4, 5))
        assert all(torch.equal(x[:, ::2], x[:, 1::2]) for x in (q, k))

    def test_gates(self) -> None:
        a, b, a_log, dt_bias = random(9, 3), random(9, 3, seed=1), random(3, seed=2), random(3, seed=3)
        a[0, 0] = 60.0  # softplus is linear up there
        g, beta = OPS.delta_gates(a, b, a_log, dt_bias)
        close(g, -a_log.double().exp() * torch.log1p((a.double() + dt_bias).exp()), 1e-6)
        close(beta, 1 / (1 + (-b.double()).exp()), 1e-6)
        assert OPS.delta_gates(a.to(BF16), b.to(BF16), a_log, dt_bias)[0].dtype == torch.float32

    def test_norms_are_one_plus_w_and_w(self) -> None:
        x, gate, w = random(7, 32), random(7, 32, seed=1), random(32, seed=2)
        normed = x.double() / (x.double().pow(2).mean(-1, keepdim=True) + EPS).sqrt()
        close(OPS.rms_norm(x, w, EPS), normed * (1 + w.double()), 1e-6)
        close(OPS.gated_rms_norm(x, gate, w, EPS), normed * w.double() * F.silu(gate.double()), 1e-6)

    def test_residual_is_rounded_before_it_is_normalised(self) -> None:
        a, b, w = random(5, 16, dtype=BF16), random(5, 16, seed=1, dtype=BF16), random(16, seed=2, dtype=BF16)
        total, normed = OPS.add_rms_norm(a, b, w, EPS)
        assert torch.equal(total, (a.float() + b.float()).to(BF16))
        assert torch.equal(normed, OPS.rms_norm(total, w, EPS))
        bias = random(16, seed=3, dtype=BF16)
        total, normed = OPS.add_layer_norm(a, b, w, bias, EPS)
        assert torch.equal(total, a + b)
        assert torch.equal(normed, OPS.layer_norm(total, w, bias, EPS))

    def test_query_key_splits_norms_and_turns(self) -> None:
        tokens, heads, width, turned = 5, 3, 8, 4
        q_gate, k = random(tokens, heads * 2 * width), random(tokens, width, seed=1)
        weight, angle = random(width, seed=2), random(tokens, turned // 2, seed=3)
        angle = torch.cat((angle, angle), -1)
        q, keys, gate = OPS.query_key(q_gate, k, weight, weight, angle.cos(), angle.sin(), EPS)
        parts = q_gate.view(tokens, heads, 2, width)
        assert torch.equal(gate, parts[:, :, 1].reshape(tokens, -1))
        for ours, raw in ((q, parts[:, :, 0]), (keys, k.view(tokens, 1, width))):
            normed = OPS.rms_norm(raw, weight, EPS).double()
            pairs = torch.complex(normed[..., :2], normed[..., 2:4])
            spun = pairs * torch.polar(torch.ones(tokens, 2), angle[:, :2])[:, None]
            close(ours, torch.cat((spun.real, spun.imag, normed[..., 4:]), -1), 1e-6)


class TestAttention:
    @staticmethod
    def naive(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
        """[T, heads, D] in float64."""
        scores = torch.einsum("qhd,khd->hqk", q.double(), k.double()) * scale
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
        return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v.double()).flatten(1)

    @pytest.mark.parametrize("tokens", [1, 2, 63, 64, 65, 129])
    @pytest.mark.parametrize("width", [40, 264], ids=["grouped by the operator", "repeated here"])
    def test_causal_with_grouped_heads(self, tokens: int, width: int) -> None:
        q, k, v = random(tokens, 6, width), random(tokens, 2, width, seed=1), random(tokens, 2, width, seed=2)
        wide = [x.repeat_interleave(3, 1) for x in (k, v)]
        close(OPS.causal_attention(q, k, v, 0.2), self.naive(q, *wide, 0.2, causal=True), 1e-5)

    def test_no_image_sees_another(self) -> None:
        q, k, v = (random(2, 60, 18, seed=i, dtype=BF16) for i in range(3))
        together = OPS.packed_attention(q, k, v, 0.2, (12, 44, 4))
        start = 0
        for length in (12, 44, 4):
            part = slice(start, start + length)
            alone = OPS.packed_attention(q[:, part], k[:, part], v[:, part], 0.2, (length,))
            assert torch.equal(together[part], alone)
            expected = self.naive(*(x[:, part].transpose(0, 1) for x in (q, k, v)), 0.2, causal=False)
            close(alone, expected, 1e-2)
            start += length


class TestVisionParts:
    def test_patch_embedding_is_a_matrix_product(self) -> None:
        pixels, weight, bias = random(11, 1536), random(20, 3, 2, 16, 16, seed=1), random(20, seed=2)
        expected = pixels.double() @ weight.flatten(1).t().double() + bias.double()
        close(OPS.patch_embed(pixels, weight, bias), expected, 1e-5)

    def test_positions_are_weighted_corners(self) -> None:
        x, table, weights = random(6, 8), random(25, 8, seed=1), random(6, 4, seed=2)
        corners = torch.randint(0, 25, (6, 4))
        expected = x + torch.einsum("nch,nc->nh", table[corners].double(), weights.double())
        close(OPS.add_positions(x, table, corners, weights), expected, 1e-6)

    def test_rotary_turns_the_whole_head(self) -> None:
        qkv, angle = random(7, 3 * 2 * 8), random(7, 4, seed=1)
        angle = torch.cat((angle, angle), -1)
        q, k, v = OPS.vision_rotary(qkv, angle.cos(), angle.sin())
        parts = qkv.view(7, 3, 2, 8)
        assert torch.equal(v, parts[:, 2].transpose(0, 1))
        for ours, raw in ((q, parts[:, 0]), (k, parts[:, 1])):
            spun = torch.complex(raw[..., :4], raw[..., 4:]).to(torch.complex128)
            spun = spun * torch.polar(torch.ones(7, 4), angle[:, :4])[:, None]
            close(ours, torch.cat((spun.real, spun.imag), -1).transpose(0, 1), 1e-6)


@pytest.mark.parametrize(
    ("ours", "exact"),
    [
        (
            lambda x: OPS.gelu_tanh(x),
            lambda x: x / 2 * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)).tanh()),
        ),
        (lambda x: OPS.gelu(x), lambda x: x / 2 * (1 + torch.erf(x / math.sqrt(2)))),
        (lambda x: OPS.silu_mul(x, x), lambda x: x * x / (1 + (-x).exp())),
        (lambda x: OPS.sigmoid_gate(x, x), lambda x: x / (1 + (-x).exp())),
    ],
    ids=["gelu_tanh", "gelu", "silu_mul", "sigmoid_gate"],
)
def test_activations(ours: Callable[[Tensor], Tensor], exact: Callable[[Tensor], Tensor]) -> None:
    x = random(5, 33)
    close(ours(x), exact(x.double()), 1e-6)
