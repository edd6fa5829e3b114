"""Which comparisons of ops there must be, at which sizes, and the proofs of kernels that belong to them.

Covers: one list of comparisons for every number of tokens and every list of image grids, all of one model's shapes;
elements from shapes; a proof behind every kernel that may stand in for its plain form. Does not cover: the counts of
what differed (`operators`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any, Dict, List, Set, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json
from kit.evidence.audit.values import short

SEED = 20260722  # of the inputs
TOKENS = (1, 2, 3, 63, 64, 65, 98, 129, 278, 475)
PATCHES = (256, 512, 64, 828)  # of each list of image grids
FINITE_SCANS = 10
HEAD_ROWS = 200
RECORDED, STRIDED = "recorded", "strided v"
LAYER = (*["project"] * 4, "rms_norm", "add_rms_norm", "silu_mul")
# (op, layout of the values) in the order they are compared: norm and rotary, a layer of each kind, its mixer.
OF_TOKENS: Tuple[Tuple[str, str], ...] = (
    *((op, RECORDED) for op in ("text_rotary", "rms_norm", *LAYER, *LAYER, "causal_conv", "delta_gates", "delta_rule")),
    ("delta_rule", STRIDED), ("gated_rms_norm", RECORDED), ("query_key", RECORDED),
    ("causal_attention", RECORDED), ("causal_attention", STRIDED), ("sigmoid_gate", RECORDED),
)  # fmt: skip
OF_PATCHES: Tuple[Tuple[str, str], ...] = (
    *((op, RECORDED) for op in (
        "vision_rotary_tables", "patch_embed", "add_positions", "layer_norm", "add_layer_norm", "vision_rotary",
    )),
    ("packed_attention", STRIDED), ("packed_attention", "contiguous v"),
    *((op, RECORDED) for op in (*["linear"] * 6, "gelu_tanh", "gelu")),
)  # fmt: skip
AT_THE_END = (("label_head", RECORDED), ("all_finite", RECORDED))
QWEN = "transformers.models.qwen3_5.modeling_qwen3_5."
AGAINST: Dict[str, Tuple[str, ...]] = {
    "text_rotary": (QWEN + "Qwen3_5TextRotaryEmbedding",), "rms_norm": (QWEN + "Qwen3_5RMSNorm",),
    "add_rms_norm": (QWEN + "Qwen3_5RMSNorm",), "project": ("peft.tuners.lora.layer.Linear", "torch.nn.modules.linear.Linear"),
    "silu_mul": (QWEN + "Qwen3_5MLP",), "causal_conv": (QWEN + "causal_conv1d_fn",),
    "delta_gates": (QWEN + "Qwen3_5GatedDeltaNet",), "delta_rule": (QWEN + "torch_chunk_gated_delta_rule",),
    "gated_rms_norm": (QWEN + "Qwen3_5RMSNormGated",), "query_key": (QWEN + "apply_rotary_pos_emb",),
    "causal_attention": ("transformers.integrations.sdpa_attention.sdpa_attention_forward",),
    "sigmoid_gate": (QWEN + "Qwen3_5Attention",), "vision_rotary_tables": (QWEN + "Qwen3_5VisionRotaryEmbedding",),
    "patch_embed": (QWEN + "Qwen3_5VisionPatchEmbed",), "add_positions": (QWEN + "Qwen3_5VisionModel",),
    "layer_norm": ("torch.nn.modules.normalization.LayerNorm",),
    "add_layer_norm": ("torch.nn.modules.normalization.LayerNorm",),
    "vision_rotary": (QWEN + "apply_rotary_pos_emb_vision",), "packed_attention": (QWEN + "Qwen3_5VisionAttention",),
    "linear": ("torch.nn.modules.linear.Linear",), "gelu_tanh": ("transformers.activations.GELUTanh",),
    "gelu": ("torch.nn.modules.activation.GELU",), "all_finite": ("torch.isfinite",),
}  # fmt: skip
# How often a kernel of `project` compares each element of its result, and how its proofs say the size.
PARTS_OF_PROJECT = {"project.expand": r"(\d+)x(\d+) in .+", "project.shrink": r"(\d+)x\d+ in .+"}
RUNS_OF_A_PART, RUNS_OF_A_PROOF = 3, 2


def check_comparisons(bundle: Bundle) -> None:
    """Every comparison there must be is there once, in order, with elements that its shape gives."""
    if not bundle.operators:
        return
    document = bundle.json("operators.json")
    checks, plan = document["checks"], planned_comparisons()
    bundle.expect("operators.json seed", document["seed"], SEED)
    found = [(check["op"], check["variant"]) for check in checks]
    wanted = [(op, variant) for op, variant, _ in plan]
    if found != wanted:
        at = next((i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), min(len(found), len(wanted)))
        message = "%d comparisons, expected %d; the first that is another is number %d, expected %s"
        expected = wanted[at] if at < len(wanted) else "none"
        bundle.fail("operators.json checks", message % (len(found), len(wanted), at + 1, short(expected)))
        return
    first: Dict[Any, Tuple[int, int]] = {}
    for number, (check, (op, _, size)) in enumerate(zip(checks, plan)):
        where = "operators.json checks %d %s" % (number + 1, op)
        elements = sum(math.prod(tensor) for tensor in tensors_of(check["shape"]))
        bundle.expect("%s elements, by its shape %s" % (where, check["shape"]), check["elements"], elements)
        place = place_in_block(number)
        basis, per = first.setdefault(place, (check["elements"], size))
        if check["elements"] * per != basis * size:
            bundle.fail(where, "is of shape %s, expected %d elements as at other sizes" % (check["shape"], basis * size // per))
        if op != "label_head" and check["against"] not in AGAINST[op]:
            bundle.fail("%s against" % where, "is %s, expected one of %s" % (short(check["against"]), short(AGAINST[op])))
    compare_with_checkpoint(bundle, checks)


def planned_comparisons() -> List[Tuple[str, str, int]]:
    """(op, layout, size that its elements are a multiple of) of every comparison, in order."""
    plan = [(op, variant, size) for size in TOKENS for op, variant in OF_TOKENS]
    plan += [(op, variant, size) for size in PATCHES for op, variant in OF_PATCHES]
    return plan + [(op, variant, 1) for op, variant in AT_THE_END]


def place_in_block(number: int) -> Tuple[str, int]:
    """Which comparison of its block this is; blocks differ in their size alone."""
    texts = len(TOKENS) * len(OF_TOKENS)
    if number < texts:
        return "tokens", number % len(OF_TOKENS)
    if number < texts + len(PATCHES) * len(OF_PATCHES):
        return "patches", (number - texts) % len(OF_PATCHES)
    return "end", number


def tensors_of(shape: str) -> List[List[int]]:
    """Sizes of every tensor of a shape text like "[1, 256] [1, 4]"; nothing for another text."""
    if not re.fullmatch(r"\[[\d, ]*\]( \[[\d, ]*\])*", shape):
        return []
    return [[int(size) for size in re.findall(r"\d+", part)] for part in re.findall(r"\[([\d, ]*)\]", shape)]


def compare_with_checkpoint(bundle: Bundle, checks: List[Json]) -> None:
    """The model's width and label rows are those of the checkpoint; the whole head is the engines'."""
    labels, width = bundle.json("checkpoint.json")["label_head"]["shape"]
    shapes = [check["shape"] for check in checks]
    ends = len(checks) - len(AT_THE_END)
    bundle.expect("operators.json checks %d label_head shape" % (ends + 1), shapes[ends], "[%d, %d]" % (HEAD_ROWS, labels))
    bundle.expect("operators.json checks %d all_finite shape" % (ends + 2), shapes[ends + 1], "[%d]" % FINITE_SCANS)
    bundle.expect("operators.json checks 2 rms_norm shape", shapes[1], "[%d, %d]" % (TOKENS[0], width))
    for engine in ("native", "graph"):
        if engine in bundle.engines:
            head = bundle.json("records/%s/engine.json" % engine)["describe"]["label_head"]
            pattern = r"torch\.nn\.Linear over %d rows \(kit: \d+\)" % head["of"]
            if not re.fullmatch(pattern, checks[ends]["against"]):
                message = "is %s, expected the head of %d rows that the engines have"
                bundle.fail("operators.json label_head against", message % (short(checks[ends]["against"]), head["of"]))


def check_proofs(bundle: Bundle) -> None:
    """Behind every kernel with a plain form stands a proof at each size it was compared at, and nowhere else a proof."""
    if not bundle.operators:
        return
    document = bundle.json("operators.json")
    proofs, checks = document["proofs"], document["checks"]
    keys = [(proof["op"], proof["key"]) for proof in proofs]
    for op, key in sorted(place for place, count in Counter(keys).items() if count > 1):
        bundle.fail("operators.json proofs %s" % op, "has %s twice" % short(key))
    guarded = guarded_ops(bundle)
    for op in sorted({proof["op"].partition(".")[0] for proof in proofs} - guarded):
        bundle.fail("operators.json proofs %s" % op, "is of an op that runs without a proof")
    for op in sorted(guarded):
        needed = {RUNS_OF_A_PROOF * check["elements"] for check in checks if check["op"] == op}
        proved = {proof["elements"] for proof in proofs if proof["op"] == op and not unable(proof)}
        if not any(unable(proof) for proof in proofs if proof["op"] == op) and needed != proved:
            message = "prove %d sizes, expected the %d that were compared; the first that is another is of %s elements"
            other = min(needed ^ proved)
            bundle.fail("operators.json proofs %s" % op, message % (len(proved), len(needed), other))
    rank = bundle.json("records/native/engine.json")["describe"].get("adapter", {}).get("rank")
    for proof in proofs:
        compare_proof(bundle, proof, rank)


def guarded_ops(bundle: Bundle) -> Set[str]:
    """Ops that the native engine runs by a kernel where it is proved, by its own description."""
    ops = bundle.json("records/native/engine.json")["describe"].get("ops", {})
    return {op for op, text in ops.items() if text.endswith(" where bits differ")}


def unable(proof: Json) -> bool:
    """A kernel that could not run: nothing was compared, and the plain form is used."""
    return bool(proof["choice"] == "twin" and proof["elements"] == 0 and proof["reason"])


def compare_proof(bundle: Bundle, proof: Json, rank: Any) -> None:
    """The choice follows from what was found; a part of a projection has the elements that its size gives."""
    where = "operators.json proofs %s %s" % (proof["op"], proof["key"])
    sound = proof["elements"] > 0 and not proof["different"]
    bundle.expect("%s choice" % where, proof["choice"], "kernel" if sound else "twin")
    if not unable(proof):
        bundle.expect("%s reason" % where, proof["reason"], "" if sound else "bits differ" if proof["elements"] else "nothing compared")
    if proof["different"] > proof["elements"]:
        bundle.fail(where, "%d of %d elements differ" % (proof["different"], proof["elements"]))
    pattern = PARTS_OF_PROJECT.get(proof["op"])
    match = re.fullmatch(pattern, proof["key"]) if pattern else None
    if pattern and not match:
        bundle.fail(where, "says no size, expected one like %s" % pattern)
    elif match and not unable(proof):
        sizes = [int(size) for size in match.groups()]
        expected = RUNS_OF_A_PART * sizes[0] * (sizes[1] if len(sizes) > 1 else rank)
        bundle.expect("%s elements" % where, proof["elements"], expected)
