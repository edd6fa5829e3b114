"""Every op against the reference's own, and the kernels' proofs."""

from __future__ import annotations

import ast
from typing import List, Sequence

from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import Json

# Compared with the reference though they are no ops of the table; the two tables are made outside graphs.
BESIDES = ("text_rotary", "vision_rotary_tables", "label_head")
NOT_IN_GRAPHS = ("text_rotary", "vision_rotary_tables")
MISSES = ("different", "nan", "changed_different", "replay_different", "repeats_different")
REPEATS = {"cuda": 20, "cpu": 2}  # runs of each op on the same inputs, at least
# What a device must show: rows of the result, and in which layouts of the values.
NAMED_SIZES = (
    ("delta_rule", (63, 278, 475), ("recorded", "strided v")),
    ("causal_attention", (63, 278, 475), ("recorded", "strided v")),
    ("rms_norm", (1, 278), ("recorded",)),
    ("packed_attention", (256, 512), ("strided v", "contiguous v")),
    ("patch_embed", (256,), ("recorded",)),
)


def check_operators(bundle: Bundle) -> None:
    """Every op of the packed table was compared with the reference's own; an exact claim allows no difference."""
    if not bundle.operators:
        if bundle.native:
            bundle.leave("operators (an export has no reference to compare with)")
        return
    document = bundle.json("operators.json")
    ops, checks = document["ops"], document["checks"]
    if not checks or not ops:
        bundle.fail("operators.json", "compares nothing")
    compared, wanted = {check["op"] for check in checks}, set(ops) | set(BESIDES)
    for op in sorted(wanted - compared):
        bundle.fail("operators.json %s" % op, "was not compared")
    for op in sorted(compared - wanted):
        bundle.fail("operators.json %s" % op, "is neither an op nor known beside them")
    table = ops_of_table(bundle)
    if table is None:
        bundle.leave(
            "operators.json against the op table (kit/kernels/table.py is not in the packed sources)"
        )
    else:
        bundle.expect("operators.json ops", sorted(ops), sorted(table))
    for name in ("device", "dtype"):
        bundle.expect("operators.json %s" % name, document[name], bundle.profile["runtime"][name])
    for check in checks:
        operator_faults(bundle, check, document["device"])
    sums = {name: sum(check[name] for check in checks) for name in ("elements", *MISSES)}
    bundle.expect("operators.json totals", document["totals"], dict(sums, checks=len(checks)))
    if document["device"] == "cuda":
        named_sizes(bundle, checks)


def operator_faults(bundle: Bundle, check: Json, device: str) -> None:
    """What one line of the comparison shows or fails to show."""
    where = "operators.json %s %s" % (check["op"], check["shape"])
    if not (isinstance(check["elements"], int) and check["elements"] > 0):
        bundle.fail(where, "compares no element")
    if any(type(check[name]) is not int or check[name] < 0 for name in MISSES):
        bundle.fail(where, "a count is no count")
    elif check["nan"] or (bundle.profile["claim"] == "exact" and any(check[name] for name in MISSES)):
        counts = ", ".join("%s %s" % (name, check[name]) for name in MISSES if check[name])
        bundle.fail(where, "%s of %s elements, expected none" % (counts, check["elements"]))
    if not check["different"] and (check["max_abs"] or check["relative_l2"]):
        bundle.fail(where, "no element differs, yet by up to %s" % check["max_abs"])
    if check["op"] not in NOT_IN_GRAPHS and not check["replays"] > 0:
        bundle.fail(where, "was never replayed from a graph")
    least = REPEATS.get(device, max(REPEATS.values()))
    if not check["repeats"] >= least:
        bundle.fail(where, "was run %s times, expected %d" % (check["repeats"], least))


def named_sizes(bundle: Bundle, checks: Sequence[Json]) -> None:
    """The sizes that the earlier engine's operators were checked at, so that the two can be read side by side."""
    shown = {(check["op"], check["variant"], check["shape"].split("]")[0]) for check in checks}
    hidden = bundle.json("checkpoint.json")["label_head"]["shape"][1]
    for op, rows, variants in NAMED_SIZES:
        for size in rows:
            first = "[%d, " % size + (str(hidden) if op == "rms_norm" else "")
            for variant in variants:
                if not any(key[:2] == (op, variant) and key[2].startswith(first) for key in shown):
                    bundle.fail(
                        "operators.json %s" % op, "was not compared at %d rows (%s)" % (size, variant)
                    )


def ops_of_table(bundle: Bundle) -> List[str] | None:
    """Names of the ops that the packed source of the op table declares: its fields that can be called."""
    source = bundle.sources().get("kit/kernels/table.py")
    if source is None:
        return None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == "Ops":
            fields = [item for item in node.body if isinstance(item, ast.AnnAssign)]
            ops = [field.target for field in fields if "Callable" in ast.dump(field.annotation)]
            return [op.id for op in ops if isinstance(op, ast.Name)]
    return []
