"""What happens inside: layers, planted faults, operators, and how far input moves these weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.evidence.report.html import Cell, Raw, Section, details, listed, mark, number, paragraph, table
from kit.evidence.report.reading import RunFiles

TIERS = {"bits": "bitwise", "truth": "oracle and steps", "http": "probabilities over HTTP"}


def layers(run: RunFiles) -> Section | None:
    """Each pair of engines: the first stage over its bound, the largest relative error, where it is."""
    document = run.json("layers.json")
    if not document:
        return None
    rows: list[tuple[Cell, ...]] = []
    for pair in document["pairs"]:
        worst = {stage: value for stage, value in pair["worst"].items() if value is not None}
        stage = max(worst, key=lambda name: worst[name]) if worst else None
        first = next((prompt["first_over"] for prompt in pair["prompts"] if prompt["first_over"]), None)
        rows.append(
            (
                f"{pair['engine']} against {pair['against']}", len(pair["prompts"]), len(pair["worst"]), first or "none", pair["over"],
                worst.get(stage) if stage else None, stage, worst.get("hidden"), f"{pair['bound']}: {pair['reason']}",
            )
        )  # fmt: skip
    body = table(
        "Every stage of a few prompts, walked through two engines",
        ("pair", "prompts", "stages", "first over its bound", "over", "largest relative error", "at", "final row", "bound"),
        rows,
    )
    body += "".join(_ratios(engine, stages) for engine, stages in document.get("oracle_ratio", {}).items())
    return Section("layers", "Layers", body)


def _ratios(engine: str, stages: Mapping[str, float | None]) -> str:
    found = [(name, value) for name, value in stages.items() if value is not None]
    if not found:
        return ""
    states = [(name, value) for name, value in found if name.endswith(".state")]
    last = dict(found).get("hidden")
    text = (
        f"{engine}: error against the oracle over the reference's, stage by stage: {number(min(v for _, v in found))} to "
        f"{number(max(v for _, v in found))}"
    )
    text += f", final row {number(last)}" if last is not None else ""
    if states:
        low, high = min(v for _, v in states), max(v for _, v in states)
        text += f", recurrent states {number(low)} to {number(high)}"
    return paragraph(text + ".") + details(
        f"All {len(found)} stages of {engine}", table(f"{engine}: ratio of errors", ("stage", "ratio"), found)
    )


def faults(run: RunFiles) -> Section | None:
    """Which planted faults each tier of gates sees, from which dose, and what was flagged without reason."""
    document = run.json("records/faults.json")
    if not document:
        return None
    total = document["summary"]
    body = paragraph(
        f"{number(total['caught'])} of {number(total['faults'])} planted faults are seen by both tiers that look inside; "
        f"{number(total['false_alarms'])} of {number(total['controls'])} harmless changes were flagged."
    )
    tiers = list(total["tiers"])
    body += table(
        "What each tier sees",
        ("tier", "faults", "doses", "false alarms"),
        [
            (TIERS.get(tier, tier), f"{found['faults']} of {total['faults']}", f"{found['doses']} of {total['doses']}", found["false_alarms"])
            for tier, found in total["tiers"].items()
        ],
    )
    body += table(
        "Planted faults: the mildest dose that each tier sees",
        ("fault", "what", "doses", *(TIERS.get(tier, tier) for tier in tiers), "first stage"),
        [_fault(fault, tiers) for fault in document["faults"]],
    )
    for tier in tiers:
        missed = total["missed"][tier]
        if missed:
            body += f"<h3>Not seen: {TIERS.get(tier, 'this tier')}</h3>" + listed(missed)
    body += details(
        f"{len(document['controls'])} harmless changes",
        table(
            "Harmless changes: none may be seen",
            ("control", "what changes", "outcome"),
            [(c["name"], c["summary"], mark(not c["alarms"], "quiet" if not c["alarms"] else "ALARM")) for c in document["controls"]],
        ),
    )
    return Section("faults", "Planted faults and harmless changes", body)


def _fault(fault: Mapping[str, Any], tiers: list[str]) -> tuple[Cell | Raw, ...]:
    stages = dict.fromkeys(dose["stage"] for dose in fault["doses"] if dose.get("stage"))
    doses = "; ".join(dose["dose"] for dose in fault["doses"] if dose["dose"])
    seen = (_seen(tier, bool(fault["seen"][tier]), fault["smallest"][tier]) for tier in tiers)
    return fault["name"], fault["summary"], doses or "one", *seen, ", ".join(stages) or None


def _seen(tier: str, seen: bool, smallest: str | None) -> Raw:
    """Probabilities alone may miss a fault; the tiers that look inside may not."""
    if seen or tier != "http":
        return mark(seen, smallest or "seen" if seen else "NOT SEEN")
    return Raw('<span class="quiet">not seen</span>')


def operators(run: RunFiles) -> Section | None:
    """Every op against the reference's own module, op by op."""
    document = run.json("operators.json")
    if not document:
        return None
    total = document["totals"]
    missed = ("different", "nan", "changed_different", "replay_different", "repeats_different")
    body = paragraph(
        f"{number(total['checks'])} checks on {number(total['elements'])} elements: {number(total['different'])} differ from the reference's own "
        f"modules, {number(total['nan'])} are not numbers, {number(total['changed_different'])} differ on changed inputs, "
        f"{number(total['replay_different'])} on replay, {number(total['repeats_different'])} on repetition."
    )
    by_op: dict[str, list[Mapping[str, Any]]] = {}
    for check in document["checks"]:
        by_op.setdefault(str(check["op"]), []).append(check)
    rows = [
        (op, len(checks), sum(c["elements"] for c in checks), *(sum(c[name] for c in checks) for name in missed))
        for op, checks in by_op.items()
    ]
    body += details(
        f"{len(rows)} ops",
        table(
            f"Ops of the native model on {document.get('device')}, {document.get('dtype')}",
            ("op", "checks", "elements", "differ", "not a number", "changed input", "replay", "repeat"),
            rows,
            failed=[any(row[3:]) for row in rows],
        ),
    )
    choices: dict[str, int] = {}
    for proof in document.get("proofs") or []:
        choices[str(proof["choice"])] = choices.get(str(proof["choice"]), 0) + 1
    if choices:
        told = ", ".join(f"{count} times the {choice}" for choice, count in choices.items())
        body += paragraph(f"Kernel or plain form, decided by comparing bits on first sight of a shape: {told}.")
    return Section("operators", "Operators", body)


def signal(run: RunFiles) -> Section | None:
    """How far other input moves the reference, against how far rounding alone does."""
    document = run.json("signal.json")
    if not document:
        return None
    summary = document["summary"]
    names = {"floor": document.get("floor"), "swap": "two words swapped", "adapter": "adapter switched off", "image": "another image"}
    rows = [
        (
            names[name], summary[name]["row_median"], summary[name]["steps_mean"], summary["ratio"].get(name, {}).get("row"),
            summary["ratio"].get(name, {}).get("steps"),
        )
        for name in names
        if name in summary
    ]  # fmt: skip
    body = table(
        f"Reference on these weights, {summary['questions']} questions: what moves the final row and the logits",
        ("change", "row, relative (median)", "BF16 steps (mean)", "row, times rounding", "steps, times rounding"),
        rows,
    )
    return Section("signal", "Signal against rounding", body)
