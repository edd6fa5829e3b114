"""One sound device, and nobody else's during the run; what its driver refused to say is said."""

from __future__ import annotations

from typing import Any, List, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import NOT_VISIBLE, Json
from kit.evidence.audit.values import short

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
    told = document["verdict"]
    bundle.expect("device.json verdict", told["alone"], alone)
    bundle.expect("device.json verdict problems", len(told["problems"]), len(problems))
    bundle.expect("device.json verdict unseen", told["unseen"], unseen)
    compare_with_environment(bundle, document)


def compare_with_environment(bundle: Bundle, document: Json) -> None:
    """The device is the one the libraries saw, and visible wherever else the run looked at it."""
    facts = bundle.json("environment.json").get("device", {})
    for when in ("before", "after"):
        seen = document[when]
        if seen["visible"] is not True:
            if any(isinstance(start, int) for start in drilled_memory(bundle)):
                bundle.fail("device.json %s" % when, "was not visible, and yet drills saw its memory")
            continue
        for name in ("name", "capability"):
            bundle.expect("device.json %s %s, against environment.json" % (when, name), seen[name], facts.get(name, seen[name]))
        memory = seen["memory"]
        if all(isinstance(memory[name], int) for name in memory) and not memory["own_bytes"] <= memory["used_bytes"] <= memory["total_bytes"]:
            bundle.fail("device.json %s memory" % when, "is %s, expected own, used and total in that order" % short(memory))
        processes, listed = seen["processes"], seen["processes_listed"]
        if isinstance(processes, dict) and isinstance(listed, int):
            bundle.expect("device.json %s processes" % when, sum(processes.values()), listed)


def drilled_memory(bundle: Bundle) -> List[Any]:
    """Device memory that drills saw, or what stands in its place."""
    if not bundle.native or not bundle.exists("records/drills.jsonl"):
        return []
    told = [line["observed"].get("memory") for line in bundle.jsonl("records/drills.jsonl")[1:]]
    return [memory.get("start_bytes") for memory in told if isinstance(memory, dict)]


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
    unseen += [] if isinstance(seen["ecc_uncorrected"], int) else ["ecc_uncorrected"]
    return problems, unseen


def device_changes(before: Json, after: Json) -> List[str]:
    names = ("name", "uuid_sha256", "driver", "cuda_driver")
    problems = ["%s changed from %s to %s" % (n, before[n], after[n]) for n in names if before[n] != after[n]]
    old, new = before["ecc_uncorrected"], after["ecc_uncorrected"]
    if isinstance(old, int) and isinstance(new, int) and new > old:
        problems.append("%d uncorrected memory errors during the run" % (new - old))
    return problems
