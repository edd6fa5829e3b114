"""profile.json and run.json: another claim, gate, engine, protocol or cache than the one that was run; all re-sealed.

The re-sealer writes profile.toml anew and puts the digest right in run.json and every stage, so only what was really
recorded contradicts the profile.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from functools import partial

from kit.evidence.attack.deeds import assign, change, drop, write
from kit.evidence.attack.mutation import Deed, Mutation
from kit.evidence.attack.suspect import Content, Suspect
from kit.evidence.audit.rules import GATES, SLACK, STEP_SLACK

NAME = "profile.json"


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    made = partial(Mutation, "profile", sealing="resealed")
    profile = clean.json(NAME)
    for what, (deed, *files) in {**declared(), **run_with()}.items():
        if what == "judged by answers frozen for another" and profile["protocol"]["frozen"]:
            continue  # it was
        yield made(what, deed, (NAME, *files))
    for what, deed in in_steps(clean).items():
        yield made(what, deed, (NAME, "verdict.json"))
    for what, deed in {
        "another name in run.json": assign("run.json", "profile", to="jemm-27b"),
        "another digest in run.json": assign("run.json", "profile_sha256", to="0" * 64),
        "another protocol in run.json": assign("run.json", "protocol_sha256", to="0" * 64),
        "another id in run.json": assign("run.json", "id", to="another-run"),
        "another format of run.json": assign("run.json", "format", to="kit-run/9"),
        "no id in run.json": drop("run.json", "id"),
    }.items():
        yield made(what, deed, ("run.json", "records/"))
    toml = clean.read("profile.toml")
    for what, data in {
        "profile.toml that claims less": toml.replace(b'claim = "exact"', b'claim = "baseline"'),
        "profile.toml with a wider gate": toml + b"\n[gates]\nprobability = 0.05\n",
        "profile.toml that is no TOML": toml + b"\n[[[\n",
        "profile.toml with a key nobody knows": toml + b"\n[waived]\ngates = true\n",
        "profile.toml of another profile": toml.replace(b'name = "', b'name = "other-', 1),
    }.items():
        if data != toml:
            yield made(what, write("profile.toml", data), ("profile.toml",))
    yield made("profile.json not in its own form", indented, (NAME,))


def in_steps(clean: Content) -> dict[str, Deed]:
    """Another number of steps that frozen answers may be off: no number, or one that the records of this run exceed.

    A larger one contradicts nothing in the bundle (`consistent`).
    """
    rows = [row for row in clean.json("drift.json")["rows"] if "room" in row]
    if not rows:
        return {}
    place = (NAME, "protocol", "frozen_steps")
    deeds: dict[str, Deed] = {
        "fewer than no steps off the frozen answers": assign(*place, to=-1),
        "half a step off the frozen answers": assign(*place, to=0.5),
        "steps off the frozen answers in words": assign(*place, to="few"),
        "frozen answers in steps under a claim that is not about bits": assign(NAME, "claim", to="faithful"),
    }
    fewer = math.ceil(max(row["max_steps"] for row in rows) - STEP_SLACK) - 1
    if fewer > 0:
        deeds["fewer steps than the frozen answers are off"] = assign(*place, to=fewer)
    if any(row["probability_drift"] > GATES["probability"] + SLACK for row in rows if not row["room"]):
        deeds["no steps off the frozen answers"] = assign(*place, to=0)
        deeds["steps off the frozen answers not declared"] = drop(*place)
    return deeds


def indented(suspect: Suspect) -> None:
    suspect.write(NAME, json.dumps(suspect.json(NAME), indent=1).encode())


def declared() -> dict[str, tuple[Deed, *tuple[str, ...]]]:
    """Declarations that the kit fixes, or that contradict each other."""
    found: dict[str, tuple[Deed, *tuple[str, ...]]] = {
        f"the gate {gate} widened": (change(NAME, "gates", gate, by=lambda bound: bound * 2),)
        for gate in ("probability", "confidence", "noul", "expected_value", "winner_margin")
    }
    return found | {
        "a gate left out": (drop(NAME, "gates", "noul"),),
        "a gate nobody knows": (assign(NAME, "gates", "waived", to=1.0),),
        "a claim nobody knows": (assign(NAME, "claim", to="certified"),),
        "one pass": (assign(NAME, "campaign", "passes", to=1), "records/"),
        "three passes": (assign(NAME, "campaign", "passes", to=3), "records/"),
        "no passes": (assign(NAME, "campaign", "passes", to=0),),
        "no reference": (assign(NAME, "campaign", "reference", to=""), "verdict.json"),
        "native for its own reference": (assign(NAME, "campaign", "reference", to="native"),),
        "no engines": (assign(NAME, "campaign", "engines", to=[]),),
        "an engine nobody knows": (assign(NAME, "campaign", "engines", to=["reference", "fast"]),),
        "an engine twice": (assign(NAME, "campaign", "engines", to=["reference", "native", "native"]),),
        "another format": (assign(NAME, "format", to="kit-profile/9"),),
        "no campaign": (drop(NAME, "campaign"),),
        "no scope": (drop(NAME, "scope"), "verdict.json"),
    }


def run_with() -> dict[str, tuple[Deed, *tuple[str, ...]]]:
    """Settings that records, engines or the environment contradict."""
    other = {"cpu": "cuda", "cuda": "cpu"}
    return {
        "without the graph engine": (assign(NAME, "campaign", "engines", to=["reference", "native"]), "records/graph"),
        "without the native engine": (assign(NAME, "campaign", "engines", to=["reference", "graph"]), "records/native"),
        "without a frontend": (assign(NAME, "campaign", "frontend", to=False), "records/graph"),
        "with a remote engine": (change(NAME, "campaign", "engines", by=lambda e: [*e, "remote"]), "records/remote"),
        "on another device": (change(NAME, "runtime", "device", by=lambda d: other[d]), "device.json"),
        "in another dtype": (assign(NAME, "runtime", "dtype", to="float32"), "records/"),
        "in a dtype nobody knows": (assign(NAME, "runtime", "dtype", to="fp4"), "records/"),
        "with other numerics": (assign(NAME, "runtime", "numerics", to="fused"), "records/"),
        "with more threads": (assign(NAME, "runtime", "threads", to=64), "environment.json", "records/"),
        "with another policy": (change(NAME, "graph", "policy", by=lambda p: "fifo" if p == "lru" else "lru"), "records/graph"),
        "with a cache of one text": (assign(NAME, "graph", "text", "entries", to=1), "records/graph"),
        "with no cache of images": (assign(NAME, "graph", "vision", "entries", to=0), "records/graph"),
        "with more scratch": (change(NAME, "graph", "scratch_tokens", by=lambda n: n * 64), "records/graph"),
        "on other weights": (assign(NAME, "checkpoint", "digest", to="9" * 64), "checkpoint.json"),
        "from another seed": (change(NAME, "checkpoint", "seed", by=lambda n: n + 1), "checkpoint.json"),
        "on downloaded weights": (assign(NAME, "checkpoint", "kind", to="export"), "checkpoint.json", "operators.json"),
        "under another model's name": (assign(NAME, "model", "name", to="OTHER"), "records/"),
        "with another protocol": (assign(NAME, "protocol", "sha256", to="0" * 64),),
        "judged by other frozen answers": (assign(NAME, "protocol", "answers", to="reference-other.json"), "protocol/"),
        "judged by answers frozen for another": (assign(NAME, "protocol", "frozen", to=True), "verdict.json", "drift.json"),
        "with fewer tokens allowed": (assign(NAME, "limits", "text_tokens", to=8), "records/"),
    }  # fmt: skip
