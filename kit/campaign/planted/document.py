"""faults.json (format kit-faults/1): every fault at every dose and every control, gate by gate, and the sums of it.

Covers: the document and its summary, which follows from the rows alone. Does not cover: running trials (`trials`),
or what people look at (`table`, `figure`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kit.campaign.oracle_errors import BOUND
from kit.campaign.planted.local import Z_BOUND
from kit.campaign.planted.tiers import COLUMNS, TIERS
from kit.campaign.planted.yardstick import APART
from kit.profile import Gates

if TYPE_CHECKING:
    from kit.campaign.planted.controls import Control
    from kit.campaign.planted.fault import Fault
    from kit.campaign.planted.trials import Trial

FORMAT = "kit-faults/1"
GATES = Gates()
MUST = ("bits", "truth")  # tiers that have to see every fault
RULES = {
    "bits": "status, token counts, hidden rows, label logits and answers equal the reference's, bit for bit",
    "steps": f"label logits, and those that probabilities imply, within {APART:g} times the reference's largest distance from the oracle",
    "rows": f"upper 95% bound of the mean error ratio against the oracle at most {BOUND}, text and images apart",
    "ops": f"each op, on its own inputs, no further from FP64 than the plain form: score at most {Z_BOUND:g}, no row {APART:g} times as far",
    "answers": "probabilities are the FP64 softmax of their logits at the declared temperature",
    "inputs": "tokens, positions and pixels are the contract's",
    "gates": f"probability {GATES.probability:g}, confidence {GATES.confidence:g}, noul {GATES.noul:g}, expected value "
    f"{GATES.expected_value:g}, winner from a margin of {GATES.winner_margin:g}, tokens, status, shape",
    "lattice": "logit differences that probabilities imply lie on one grid at the declared temperature",
    "repeats": "the same request, the same response but for latency_ms",
}


def dose_row(label: str, trial: Trial, second_look: Sequence[str] | None) -> dict[str, Any]:
    """One fault at one dose. second_look: requests beyond that the HTTP tier sees it on; None where nobody looked."""
    return {"dose": label, **_outcome(trial), "stage": trial.stage, "also_over_http": second_look}


def fault_row(fault: Fault, doses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One fault: its doses from mild to strong, and the first of them that each tier sees."""
    return {
        "name": fault.name,
        "place": fault.place,
        "summary": fault.summary,
        "doses": list(doses),
        "smallest": {tier: next((row["dose"] for row in doses if row["tiers"][tier]), None) for tier in TIERS},
        "seen": {tier: any(row["tiers"][tier] for row in doses) for tier in TIERS},
    }


def control_row(control: Control, trial: Trial) -> dict[str, Any]:
    """One control. asked: the tiers it must not be seen by; alarm: those that saw it."""
    asked = [tier for tier in TIERS if not (control.rounding and tier == "bits")]
    outcome = _outcome(trial)
    return {
        "name": control.name,
        "summary": control.summary,
        "rounding": control.rounding,
        **outcome,
        "asked": asked,
        "alarms": [tier for tier in asked if outcome["tiers"][tier]],
    }


def _outcome(trial: Trial) -> dict[str, Any]:
    findings = trial.findings
    return {
        "tiers": {tier: findings.tier(tier) for tier in TIERS},
        "columns": {
            name: {"count": column.count, "of": column.of, "worst": column.worst, "first": column.first}
            for name, column in findings.columns.items()
        },
        "op": None
        if trial.op is None
        else {"op": trial.op.op, "call": trial.op.place + 1, "score": trial.op.score if math.isfinite(trial.op.score) else None},
    }


def document(facts: Mapping[str, Any], faults: Sequence[Mapping[str, Any]], controls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole document. facts: profile, protocol, checkpoint, bounds, requests left out."""
    return {
        "format": FORMAT,
        **facts,
        "rules": RULES,
        "columns": list(COLUMNS),
        "faults": list(faults),
        "controls": list(controls),
        "summary": summarise(faults, controls),
    }


def summarise(faults: Sequence[Mapping[str, Any]], controls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What ends the command. caught: faults that both in-process tiers see at some dose; tiers: faults and doses each
    tier sees; missed: doses each tier does not see, by name."""
    doses = [(fault["name"], row) for fault in faults for row in fault["doses"]]
    return {
        "faults": len(faults),
        "caught": sum(all(fault["seen"][tier] for tier in MUST) for fault in faults),
        "controls": len(controls),
        "false_alarms": sum(bool(control["alarms"]) for control in controls),
        "doses": len(doses),
        "tiers": {
            tier: {
                "faults": sum(fault["seen"][tier] for fault in faults),
                "doses": sum(row["tiers"][tier] for _, row in doses),
                "false_alarms": sum(tier in control["alarms"] for control in controls),
            }
            for tier in TIERS
        },
        "missed": {tier: [named(name, row["dose"]) for name, row in doses if not row["tiers"][tier]] for tier in TIERS},
    }


def named(fault: str, dose: str) -> str:
    """A fault at a dose, in words."""
    return f"{fault} ({dose})" if dose else fault


def exit_code(summary: Mapping[str, Any]) -> int:
    """0 where every fault was caught and nothing harmless was; 1 otherwise; 2 where there was nothing to judge."""
    if not summary["faults"] and not summary["controls"]:
        return 2
    return int(summary["caught"] != summary["faults"] or bool(summary["false_alarms"]))
