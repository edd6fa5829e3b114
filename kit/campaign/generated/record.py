"""Stage 08_generated as its notebook sees it: do the work, read it back, say what came of it.

Covers: generated.json of a run (with its lines and layers.json), the lines and temperatures figures are drawn from,
and the facts of the verdict cell, which hold nothing that depends on the machine. Does not cover: measuring (`session`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kit.campaign.generated import lines
from kit.campaign.generated.gates import generated_gates
from kit.campaign.generated.lines import Line
from kit.campaign.reading import declared_temperatures, read_run

if TYPE_CHECKING:
    from kit.campaign.gates import Gate
    from kit.campaign.stage import Stage


def generated(stage: Stage, *, budget_s: float) -> dict[str, Any]:
    """generated.json of the run, its lines and layers.json written beside it. budget_s: see `session.measure`."""
    stage.configure()
    from kit.campaign.generated import session

    return session.measure(stage.run.profile, stage.path, budget_s)


def answers(stage: Stage) -> tuple[list[Line], dict[str, float]]:
    """The run's lines, and temperature by modality."""
    return lines.read(stage.path / lines.FILE), declared_temperatures(stage.path)


def outcome(stage: Stage, document: Mapping[str, Any]) -> tuple[dict[str, object], bool]:
    """Facts for the verdict cell, and whether every gate of this stage passed."""
    return facts_of(document, list(generated_gates(read_run(stage.path))))


def facts_of(document: Mapping[str, Any], gates: Sequence[Gate]) -> tuple[dict[str, object], bool]:
    """`outcome` of generated.json and the gates."""
    every, oracle, labels = document["all"], document["oracle"], document["labels"]
    right: dict[str, object] = {
        "right answers of the reference": labels["reference_right"],
        "right answers of the candidate": labels["candidate_right"],
        "calibration error of the candidate": document["reliability"]["candidate"]["ece"],
    } if "reliability" in document else {}  # fmt: skip
    facts: dict[str, object] = {
        "questions declared": document["declared"],
        "questions answered by both sides": document["reached"],
        "contents": every["contents"],
        "hidden rows that differ": every["hidden_different"],
        "logit rows that differ": every["logits_different"],
        "changed winners": every["flips"],
        "flip rate is under (95%)": every["flip_rate_upper"],
        "largest KL divergence": every["kl"]["max"],
        **right,
        "questions put to the oracle": oracle["questions"] if oracle else 0,
        "error ratio is under (95%)": oracle["hidden"]["ratio"]["upper"] if oracle else "none",
        "gates that failed": ", ".join(gate.gate for gate in gates if not gate.passed) or "none",
    }
    return facts, bool(gates) and all(gate.passed for gate in gates)
