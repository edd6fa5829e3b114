"""One draw of kernel configurations for every engine."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, List

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import LEDGER, Json, UnreadableError
from kit.evidence.audit.values import digest_of, short


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
