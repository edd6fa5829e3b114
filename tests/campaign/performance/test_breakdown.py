"""Kernels by name: whose time it was."""

from __future__ import annotations

import pytest

from kit.campaign.performance.breakdown import classify, summary

KERNELS = {
    "Memcpy DtoD (Device -> Device)": "memory",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<256, 64, 64, 4>>": "attention",
    "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention)": "attention",
    "chunk_gated_delta_rule_fwd_kernel_h_blockdim64": "delta rule",
    "chunk_fwd_kernel_o": "delta rule",
    "recompute_w_u_fwd_kernel": "delta rule",
    "l2norm_fwd_kernel1": "delta rule",
    "chunk_local_cumsum_scalar_kernel": "delta rule",
    "merge_16x16_to_64x64_inverse_kernel": "delta rule",
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_tn_align1>": "adapter",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_ffma_aligna4": "adapter",
    "_shrink": "adapter",
    "_add_parts": "adapter",
    "_combine": "adapter",
    "nvjet_tst_128x64_64x11_2x1_v_bz_TNT": "products",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64": "products",
    "void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>": "products",
    "void conv_depthwise2d_forward_kernel<3>": "convolution",
    "_rms_norm": "kit kernels",
    "_causal_conv": "convolution",
    "triton_red_fused_add_mul_3": "compiled",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<c10::BFloat16>>": "elementwise",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>": "elementwise",
    "something nobody has seen": "other",
}


@pytest.mark.parametrize(("kernel", "kind"), KERNELS.items())
def test_a_kernel_s_class(kernel: str, kind: str) -> None:
    assert classify(kernel) == kind


def test_a_summary_adds_up_and_lists_the_costliest_first() -> None:
    found = summary({"nvjet_a": 3.0, "nvjet_b": 1.0, "_rms_norm": 2.0}, {"nvjet_a": 10, "nvjet_b": 5, "_rms_norm": 129})
    assert found["classes"] == [
        {"class": "products", "ms": 4.0, "launches": 15},
        {"class": "kit kernels", "ms": 2.0, "launches": 129},
    ]
    assert (found["total_ms"], found["launches"]) == (6.0, 144)
    assert [item["kernel"] for item in found["costliest"]] == ["nvjet_a", "_rms_norm", "nvjet_b"]
