"""One draw of kernel configurations for every engine."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from typing import Any, List

from kit.evidence.audit.drift import measured
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LEDGER, Json, UnreadableError
from kit.evidence.audit.values import digest_of, parse_json, sha256, short

CALLS = 20  # of every length, which must give the same bits
BEYOND_PROTOCOL = (1024, 2282, 8192)
TUNED_PACKAGES = ("torch", "triton", "flash-linear-attention")
HEADS = ("key_heads", "value_heads", "key_dim", "value_dim")
CONFIGURED = ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim")  # HEADS, in the same order
SCANS = "fla.ops."


def check_autotune(bundle: Bundle) -> None:
    """Every engine ran with the one draw of kernel configurations that the run recorded, and chose none later."""
    ledger, kind = bundle.json(LEDGER), bundle.profile["runtime"]["device"]
    winners = checked_winners(bundle, LEDGER, ledger)
    if ledger["source"] not in ("drawn", "recorded"):
        bundle.fail("%s source" % LEDGER, "is %s, expected drawn or recorded" % short(ledger["source"]))
    bundle.expect("%s repeats that gave other bits" % LEDGER, ledger["repeats"]["different"], 0)
    told = {name: ledger[name] for name in ("source", "digest", "winners")}
    bundle.expect("environment.json autotune", bundle.json("environment.json").get("autotune"), told)
    installed = bundle.json("environment.json")["packages"].get("fla", {}).get("status", "absent") != "absent"
    if winners and kind != "cuda":
        bundle.fail(LEDGER, "has winners of a run on a %s, where nothing is tuned" % kind)
    if not winners and kind == "cuda" and installed and bundle.recorded_engines:
        bundle.fail(LEDGER, "is empty although FLA, whose kernels are autotuned, is installed")
    wanted = {"digest": ledger["digest"], "entries": len(winners), "installed": True, "late": []}
    for engine in bundle.recorded_engines:
        lines = [line for line in bundle.worker(engine) if line["kind"] in ("ready", "closed")]
        for line in lines:
            said = (line["describe"] if line["kind"] == "ready" else line).get("autotune")
            bundle.expect("records/%s/worker.jsonl %s autotune" % (engine, line["kind"]), said, wanted)


def check_tuning(bundle: Bundle) -> None:
    """A draw was made on this device with these packages, at the lengths of the protocol and of benchmarks, repeatedly."""
    ledger, environment = bundle.json(LEDGER), bundle.json("environment.json")
    lengths, repeats, origin = ledger["lengths"], ledger["repeats"], ledger["origin"]
    tuned = bool(ledger["winners"]) and bundle.profile["runtime"]["device"] == "cuda" and bool(bundle.recorded_engines)
    bundle.expect("%s lengths" % LEDGER, lengths, tuned_lengths(bundle) if tuned else [])
    bundle.expect("%s repeats lengths" % LEDGER, repeats["lengths"], len(lengths))
    bundle.expect("%s repeats calls" % LEDGER, repeats["calls"], CALLS)
    if len(ledger["seconds"]) != len(lengths) or not all(second >= 0 for second in ledger["seconds"]):
        bundle.fail("%s seconds" % LEDGER, "are %d, expected one of 0 or more for each length" % len(ledger["seconds"]))
    bundle.expect("%s heads" % LEDGER, ledger["heads"] is not None, tuned)
    if tuned:
        compare_heads(bundle, ledger)
    if ledger["source"] == "drawn":
        device = environment.get("device", {})
        bundle.expect("%s origin device" % LEDGER, origin["device"], device.get("name", device.get("kind")))
        for name, version in origin["versions"].items():
            wanted = environment.get("versions", {}).get(name)
            if version != wanted and (version or "").partition("+")[0] != wanted:
                message = "is %s, environment.json has %s"
                bundle.fail("%s origin versions %s" % (LEDGER, name), message % (short(version), short(wanted)))
        bundle.expect("%s origin versions" % LEDGER, sorted(origin["versions"]), sorted(TUNED_PACKAGES))


def compare_heads(bundle: Bundle, ledger: Json) -> None:
    """Sizes of the scan, which stand in the keys of what was chosen for it."""
    heads = ledger["heads"]
    bundle.expect("%s heads" % LEDGER, sorted(heads), sorted(HEADS))
    for name, wanted in heads_of_config(bundle).items():
        bundle.expect("%s heads %s, from base/config.json" % (LEDGER, name), heads.get(name), wanted)
    scans = [winner["key"] for winner in ledger["winners"] if winner["kernel"].startswith(SCANS)]
    for name in HEADS if scans else ():
        wanted = heads.get(name)
        if not any(wanted in [size for size in key if type(size) is int] for key in scans):
            bundle.fail("%s heads %s" % (LEDGER, name), "is %s, which no kernel of the scan was tuned for" % short(wanted))


def heads_of_config(bundle: Bundle) -> Json:
    """Sizes of the scan as the model's configuration has them, where that is among the packed sources."""
    digest = bundle.json("checkpoint.json")["files"].get("base/config.json") if bundle.exists("checkpoint.json") else None
    for name, data in bundle.sources().items():
        if name.endswith("/base/config.json") and sha256(data) == digest:
            text = parse_json(data, name)["text_config"]
            return {ours: text["linear_" + theirs] for ours, theirs in zip(HEADS, CONFIGURED)}
    return {}


def tuned_lengths(bundle: Bundle) -> List[int]:
    """Token counts of the protocol's questions in their order, each once, then those of benchmarks."""
    side = measured(bundle, bundle.recorded_engines[0])
    asked = [(case["id"], name) for case in bundle.corpus() for name in case["request"]["questions"]]
    counts = [side[request].lines[name]["tokens"] for request, name in asked]
    beyond = [length for length in BEYOND_PROTOCOL if length <= bundle.profile["limits"]["text_tokens"]]
    return list(OrderedDict.fromkeys([*counts, *beyond]))


def checked_winners(bundle: Bundle, where: str, ledger: Json) -> List[Json]:
    """The winners of a ledger, each kernel and key once, under the digest that names the draw."""
    winners: List[Json] = ledger["winners"]
    places = [(winner["kernel"], json.dumps(winner["key"])) for winner in winners]
    for kernel, key in sorted(place for place, count in Counter(places).items() if count > 1):
        bundle.fail(where, "has two winners of %s %s" % (kernel, key))
    for winner in winners:
        if not (isinstance(winner["key"], list) and isinstance(winner["config"], dict) and winner["config"]):
            bundle.fail(where, "says nothing of a configuration of %s" % short(winner["kernel"]))
    ordered = [winner for _, winner in sorted(zip(places, winners), key=lambda pair: pair[0])]
    bundle.expect("%s digest" % where, ledger["digest"], digest_of(ordered))
    return winners


def draw_of(bundle: Bundle) -> Any:
    """Which draw of the autotuner everything here belongs to; None where no kernel is autotuned or none is told."""
    try:
        ledger = bundle.json(LEDGER)
        found = {"source": ledger["source"], "digest": ledger["digest"], "winners": len(ledger["winners"])}
    except (UnreadableError, LookupError, TypeError):
        return None
    return found if found["winners"] else None
