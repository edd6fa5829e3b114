"""Planted faults and harmless changes, where a run holds such a table."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import FAULTS, Json
from kit.evidence.audit.values import digest_of, is_number, short

PLANTED_TIERS: Dict[str, Tuple[str, ...]] = {
    "bits": ("bitwise",),
    "truth": ("steps", "rows", "ops", "answers", "inputs"),
    "http": ("gates", "lattice", "repeats"),
}
PLANTED_MUST = ("bits", "truth")  # tiers that have to see every fault
FEWEST_FAULTS = FEWEST_CONTROLS = 24
PLANTED_KEYS = {
    "format", "profile", "profile_sha256", "protocol_sha256", "sources_sha256", "checkpoint_digest", "steps_bound", "left_out",
    "quick", "seconds", "rules", "columns", "faults", "controls", "summary",
}  # fmt: skip
PLANTED_RULES = {
    "bits": "status, token counts, hidden rows, label logits and answers equal the reference's, bit for bit",
    "steps": "label logits, and those that probabilities imply, within 2 times the reference's largest distance from the oracle",
    "rows": "upper 95% bound of the mean error ratio against the oracle at most 1.1, text and images apart",
    "ops": "each op, on its own inputs, no further from FP64 than the plain form: score at most 6, no row 2 times as far",
    "answers": "probabilities are the FP64 softmax of their logits at the declared temperature",
    "inputs": "tokens, positions and pixels are the contract's",
    "gates": "probability 0.02, confidence 0.02, noul 0.02, expected value 0.1, winner from a margin of 0.05, tokens, status, shape",
    "lattice": "logit differences that probabilities imply lie on one grid at the declared temperature",
    "repeats": "the same request, the same response but for latency_ms",
}


def check_planted(bundle: Bundle) -> None:
    """Where faults were planted: of this run, enough of them, sums that follow, all caught, and nothing harmless seen."""
    if not bundle.exists(FAULTS):
        return
    document, run = bundle.json(FAULTS), bundle.json("run.json")
    for name in ("profile_sha256", "protocol_sha256"):
        bundle.expect("%s %s" % (FAULTS, name), document[name], run[name])
    bundle.expect("%s sources_sha256" % FAULTS, document["sources_sha256"], digest_of(bundle.json("sources.json")["before"]))
    bundle.expect("%s checkpoint_digest" % FAULTS, document["checkpoint_digest"], bundle.json("checkpoint.json")["digest"])
    bundle.expect("%s quick" % FAULTS, document["quick"], False)
    judge_planted_terms(bundle, document)
    faults, controls = document["faults"], document["controls"]
    names = [row["name"] for row in faults + controls]
    if len(set(names)) != len(names):
        bundle.fail("%s names" % FAULTS, "are not distinct")
    still = [control for control in controls if control["rounding"] is not True]
    for what, found, fewest in (("faults", faults, FEWEST_FAULTS), ("controls", still, FEWEST_CONTROLS)):
        if len(found) < fewest:
            bundle.fail("%s %s" % (FAULTS, what), "are %d, expected at least %d" % (len(found), fewest))
    for fault in faults:
        judge_planted_fault(bundle, fault)
    for control in controls:
        judge_planted_control(bundle, control)
    summary = planted_summary(faults, controls)
    for name in sorted(set(document["summary"]) | set(summary)):
        bundle.expect("%s summary %s" % (FAULTS, name), document["summary"].get(name), summary.get(name))
    if summary["caught"] != len(faults):
        bundle.fail("%s caught" % FAULTS, "is %d, expected all %d faults" % (summary["caught"], len(faults)))
    bundle.expect("%s false_alarms" % FAULTS, summary["false_alarms"], 0)


def judge_planted_terms(bundle: Bundle, document: Json) -> None:
    """What the columns mean, and what was left out: requests of this protocol."""
    bundle.expect("%s keys" % FAULTS, sorted(document), sorted(PLANTED_KEYS))
    bundle.expect("%s profile" % FAULTS, document["profile"], bundle.profile["name"])
    bundle.expect("%s columns" % FAULTS, document["columns"], [name for names in PLANTED_TIERS.values() for name in names])
    for name in sorted(set(document["rules"]) | set(PLANTED_RULES)):
        bundle.expect("%s rule %s" % (FAULTS, short(name)), document["rules"].get(name), PLANTED_RULES.get(name))
    strange = [name for name in document["left_out"] if name not in {case["id"] for case in bundle.corpus()}]
    if strange or len(set(document["left_out"])) != len(document["left_out"]):
        bundle.fail("%s left_out" % FAULTS, "has %s, expected requests of the protocol, once each" % short(strange))
    bound = document["steps_bound"]
    if not all(is_number(value) and value > 0 for value in bound.values()) or not is_number(document["seconds"]):
        bundle.fail("%s steps_bound" % FAULTS, "is %s in %s s, expected numbers over 0" % (short(bound), short(document["seconds"])))


def judge_planted_fault(bundle: Bundle, fault: Json) -> None:
    """Tiers follow from the counts, and what is said of all doses from the tiers."""
    where = "%s fault %s" % (FAULTS, short(fault["name"]))
    doses = fault["doses"]
    if not doses or len({row["dose"] for row in doses}) != len(doses):
        bundle.fail(where, "has no doses, or one twice")
    for row in doses:
        tiers = planted_tiers(bundle, "%s dose %s" % (where, short(row["dose"])), row)
        if tiers["http"] and row["also_over_http"] is not None:
            bundle.fail("%s dose %s" % (where, short(row["dose"])), "was looked at a second time although HTTP saw it")
    bundle.expect("%s seen" % where, fault["seen"], {t: any(row["tiers"][t] for row in doses) for t in PLANTED_TIERS})
    first = {t: next((row["dose"] for row in doses if row["tiers"][t]), None) for t in PLANTED_TIERS}
    bundle.expect("%s smallest" % where, fault["smallest"], first)


def judge_planted_control(bundle: Bundle, control: Json) -> None:
    """Every tier was asked, but for bits where rounding changes, and what saw it is an alarm."""
    where = "%s control %s" % (FAULTS, short(control["name"]))
    if not isinstance(control["rounding"], bool):
        bundle.fail("%s rounding" % where, "is %s, expected true or false" % short(control["rounding"]))
    tiers = planted_tiers(bundle, where, control)
    asked = [tier for tier in PLANTED_TIERS if not (control["rounding"] is True and tier == "bits")]
    bundle.expect("%s asked" % where, control["asked"], asked)
    bundle.expect("%s alarms" % where, control["alarms"], [tier for tier in asked if tiers[tier]])
    for column in ("bitwise", "gates", "lattice"):
        if not control["columns"][column]["of"]:
            bundle.fail("%s %s" % (where, column), "compares nothing, expected at least one")


def planted_tiers(bundle: Bundle, where: str, row: Json) -> Dict[str, bool]:
    """The tiers of a row, computed again from its columns."""
    columns = row["columns"]
    bundle.expect("%s columns" % where, list(columns), [name for names in PLANTED_TIERS.values() for name in names])
    for name, column in columns.items():
        counts = (column["count"], column["of"])
        if any(type(value) is not int for value in counts) or not 0 <= column["count"] <= column["of"]:
            bundle.fail("%s %s" % (where, name), "counts %s, expected a whole number up to %s" % (short(counts[0]), short(counts[1])))
        if column["worst"] is not None and not is_number(column["worst"]):
            bundle.fail("%s %s" % (where, name), "worst is %s, expected a number" % short(column["worst"]))
        if bool(column["count"]) != bool(column["first"]):
            bundle.fail("%s %s" % (where, name), "names %s as the first of %s, expected one only of some" % (short(column["first"]), short(counts[0])))
    tiers = {tier: any(columns[name]["count"] for name in names) for tier, names in PLANTED_TIERS.items()}
    bundle.expect("%s tiers" % where, row["tiers"], tiers)
    return tiers


def planted_summary(faults: Sequence[Json], controls: Sequence[Json]) -> Json:
    """What the table must say it comes to."""
    doses: List[Tuple[str, Json]] = [(fault["name"], row) for fault in faults for row in fault["doses"]]
    return {
        "faults": len(faults),
        "caught": sum(all(fault["seen"][tier] for tier in PLANTED_MUST) for fault in faults),
        "controls": len(controls),
        "false_alarms": sum(bool(control["alarms"]) for control in controls),
        "doses": len(doses),
        "tiers": {
            tier: {
                "faults": sum(fault["seen"][tier] for fault in faults),
                "doses": sum(row["tiers"][tier] for _, row in doses),
                "false_alarms": sum(tier in control["alarms"] for control in controls),
            }
            for tier in PLANTED_TIERS
        },
        "missed": {
            tier: [
                "%s (%s)" % (name, row["dose"]) if row["dose"] else name
                for name, row in doses
                if not row["tiers"][tier]
            ]
            for tier in PLANTED_TIERS
        },
    }  # fmt: skip
