"""The weights: which, how many, and the same in every engine."""

from __future__ import annotations

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LABELS
from kit.evidence.audit.values import is_number, sha256, short

SUMMED_KINDS = ("synthetic", "folder", "export")  # checkpoints whose own stage reads or makes every tensor


def check_checkpoint(bundle: Bundle) -> None:
    """The weights are those the profile names, and the label rows are what their digest says."""
    if not bundle.recorded_engines and not bundle.exists("checkpoint.json"):
        return
    document, wanted = bundle.json("checkpoint.json"), bundle.profile["checkpoint"]
    if wanted["kind"] == "synthetic":
        bundle.expect("checkpoint.json digest", document["digest"], wanted["digest"])
    else:
        bundle.leave("weights (%s): their files are not in the bundle" % wanted["kind"])
    for engine in bundle.recorded_engines:
        said = bundle.json("records/%s/engine.json" % engine)["describe"].get(
            "checkpoint_digest", document["digest"]
        )
        bundle.expect("records/%s/engine.json checkpoint_digest" % engine, said, document["digest"])
    head = document["label_head"]
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
