"""What engines and stages of a made-up run say of themselves, as full as a real run says it.

Every figure is made up, and none contradicts another: an auditor compares them all. Times begin at noon, a minute a
stage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kit.campaign.integrity import OPERATOR_MISSES
from kit.campaign.signal import summarise
from kit.evidence.audit.operator_plan import AGAINST, SEED, planned_comparisons
from kit.profile import Profile

DAY = "2026-01-31"
STAGES = (
    "01_preflight", "02_checkpoint", "03_reference", "04_native_eager", "04_remote", "05_native_graph", "06_operators",
    "07_faults", "08_drift", "08_generated", "09_performance", "10_evidence",
)  # fmt: skip
STAGE_OF = {
    "reference": "03_reference", "native": "04_native_eager", "remote": "04_remote", "graph": "05_native_graph",
}  # fmt: skip
OPS = (
    "linear", "project", "rms_norm", "add_rms_norm", "gated_rms_norm", "causal_conv", "delta_gates", "delta_rule",
    "query_key", "causal_attention", "sigmoid_gate", "silu_mul", "patch_embed", "add_positions", "layer_norm",
    "add_layer_norm", "vision_rotary", "packed_attention", "gelu_tanh", "gelu", "all_finite",
)  # fmt: skip
DEVICE = {"name": "Made-up GPU", "capability": "9.0", "memory_bytes": 140 << 30, "driver": "580.1", "count": 1}
VERSIONS = {"torch": "2.13.0", "transformers": "5.17.0", "peft": "0.21.0", "triton": "3.7.1", "tokenizers": "0.23.3"}
VOCABULARY = 4096
ADAPTER_TENSORS, BASE_TENSORS, RANK = 62, 89, 16
MODELING = "transformers.models.qwen3_5.modeling_qwen3_5."
CLAIMS = {
    "aten-replay": "recorded ATen calls replayed from static buffers: shows that capture, keys, buffers and eviction are "
    "right, and says nothing about the speed of graphs",
    "cuda-graph": "CUDA graphs replayed from static buffers, one private memory pool a cache",
}


def moment(stage: str, seconds: float = 0.0) -> str:
    """UTC time within a stage's minute, as records write it."""
    micro = round(seconds * 1e6)
    return f"{DAY}T12:{STAGES.index(stage) + 1:02}:{micro // 1_000_000:02}.{micro % 1_000_000:06}Z"


def backend_of(engine: str, device: str) -> str:
    graph = "cuda-graph" if device == "cuda" else "aten-replay"
    return {"reference": "transformers", "native": "eager", "graph": graph, "remote": "remote"}[engine]


def description(engine: str, profile: Profile, autotune: dict[str, Any]) -> dict[str, Any]:
    """What an engine says that it is."""
    told: dict[str, Any] = {
        "backend": backend_of(engine, profile.runtime.device), "checkpoint_digest": "0" * 64, "weights_sum": "5" * 64,
        "dtype": profile.runtime.dtype, "device": profile.runtime.device, "autotune": autotune,
    }  # fmt: skip
    if engine == "reference":
        names = (
            "torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule", "causal_conv1d_fn", "causal_conv1d_update",
        )  # fmt: skip
        missed = ("base_missing", "base_unexpected", "base_mismatched", "adapter_missing", "adapter_unexpected")
        return told | {
            "model_class": MODELING + "Qwen3_5ForConditionalGeneration",
            "functions": {name: MODELING + name for name in names},
            "attention": {"text": "sdpa", "vision": "sdpa"}, "pixels": "kit.model.pixels.patches",
            "adapter": {
                "merged": False, "layers": ADAPTER_TENSORS // 2, "disabled": 0, "scales": [2.0],
                "dtypes": {"float32": ADAPTER_TENSORS}, "tensors": ADAPTER_TENSORS,
            },
            "base_dtypes": {"bfloat16": BASE_TENSORS}, "keys": {name: [] for name in missed}, "load_warnings": [],
            "versions": VERSIONS | {"flash-linear-attention": None},
        }  # fmt: skip
    told |= {
        "numerics": profile.runtime.numerics, "ops": {op: f"kit.kernels.made_up.{op}" for op in OPS},
        "label_head": {
            "rows": 32, "of": VOCABULARY, "trials": [{"rows": 32, "compared": 4096, "cancelling": 2048, "different": 0}],
        },
        "adapter": {"merged": False, "dtype": "float32", "tensors": ADAPTER_TENSORS, "rank": RANK, "scale": 2.0},
        "converted_tensors": {}, "versions": {"torch": VERSIONS["torch"]},
    }  # fmt: skip
    if engine == "graph":
        told |= {"backend_claim": CLAIMS[told["backend"]], "graph": graph_bounds(profile)}
    return told


def graph_bounds(profile: Profile) -> dict[str, Any]:
    graph = profile.graph
    caches = {"text": graph.text, "multimodal": graph.multimodal, "vision": graph.vision}
    bounds = {name: {"entries": cache.entries, "megabytes": cache.megabytes} for name, cache in caches.items()}
    return {"policy": graph.policy, "scratch_tokens": graph.scratch_tokens, **bounds}


def checkpoint_facts(profile: Profile) -> dict[str, Any]:
    """What checkpoint.json says beside calibration and label rows."""
    checkpoint = profile.checkpoint
    synthetic = checkpoint.kind == "synthetic"
    source = f"generator {checkpoint.generator}, seed {checkpoint.seed}" if synthetic else f"{checkpoint.kind} of {checkpoint.base}"
    return {
        "kind": checkpoint.kind, "source": source, "files": {"base/config.json": "7" * 64} if synthetic else {},
        "tensors": {"base": {"BF16": BASE_TENSORS}, "adapter": {"F32": ADAPTER_TENSORS}}, "tokenizer": "base/tokenizer.json",
    }  # fmt: skip


def environment_facts(profile: Profile) -> dict[str, Any]:
    """What environment.json says of the machine."""
    device = {"kind": profile.runtime.device} | (DEVICE if profile.runtime.device == "cuda" else {})
    return {
        "python": "3.11.7", "implementation": "CPython", "unicodedata": "14.0.0", "device": device, "versions": VERSIONS,
        "platform": {"system": "Linux", "machine": "x86_64", "libc": "glibc 2.36"},
        "cpu": {"model": "made up", "logical_cores": 2, "instruction_sets": ["avx2"]},
    }  # fmt: skip


def operators_document(profile: Profile, width: int) -> dict[str, Any]:
    """Every comparison there must be, each of a model that is `width` wide everywhere; nothing differs."""
    zeros = dict.fromkeys(OPERATOR_MISSES, 0)
    repeats = 20 if profile.runtime.device == "cuda" else 3
    shapes = {"label_head": [200, 32], "all_finite": [10]}
    checks = []
    for op, variant, size in planned_comparisons():
        shape = shapes.get(op, [size, width])
        checks.append({
            "op": op, "variant": variant, "against": AGAINST.get(op, (f"torch.nn.Linear over {VOCABULARY} rows (kit: 32)",))[0],
            "shape": str(shape), "elements": math.prod(shape), **zeros, "max_abs": 0.0, "relative_l2": 0.0,
            "repeats": repeats, "replays": 0 if op in ("text_rotary", "vision_rotary_tables") else 3,
        })  # fmt: skip
    totals = {"checks": len(checks), "elements": sum(check["elements"] for check in checks), **zeros}
    head = {"format": "kit-operators/1", "device": profile.runtime.device, "dtype": profile.runtime.dtype, "seed": SEED}
    return {**head, "checks": checks, "totals": totals, "ops": list(OPS), "proofs": []}


def signal_document(questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """questions: request, question, modality, tokens, probability and logits of each, as the reference recorded them."""
    moved = []
    for number, question in enumerate(questions):
        effects = {"floor": 0.01, "swap": 0.2, "adapter": 0.5} | ({"image": 0.3} if question["modality"] == "image" else {})
        moved.append(question | {name: {"row": size * (1 + number), "steps": 100 * size} for name, size in effects.items()})
    return {
        "format": "kit-signal/1", "checkpoint_digest": "0" * 64,
        "floor": "row 0 of a batch of two copies against the row alone", "summary": summarise(moved), "questions": moved,
    }  # fmt: skip
