"""The weights: which, how many, and the same in every engine."""

from __future__ import annotations

from typing import Dict

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LABELS, Json
from kit.evidence.audit.values import is_number, safe_name, sha256, short

HEAD_FILE = "records/label_head.bin"
FROM_A_PACKAGE = "base/tokenizer.json"  # of a full vocabulary; a small one is in the digest
SHARED = "kit/checkpoint/tiny/"  # small files of every generated checkpoint, unless its recipe has its own
TRAINED = "kit/checkpoint/decider/"  # a checkpoint of its own, from which no generated one takes a file
RECIPE_DEPTH = 3  # kit/checkpoint/<recipe>/base/<file>
SUMMED_KINDS = ("synthetic", "folder", "export")  # checkpoints whose own stage reads or makes every tensor


def check_checkpoint(bundle: Bundle) -> None:
    """The weights are those the profile names, and the label rows are what their digest says."""
    if not bundle.recorded_engines and not bundle.exists("checkpoint.json"):
        return
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    if wanted["kind"] == "synthetic" or (wanted["kind"] == "folder" and wanted["digest"]):
        bundle.expect("checkpoint.json digest", document["digest"], wanted["digest"])
    if wanted["kind"] != "synthetic":
        bundle.leave("weights (%s): their files are not in the bundle" % wanted["kind"])
    for engine in bundle.recorded_engines:
        said = bundle.json("records/%s/engine.json" % engine)["describe"].get("checkpoint_digest")
        bundle.expect("records/%s/engine.json checkpoint_digest" % engine, said, document["digest"])
    head = document["label_head"]
    bundle.expect("checkpoint.json label_head file", head["file"], HEAD_FILE)
    rows = bundle.read(head["file"])
    bundle.expect(head["file"], sha256(rows), head["rows_sha256"])
    bundle.expect("%s bytes" % head["file"], len(rows), 2 * head["shape"][0] * head["shape"][1])
    bundle.expect("checkpoint.json labels", [len(set(head["ids"])), head["shape"][0]], [LABELS, LABELS])
    calibration = document["calibration"]
    for name in ("temperature", "mm_temperature"):
        if not (is_number(calibration[name]) and calibration[name] > 0):
            bundle.fail(
                "checkpoint.json %s" % name, "is %s, expected a positive number" % short(calibration[name])
            )


def check_inventory(bundle: Bundle) -> None:
    """Kind and source are the profile's, every file that is named has its digest, and together they give the whole's."""
    if not bundle.exists("checkpoint.json"):
        return
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    kind, files = wanted["kind"], document["files"]
    bundle.expect("checkpoint.json kind", document["kind"], kind)
    if kind == "synthetic":
        bundle.expect("checkpoint.json source", document["source"], "generator %(generator)s, seed %(seed)s" % wanted)
    elif kind in SUMMED_KINDS[1:] and wanted["base"] and wanted["base"] not in document["source"]:
        bundle.fail("checkpoint.json source", "is %s, expected it to name %s" % (short(document["source"]), wanted["base"]))
    bundle.expect("checkpoint.json files", bool(files), kind in ("synthetic", "folder"))
    for name in files:
        if not name.startswith(("base/", "adapter/")) or not safe_name(name):
            bundle.fail("checkpoint.json files %s" % short(name), "is no file of base or adapter")
    shards = [name for name in files if name.endswith(".safetensors")]
    if shards:  # of a recipe that writes no tensor, the digest is over the recipe as well
        lines = "".join("%s  %s\n" % (files[name], name) for name in sorted(files))
        bundle.expect("checkpoint.json digest, from its files", document["digest"], sha256(lines.encode()))
    elif files:
        bundle.leave("checkpoint.json digest from its files (the recipe of its tensors is in it too)")
    compare_static(bundle, files)
    compare_shipped(bundle, files)
    if not sum(document["tensors"]["base"].values()):
        bundle.fail("checkpoint.json tensors", "there are none in base")


def compare_static(bundle: Bundle, files: Json) -> None:
    """Small files of a generated checkpoint are copies of packed sources, where they are of one name."""
    if bundle.profile["checkpoint"]["kind"] != "synthetic":
        return
    packed: Dict[str, set[str]] = {}
    shared = set()
    for name, data in bundle.sources().items():
        if name.startswith("kit/checkpoint/") and not name.startswith(TRAINED) and name.count("/") > RECIPE_DEPTH:
            short_name = "/".join(name.split("/")[-2:])
            packed.setdefault(short_name, set()).add(sha256(data))
            if name.startswith(SHARED) and name.endswith((".json", ".jinja")) and short_name != FROM_A_PACKAGE:
                shared.add(short_name)
    for name in sorted(shared - set(files)):
        bundle.fail("checkpoint.json files", "%s is not named, expected as in every generated checkpoint" % name)
    for name in sorted(set(files) & set(packed)):
        if name != FROM_A_PACKAGE and files[name] not in packed[name]:
            bundle.fail("checkpoint.json files %s" % name, "has a digest that no packed source of that name has")


def compare_shipped(bundle: Bundle, files: Json) -> None:
    """Small files of a checkpoint that lies in the project are the packed sources themselves."""
    wanted = bundle.profile["checkpoint"]
    if wanted["kind"] != "folder":
        return
    sources = bundle.sources()
    for name in sorted(files):
        part, _, rest = name.partition("/")
        shipped = sources.get("%s/%s" % (wanted.get(part), rest))
        if shipped is not None:
            bundle.expect("checkpoint.json files %s, from the packed sources" % name, files[name], sha256(shipped))


def check_weights(bundle: Bundle) -> None:
    """Every engine held the same weights, tensor by tensor, and those the checkpoint stage summed, if it did.

    checkpoint.json carries a sum where its stage read or made every tensor; the sums of a download are the
    engines' own, so they are compared with each other. An engine without one shows nothing about its weights.
    """
    if not bundle.recorded_engines:
        return
    document, sums = bundle.json("checkpoint.json"), {}
    for engine in bundle.recorded_engines:
        found = bundle.json("records/%s/engine.json" % engine)["describe"].get("weights_sum")
        if found is not None:
            sums["records/%s/engine.json" % engine] = found
        else:
            bundle.fail(
                "records/%s/engine.json weights_sum" % engine, "is missing: nothing says what it held"
            )
    summed = document.get("weights_sum")
    if summed is None and bundle.profile["checkpoint"]["kind"] in SUMMED_KINDS:
        bundle.fail("checkpoint.json weights_sum", "is missing: nothing says what the checkpoint holds")
    wanted = summed if summed is not None else next(iter(sums.values()), None)
    for name in sorted(sums):
        bundle.expect("%s weights_sum" % name, sums[name], wanted)
