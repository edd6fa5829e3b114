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
    faults, controls = document["faults"], document["controls"]
    names = [row["name"] for row in faults + controls]
    if len(set(names)) != len(names):
        bundle.fail("%s names" % FAULTS, "are not distinct")
    still = [control for control in controls if control["rounding"] is not True]
    for what, found, fewest in (("faults", faults, FEWEST_FAULTS), ("controls", still, FEWEST_CONTROLS)):
        if len(found) < fewest:
            bundle.fail("%s %s" % (FAULTS, what), "are %d, a table has at least %d" % (len(found), fewest))
    for fault in faults:
        judge_planted_fault(bundle, fault)
    for control in controls:
        judge_planted_control(bundle, control)
    summary = planted_summary(faults, controls)
    for name in sorted(set(document["summary"]) | set(summary)):
        bundle.expect("%s summary %s" % (FAULTS, name), document["summary"].get(name), summary.get(name))
    if summary["caught"] != len(faults):
        bundle.fail("%s caught" % FAULTS, "is %d of %d faults" % (summary["caught"], len(faults)))
    bundle.expect("%s false_alarms" % FAULTS, summary["false_alarms"], 0)


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
    tiers = planted_tiers(bundle, where, control)
    asked = [tier for tier in PLANTED_TIERS if not (control["rounding"] is True and tier == "bits")]
    bundle.expect("%s asked" % where, control["asked"], asked)
    bundle.expect("%s alarms" % where, control["alarms"], [tier for tier in asked if tiers[tier]])
    for column in ("bitwise", "gates", "lattice"):
        if not control["columns"][column]["of"]:
            bundle.fail("%s %s" % (where, column), "compares nothing")


def planted_tiers(bundle: Bundle, where: str, row: Json) -> Dict[str, bool]:
    """The tiers of a row, computed again from its columns."""
    columns = row["columns"]
    bundle.expect("%s columns" % where, list(columns), [name for names in PLANTED_TIERS.values() for name in names])
    for name, column in columns.items():
        counts = (column["count"], column["of"])
        if any(type(value) is not int for value in counts) or not 0 <= column["count"] <= column["of"]:
            bundle.fail("%s %s" % (where, name), "counts %s of %s" % (short(counts[0]), short(counts[1])))
        if column["worst"] is not None and not is_number(column["worst"]):
            bundle.fail("%s %s" % (where, name), "worst is %s" % short(column["worst"]))
        if bool(column["count"]) != bool(column["first"]):
            bundle.fail("%s %s" % (where, name), "names %s as the first of %s" % (short(column["first"]), short(counts[0])))
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
