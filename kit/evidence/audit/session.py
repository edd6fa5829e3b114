"""What a session of measurements says of itself beside its samples: workloads, phases, floors, device.

Covers: known workloads at known sizes, blocks as the stage was given them, floors against their ways, bandwidth, time
within the stage. Does not cover: the samples' statistics (`measured`), or whether a time was really taken.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Tuple

from kit.evidence.audit.measured import PHASES, TEXT_LENGTHS, WORKLOAD_PHASES
from kit.evidence.audit.moments import expect_within, stage_window
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import SAMPLES, Json
from kit.evidence.audit.shapes import ANY, COUNT, FLAG, NUMBER, SEEN, TEXT, UTC, Each, One, hold
from kit.evidence.audit.values import same, short

METHOD = (
    "interleaved blocks, forwards and backwards; a unit runs from a prepared request on the host to its label logits "
    "on the host; intervals: 95%, whole blocks resampled; HTTP: workers in the same process, one client"
)
NOTES = (
    "absolute figures belong to this machine, its libraries and its load; compare ratios within one run",
    "the weights are synthetic: shapes and arithmetic are real, answers mean nothing",
    "on a CPU the graph engine replays recorded ATen calls: it shows machinery, not speed",
)
LONG = 8192
BEFORE_PHASES = ("load reference", "build native engines", "build floors", "search cuBLASLt")
WAYS = ("component", "stacked", "cublaslt component", "cublaslt stacked")
OVER_HTTP = ("text-http", "image-768x512-http", "questions-4-http")
VISION_TOKENS = 384
HALF_A_DIGIT = 0.00006  # of milliseconds written with four digits

GLANCE = (
    {"visible": One((False,)), "reason?": TEXT, "taken_utc?": UTC},
    {
        "visible": One((True,)), "taken_utc": UTC, "name": TEXT, "clocks_mhz": Each(SEEN), "slowdowns": ANY,
        "temperature_c": SEEN, "power_w": (NUMBER, *SEEN),
        "memory": {"total_bytes": SEEN, "used_bytes": SEEN, "own_bytes": SEEN},
    },
)  # fmt: skip
CLASS = {"class": TEXT, "ms": NUMBER, "launches": COUNT}
MEASURED_SHAPE = {
    "method": TEXT, "weight_bytes": COUNT, "device": [GLANCE], "copy_bytes_per_s?": NUMBER, "seconds": Each(NUMBER),
    "floors": [{
        "tokens": COUNT, "fastest": TEXT, "weight_bytes": COUNT, "bandwidth_ms": (NUMBER, None),
        "ways": [{"way": TEXT, "median_ms": (NUMBER, None), "reason": TEXT}],
    }],
    "not_measured": [{"phase": TEXT, "reason": TEXT}],
    "targets": [{"target": TEXT, "bound": NUMBER, "at_least": FLAG, "value": (NUMBER, None), "outcome": TEXT}],
    "adapter_swap?": Each(ANY), "stream?": Each(ANY),
    "profile?": [{
        "engine": TEXT, "tokens": COUNT, "classes": [CLASS], "total_ms": NUMBER, "launches": COUNT, "costliest": [ANY],
    }],
}  # fmt: skip
SAMPLES_SHAPE = {
    "format": TEXT, "weight_bytes": COUNT, "temperatures": {"text": NUMBER, "image": NUMBER},
    "entries": [{
        "round": COUNT, "anchor": FLAG, "engine": TEXT, "workload": TEXT, "way": One(("call", "http")), "tokens": COUNT,
        "images": FLAG, "wall_ms": [[NUMBER]], "device_ms": [[NUMBER]], "logits": ([TEXT], None), "cold_ms": (NUMBER, None),
        "extra_bytes": (COUNT, None), "pool_bytes": COUNT,
    }],
}  # fmt: skip


def check_session(bundle: Bundle) -> None:
    """The words and figures around the rows are those of this kit, this run and one another."""
    document = bundle.json("performance.json")
    bundle.expect("performance.json profile", document["profile"], bundle.profile["name"])
    bundle.expect("performance.json reference", document["reference"], bundle.reference or None)
    bundle.expect("performance.json unit", document["unit"], "milliseconds")
    bundle.expect("performance.json notes", document["notes"], list(notes(bundle)))
    if not bundle.measured:
        return
    measured, samples = document["measured"], bundle.json(SAMPLES)
    shaped = hold(bundle, "performance.json measured", measured, MEASURED_SHAPE)
    if not hold(bundle, SAMPLES, samples, SAMPLES_SHAPE) or not shaped:
        return
    bundle.expect("performance.json measured method", measured["method"], METHOD)
    compare_entries(bundle, samples)
    compare_floors(bundle, measured)
    compare_phases(bundle, measured)
    compare_device(bundle, measured)


def notes(bundle: Bundle) -> Iterator[str]:
    """What a reader must know before quoting a figure."""
    yield NOTES[0]
    if bundle.profile["checkpoint"]["kind"] == "synthetic":
        yield NOTES[1]
    if bundle.profile["runtime"]["device"] == "cpu" and "graph" in bundle.engines:
        yield NOTES[2]


def compare_entries(bundle: Bundle, samples: Json) -> None:
    """Every entry is of a known workload at its size, in as many blocks as the stage was given, timed on both clocks."""
    entries = samples["entries"]
    blocks = bundle.json("stages/09_performance.json")["parameters"].get("blocks")
    numbers = [entry["round"] for entry in entries]
    if numbers != sorted(numbers) or set(numbers) != set(range(1, len(set(numbers)) + 1)):
        bundle.fail("%s entries" % SAMPLES, "are of rounds %s, expected them counted from 1" % short(sorted(set(numbers))))
    for entry in entries:
        where = "%s round %s %s" % (SAMPLES, entry["round"], entry["engine"])
        if not known_workload(entry):
            told = (entry["workload"], entry["way"], entry["tokens"], entry["images"])
            bundle.fail(where, "is of workload %s, way %s, %s tokens, images %s, which is none" % told)
        bundle.expect("%s blocks" % where, len(entry["wall_ms"]), blocks)
        sizes = [len(block) for block in entry["wall_ms"]]
        if any(entry["device_ms"]):
            bundle.expect("%s device_ms" % where, [len(block) for block in entry["device_ms"]], sizes)
            pairs = [(d, w) for ds, ws in zip(entry["device_ms"], entry["wall_ms"]) for d, w in zip(ds, ws)]
            if any(not 0 < on_device <= wall + HALF_A_DIGIT for on_device, wall in pairs):
                bundle.fail("%s device_ms" % where, "are not all between 0 and the time on the wall")
        elif entry["way"] == "call" and bundle.profile["runtime"]["device"] == "cuda":
            bundle.fail("%s device_ms" % where, "are missing, expected one for every time on the wall")


def known_workload(entry: Json) -> bool:
    name, way, tokens = entry["workload"], entry["way"], entry["tokens"]
    images = name.startswith(("image", "vision"))
    if entry["images"] != images or (way == "http") != (name in OVER_HTTP):
        return False
    if name == "text":
        return tokens in (*TEXT_LENGTHS, LONG)
    if name == "text-http":
        return tokens in TEXT_LENGTHS
    return name in (*WORKLOAD_PHASES, *OVER_HTTP) and (not name.startswith("vision") or tokens == VISION_TOKENS)


def compare_floors(bundle: Bundle, measured: Json) -> None:
    """A floor is the fastest of its ways, over weights that a device reads no faster than it copies."""
    done = [tokens for tokens in TEXT_LENGTHS if "text %d" % tokens in measured["seconds"]]
    told = [floor["tokens"] for floor in measured["floors"]]
    bundle.expect("performance.json measured floors", sorted(told), sorted(done))
    bandwidth = measured.get("copy_bytes_per_s")
    for floor in measured["floors"]:
        where = "performance.json measured floors %d" % floor["tokens"]
        bundle.expect("%s ways" % where, [way["way"] for way in floor["ways"]], list(WAYS))
        timed = {way["way"]: way["median_ms"] for way in floor["ways"] if way["median_ms"] is not None}
        if not timed or floor["fastest"] != min(timed, key=lambda name: timed[name]) or min(timed.values()) <= 0:
            bundle.fail("%s fastest" % where, "is %s, the ways took %s" % (short(floor["fastest"]), short(timed)))
        for way in floor["ways"]:
            bundle.expect("%s %s reason" % (where, way["way"]), bool(way["reason"]), way["median_ms"] is None)
        bundle.expect("%s weight_bytes" % where, floor["weight_bytes"], measured["floors"][0]["weight_bytes"])
        if floor["weight_bytes"] > measured["weight_bytes"]:
            bundle.fail("%s weight_bytes" % where, "are %d, more than all weights" % floor["weight_bytes"])
        expected = round(floor["weight_bytes"] / bandwidth * 1e3, 4) if bandwidth else None
        if not same(floor["bandwidth_ms"], expected):
            bundle.fail("%s bandwidth_ms" % where, "is %s, recomputed %s" % (short(floor["bandwidth_ms"]), short(expected)))


def compare_phases(bundle: Bundle, measured: Json) -> None:
    """Phases are known ones, and took no longer in all than their stage."""
    left_out = [item["phase"] for item in measured["not_measured"]]
    for phase in sorted({*measured["seconds"], *left_out} - {*PHASES, *BEFORE_PHASES}):
        bundle.fail("performance.json measured", "knows a phase %s, which is none" % short(phase))
    if len(set(left_out)) != len(left_out):
        bundle.fail("performance.json measured not_measured", "lists a phase twice")
    for phase, seconds in measured["seconds"].items():
        if seconds < 0:
            bundle.fail("performance.json measured seconds %s" % phase, "is %s" % short(seconds))
    window = stage_window(bundle, "09_performance")
    total = sum(measured["seconds"].values())
    if window and total > window[1] - window[0]:
        message = "add up to %.1f, expected at most the %.1f that notebooks/09_performance.ipynb ran"
        bundle.fail("performance.json measured seconds", message % (total, window[1] - window[0]))
    for name, phase in (("adapter_swap", "adapter swap"), ("stream", "stream"), ("profile", "profile")):
        if name in measured and phase not in measured["seconds"]:
            bundle.fail("performance.json measured %s" % name, "is there, and its phase was not run")
    for found in measured.get("profile", ()):
        where = "performance.json measured profile %s %d" % (found["engine"], found["tokens"])
        sums: Dict[str, Tuple[Any, Any]] = {
            name: (found[whole], sum(part[name] for part in found["classes"]))
            for name, whole in (("ms", "total_ms"), ("launches", "launches"))
        }
        for name, (whole, parts) in sums.items():
            if abs(whole - parts) > 0.001 * len(found["classes"]):
                bundle.fail("%s %s" % (where, name), "is %s, its classes add up to %s" % (short(whole), short(parts)))


def compare_device(bundle: Bundle, measured: Json) -> None:
    """Where the session looked at the device, it was the run's, and looked within the stage."""
    known, window = bundle.json("device.json"), stage_window(bundle, "09_performance")
    for number, seen in enumerate(measured["device"], 1):
        where = "performance.json measured device %d" % number
        before = known.get("before", {})
        if seen["visible"] is True and before.get("visible") is True:
            bundle.expect("%s name" % where, seen["name"], before["name"])
            bundle.expect("%s memory" % where, seen["memory"]["total_bytes"], before["memory"]["total_bytes"])
        elif seen["visible"] is True:
            bundle.fail(where, "is visible, and device.json did not see it")
        if window and "taken_utc" in seen:
            expect_within(bundle, "%s taken_utc" % where, seen["taken_utc"], window, "notebooks/09_performance.ipynb")
