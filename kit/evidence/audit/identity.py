"""Run, profile and protocol belong together, and the gates are the fixed ones."""

from __future__ import annotations

import json

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import GATES, Json
from kit.evidence.audit.values import sha256, short


def check_identity(bundle: Bundle) -> None:
    """run.json, profile and protocol belong together, and the gates are the fixed ones."""
    run, profile = bundle.json("run.json"), bundle.profile
    bundle.expect("run.json profile_sha256", run["profile_sha256"], sha256(bundle.read("profile.json")))
    bundle.expect("run.json profile", run["profile"], profile["name"])
    canonical = json.dumps(profile, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    if canonical.encode() != bundle.read("profile.json"):
        bundle.fail("profile.json", "is not in canonical form")
    bundle.expect("profile.json gates", profile["gates"], GATES)
    if profile["claim"] not in ("exact", "faithful", "baseline"):
        bundle.fail(
            "profile.json claim", "is %s, expected exact, faithful or baseline" % short(profile["claim"])
        )
    campaign = profile["campaign"]
    if campaign["reference"] not in ("", "reference"):
        bundle.fail(
            "profile.json reference", "is %s, which is not the official one" % short(campaign["reference"])
        )
    if bundle.exported and (campaign["reference"] or "reference" in campaign["engines"]):
        bundle.fail("profile.json reference", "ran from an export, which holds no whole head for it")
    raw = {"native", "graph"}.intersection(campaign["engines"])
    if profile["claim"] == "exact" and (
        not campaign["reference"] or not raw or "remote" in campaign["engines"] or campaign["passes"] < 2
    ):
        bundle.fail("profile.json claim", "is exact without both sides' rows over two passes to show it")
    digest = sha256(bundle.read(protocol_sums(bundle)))
    bundle.expect("run.json protocol_sha256", run["protocol_sha256"], digest)
    if profile["protocol"]["sha256"]:
        bundle.expect("profile.json protocol.sha256", profile["protocol"]["sha256"], digest)


def protocol_sums(bundle: Bundle) -> str:
    name = "protocol/SHA256SUMS"
    return name if bundle.exists(name) else "protocol/corpus.jsonl"


def check_profile_toml(bundle: Bundle) -> None:
    """The declared TOML says nothing else than the resolved profile."""
    try:
        import tomllib
    except ImportError:
        bundle.leave("profile.toml against profile.json (needs Python 3.11)")
        return
    try:
        declared = tomllib.loads(bundle.read("profile.toml").decode("utf-8"))
    except ValueError as error:
        bundle.fail("profile.toml", "is not TOML: %s" % error)
        return
    compare_declared(bundle, declared, bundle.profile, "profile.toml")


def compare_declared(bundle: Bundle, declared: Json, resolved: Json, where: str) -> None:
    for key, value in declared.items():
        at = "%s %s" % (where, key)
        if isinstance(value, dict) and isinstance(resolved.get(key), dict):
            compare_declared(bundle, value, resolved[key], at)
        elif resolved.get(key) != value:
            bundle.fail(at, "declares %s, profile.json has %s" % (short(value), short(resolved.get(key))))
