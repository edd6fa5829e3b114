"""One sound device, and nobody else's during the run; what its driver refused to say is said."""

from __future__ import annotations

from typing import List, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import NOT_VISIBLE, Json

FOREIGN_BYTES = 1 << 30  # device memory that may be in use beyond what a run took itself


def check_device(bundle: Bundle) -> None:
    """A GPU run had its device to itself, and it was one sound device throughout; what was not shown is said."""
    if not bundle.recorded_engines:
        return  # a remote server computes elsewhere
    document, kind = bundle.json("device.json"), bundle.profile["runtime"]["device"]
    bundle.expect("device.json kind", document["kind"], kind)
    if kind != "cuda":
        return
    before, after = document["before"], document["after"]
    problems, unseen = [], []
    for when, seen in (("before", before), ("after", after)):
        found = (
            device_findings(seen) if seen["visible"] is True else ([], ["the device (%s)" % seen["reason"]])
        )
        problems += ["%s: %s" % (when, text) for text in found[0]]
        unseen += ["%s: %s" % (when, text) for text in found[1]]
    if before["visible"] is True and after["visible"] is True:
        problems += device_changes(before, after)
        driver = bundle.json("environment.json").get("device", {}).get("driver")
        if driver and NOT_VISIBLE not in (driver, before["driver"]):
            bundle.expect("device.json driver, against environment.json", before["driver"], driver)
    if not before["taken_utc"] < after["taken_utc"]:
        bundle.fail("device.json", "its second snapshot is not later than its first")
    for text in problems:
        bundle.fail("device.json", text)
    for text in unseen:
        bundle.leave("device, %s: not visible" % text)
    alone = "no" if problems else NOT_VISIBLE if unseen else "yes"
    bundle.expect("device.json verdict", document["verdict"]["alone"], alone)


def device_findings(seen: Json) -> Tuple[List[str], List[str]]:
    """What speaks against one snapshot of the device, and what it could not see."""
    problems, unseen = [], []
    processes, memory = seen["processes"], seen["memory"]
    if processes == NOT_VISIBLE:
        unseen.append("processes")
    elif processes["others"] != 0 or processes["own"] != 1:
        problems.append("%s processes of others are on the device" % processes["others"])
    if not isinstance(memory["used_bytes"], int):
        unseen.append("memory")
    elif memory["used_bytes"] - memory["own_bytes"] > FOREIGN_BYTES:
        problems.append("%d bytes are taken by others" % (memory["used_bytes"] - memory["own_bytes"]))
    if seen["mig"] not in ("off", "not supported", NOT_VISIBLE):
        problems.append("MIG is %s" % seen["mig"])
    unseen += ["mig"] if seen["mig"] == NOT_VISIBLE else []
    unseen += [] if isinstance(seen["ecc_uncorrected"], int) else ["memory errors"]
    return problems, unseen


def device_changes(before: Json, after: Json) -> List[str]:
    names = ("name", "uuid_sha256", "driver", "cuda_driver")
    problems = ["%s changed from %s to %s" % (n, before[n], after[n]) for n in names if before[n] != after[n]]
    old, new = before["ecc_uncorrected"], after["ecc_uncorrected"]
    if isinstance(old, int) and isinstance(new, int) and new > old:
        problems.append("%d uncorrected memory errors during the run" % (new - old))
    return problems
