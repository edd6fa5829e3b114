"""What each engine says it is, against the profile, the checkpoint, the installed packages and the packed sources.

Covers: backend, device, dtype, numerics, functions of the op table, label head, adapter, versions, graph bounds. Does
not cover: whether a process told the truth about itself.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List

from kit.evidence.audit.operators import ops_of_table
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LABELS, NUMBER_TYPES, Json
from kit.evidence.audit.shapes import AUTOTUNE_TOLD, COUNT, DIGEST, FLAG, GRAPH, NUMBER, TEXT, Each, hold
from kit.evidence.audit.values import short

MODELING = "transformers.models.qwen3_5.modeling_qwen3_5."
MODEL_CLASS = MODELING + "Qwen3_5ForConditionalGeneration"
SCAN = "fla.ops.gated_delta_rule."
PIXELS = ("kit.model.pixels.patches", "transformers.models.qwen2_vl.image_processing_qwen2_vl.Qwen2VLImageProcessor")
FUNCTIONS = ("torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule", "causal_conv1d_fn", "causal_conv1d_update")
BACKENDS = {
    ("reference", "cpu"): "transformers", ("reference", "cuda"): "transformers", ("native", "cpu"): "eager",
    ("native", "cuda"): "eager", ("graph", "cpu"): "aten-replay", ("graph", "cuda"): "cuda-graph",
}  # fmt: skip
CLAIMS = {
    "aten-replay": "recorded ATen calls replayed from static buffers: shows that capture, keys, buffers and eviction are "
    "right, and says nothing about the speed of graphs",
    "cuda-graph": "CUDA graphs replayed from static buffers, one private memory pool a cache",
}
DISTRIBUTIONS = {
    "torch": ("torch",), "transformers": ("transformers",), "peft": ("peft",),
    "fla": ("flash-linear-attention", "fla-core"), "triton": ("triton",),
}  # fmt: skip
NEEDED = ("torch", "transformers", "peft")  # packages without which the official reference cannot run
IMPLEMENTATION = re.compile(r"([\w.]+)(?:, or ([\w.]+) where bits differ)?(?: \([^()]+\))?")

ANY_ENGINE = {
    "backend": TEXT, "checkpoint_digest": TEXT, "weights_sum": DIGEST, "dtype": TEXT, "device": TEXT,
    "autotune": AUTOTUNE_TOLD, "versions": Each((TEXT, None)),
}  # fmt: skip
NATIVE = {
    **ANY_ENGINE, "numerics": TEXT, "ops": Each(TEXT), "converted_tensors": Each((TEXT, COUNT)),
    "label_head": {
        "rows": COUNT, "of": COUNT,
        "trials": [{"rows": COUNT, "compared": COUNT, "cancelling": COUNT, "different": COUNT}],
    },
    "adapter": {"merged": FLAG, "dtype": TEXT, "tensors": COUNT, "rank": COUNT, "scale": NUMBER},
}  # fmt: skip
ENGINE_SHAPES: Dict[str, Any] = {
    "reference": {
        **ANY_ENGINE, "model_class": TEXT, "functions": Each(TEXT), "attention": Each(TEXT), "pixels": TEXT,
        "adapter": {
            "merged": FLAG, "layers": COUNT, "disabled": COUNT, "scales": [NUMBER], "dtypes": Each(COUNT), "tensors": COUNT,
        },
        "base_dtypes": Each(COUNT), "keys": Each([TEXT]), "load_warnings": [TEXT],
    },
    "native": NATIVE,
    "graph": {**NATIVE, "backend_claim": TEXT, "graph": GRAPH},
}  # fmt: skip


def check_described(bundle: Bundle) -> None:
    """Every engine was what the profile asks for, with the checkpoint's adapter unmerged and the libraries installed."""
    runtime = bundle.profile["runtime"]
    for engine in bundle.recorded_engines:
        where = "records/%s/engine.json" % engine
        facts = bundle.json(where)
        told = facts["describe"]
        if not hold(bundle, "%s describe" % where, told, ENGINE_SHAPES[engine]):
            continue
        backend = BACKENDS[engine, runtime["device"]]
        for name in ("dtype", "device", "numerics"):
            if name in told:
                bundle.expect("%s %s" % (where, name), told[name], runtime[name])
        bundle.expect("%s backend" % where, [told["backend"], facts["backend"]], [backend, backend])
        compare_versions(bundle, where, told["versions"])
        compare_adapter(bundle, where, told["adapter"])
        (compare_reference if engine == "reference" else compare_native)(bundle, where, told)
    same_in_both(bundle)


def compare_versions(bundle: Bundle, where: str, versions: Json) -> None:
    """An engine's libraries are the installed ones; a build may carry a local mark behind a plus."""
    installed = bundle.json("environment.json").get("versions", {})
    for name, version in versions.items():
        wanted = installed.get(name)
        if version != wanted and (version or "").partition("+")[0] != wanted:
            bundle.fail("%s versions %s" % (where, name), "is %s, environment.json has %s" % (short(version), short(wanted)))


def compare_adapter(bundle: Bundle, where: str, adapter: Json) -> None:
    """Unmerged, enabled, with every tensor that the checkpoint lists."""
    counts = bundle.json("checkpoint.json")["tensors"]["adapter"]
    bundle.expect("%s adapter merged" % where, adapter["merged"], False)
    bundle.expect("%s adapter disabled" % where, adapter.get("disabled", 0), 0)
    bundle.expect("%s adapter tensors" % where, adapter["tensors"], sum(counts.values()))
    kinds = {NUMBER_TYPES.get(name, name): count for name, count in counts.items()}
    told = adapter["dtypes"] if "dtypes" in adapter else {adapter["dtype"]: adapter["tensors"]} if adapter["tensors"] else {}
    bundle.expect("%s adapter dtypes" % where, told, kinds)
    if "layers" in adapter:
        bundle.expect("%s adapter layers" % where, 2 * adapter["layers"], adapter["tensors"])


def compare_reference(bundle: Bundle, where: str, told: Json) -> None:
    """The official model class with all of its checkpoint, and the functions its device and packages give it."""
    bundle.expect("%s model_class" % where, told["model_class"], MODEL_CLASS)
    bundle.expect("%s attention" % where, told["attention"], {"text": "sdpa", "vision": "sdpa"})
    if told["pixels"] not in PIXELS:
        bundle.fail("%s pixels" % where, "is %s, expected one of %s" % (short(told["pixels"]), short(PIXELS)))
    if sorted(told["functions"]) != sorted(FUNCTIONS):
        bundle.fail("%s functions" % where, "are of %s, expected %s" % (sorted(told["functions"]), sorted(FUNCTIONS)))
    fused = on_fla(bundle)
    for name, function in told["functions"].items():
        own = fused and name.startswith("torch_")
        if not function.startswith(SCAN if own else ("transformers.", "causal_conv1d.")):
            bundle.fail("%s functions %s" % (where, name), "is %s on this device with these packages" % short(function))
    missed = {name: found for name, found in told["keys"].items() if found}
    bundle.expect("%s keys that the checkpoint lacks or has too many" % where, missed, {})
    if bundle.profile["checkpoint"]["kind"] == "synthetic":
        counts = bundle.json("checkpoint.json")["tensors"]["base"]
        kinds = {NUMBER_TYPES.get(name, name): count for name, count in counts.items()}
        bundle.expect("%s base_dtypes" % where, told["base_dtypes"], kinds)
        bundle.expect("%s load_warnings" % where, told["load_warnings"], [])


def on_fla(bundle: Bundle) -> bool:
    """Whether the reference's scan is FLA's: on a GPU, where it is installed."""
    package = bundle.json("environment.json")["packages"].get("fla", {})
    return bool(bundle.profile["runtime"]["device"] == "cuda") and package.get("status", "absent") != "absent"


def compare_native(bundle: Bundle, where: str, told: Json) -> None:
    """Every op of the packed table, each a function of the packed sources, and a label head that proved its bits."""
    table = ops_of_table(bundle)
    if table is not None:
        bundle.expect("%s ops" % where, sorted(told["ops"]), sorted(table))
    for op, text in told["ops"].items():
        for name in implementations(text):
            if not is_packed(bundle, name) and not (on_fla(bundle) and name.startswith(SCAN)):
                bundle.fail("%s ops %s" % (where, op), "is %s, which is no function of the packed sources" % short(text))
            if bundle.profile["runtime"]["device"] == "cpu" and "_kernel." in name:
                bundle.fail("%s ops %s" % (where, op), "is %s, a kernel for a GPU, on a CPU" % short(text))
    head = told["label_head"]
    trials = head["trials"]
    if not trials or trials[-1]["rows"] != head["rows"] or trials[-1]["different"] or not trials[-1]["compared"]:
        bundle.fail("%s label_head" % where, "multiplies %s rows, which no trial shows to give equal bits" % head["rows"])
    if not LABELS <= head["rows"] <= head["of"] or [trial["rows"] for trial in trials] != sorted(
        {trial["rows"] for trial in trials}
    ):
        bundle.fail("%s label_head" % where, "tried %s of %s rows" % ([trial["rows"] for trial in trials], head["of"]))
    if "graph" in told:
        bundle.expect("%s graph" % where, told["graph"], bundle.profile["graph"])
        bundle.expect("%s backend_claim" % where, told["backend_claim"], CLAIMS[told["backend"]])


def implementations(text: str) -> List[str]:
    """Functions that an op runs, in words as the op table describes them."""
    match = IMPLEMENTATION.fullmatch(text)
    return [name for name in match.groups() if name] if match else [text]


def is_packed(bundle: Bundle, name: str) -> bool:
    """Whether a dotted name is a function or class at the top of a packed source file."""
    module, _, function = name.rpartition(".")
    source = bundle.sources().get(module.replace(".", "/") + ".py", b"")
    starts = [b"\n%s %s%s" % (kind, function.encode(), end) for kind in (b"def", b"class") for end in (b"(", b":")]
    return any(start in b"\n" + source for start in starts)


def same_in_both(bundle: Bundle) -> None:
    """Native and graph are one model: the same ops, head and adapter; the reference scales its adapter alike."""
    told = {name: bundle.json("records/%s/engine.json" % name)["describe"] for name in bundle.recorded_engines}
    if "native" in told and "graph" in told:
        for name in ("ops", "label_head", "adapter", "converted_tensors", "versions"):
            bundle.expect("records/graph/engine.json %s" % name, told["graph"].get(name), told["native"].get(name))
    for engine in ("native", "graph"):
        if engine in told and "reference" in told and told["reference"].get("adapter", {}).get("scales"):
            scales = [told[engine].get("adapter", {}).get("scale")]
            where = "records/%s/engine.json adapter scale, against the reference's" % engine
            bundle.expect(where, scales, told["reference"]["adapter"]["scales"])


def check_installed(bundle: Bundle) -> None:
    """A package is absent only where no distribution of it is listed; the device is the profile's."""
    document = bundle.json("environment.json")
    versions = document.get("versions", {})
    if bundle.recorded_engines:
        bundle.expect("environment.json device kind", document["device"]["kind"], bundle.profile["runtime"]["device"])
        bundle.expect("environment.json packages", sorted(document["packages"]), sorted(DISTRIBUTIONS))
    for name, package in document["packages"].items():
        where = "environment.json packages %s" % name
        listed = [versions[d] for d in DISTRIBUTIONS.get(name, ()) if d in versions]
        if package["status"] == "absent":
            if listed:
                bundle.fail(where, "is absent, expected version %s, which is installed" % short(listed[0]))
            if name in NEEDED and "reference" in bundle.recorded_engines:
                bundle.fail(where, "is absent, and the reference cannot have run without it")
        else:
            bundle.expect("%s version" % where, package.get("version"), listed[0] if listed else None)
        if package["status"] == "ok" and not package.get("files", 0) > 0:
            bundle.fail(where, "is ok, and no file of it was looked at")
