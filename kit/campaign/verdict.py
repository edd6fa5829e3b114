"""The verdict of a run: every gate's outcome, the counts, and what the claim covers and does not.

Covers: verdict.json from a run folder. Does not cover: the second, independent computation of the same from
the same records (`kit.evidence.audit`), which alone decides whether a bundle passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kit.campaign.accuracy import headline
from kit.campaign.drift import comparisons, drift_of
from kit.campaign.gates import Gate, accuracy_gates, drift_gates
from kit.campaign.generated.gates import generated_gates
from kit.campaign.integrity import campaign_counts, integrity_gates
from kit.campaign.reading import RunRecords, read_run

FORMAT = "kit-verdict/1"
FROZEN_ONLY = "judged against the answers frozen with the protocol alone: no reference engine was run"
FIGURES = {
    "probability": "probability_drift",
    "confidence": "confidence_drift",
    "noul": "noul_drift",
    "expected_value": "expected_drift",
}


def compute_verdict(run_dir: str | Path) -> dict[str, Any]:
    """verdict.json of a run folder that has run.json, profile.json, protocol/ and records/.

    operators.json and sources.json are read where the claim needs them; without them their gates fail.
    Raises RecordsError where records contradict themselves.
    """
    run = read_run(run_dir)
    return verdict_of(run, drift_of(run))


def verdict_of(run: RunRecords, drift: dict[str, Any]) -> dict[str, Any]:
    """verdict.json of records and drift already read."""
    gates = [
        *drift_gates(run, drift), *accuracy_gates(run, drift), *integrity_gates(run), *generated_gates(run), *_claim_gates(run),
    ]  # fmt: skip
    failures = list(dict.fromkeys(gate.gate for gate in gates if not gate.passed))
    pairs = comparisons(run)
    if not pairs:
        failures.append("comparisons")  # nothing was compared, so nothing is shown
    profile = run.profile
    frozen_only = not profile.campaign.reference
    right = headline(profile.campaign.engines, drift.get("accuracy"))
    return {
        "format": FORMAT,
        "verdict": "fail" if failures else "pass",
        "profile": profile.name,
        "claim": profile.claim,
        "run": run.facts["id"],
        "scope": f"{profile.scope}; {FROZEN_ONLY}" if frozen_only else profile.scope,
        "not_covered": list(profile.not_covered),
        "counts": campaign_counts(run),
        "against": [kind for kind in ("fresh", "frozen") if any(against == kind for _, against in pairs)],
        "max_probability_drift": _headline(drift["worst"]),
        "drift": {
            pair: {name: worst[key] for name, key in FIGURES.items()} for pair, worst in drift["worst"].items()
        },
        **({} if right is None else {"accuracy": right}),
        "gates": [gate.to_json() for gate in gates],
        "failures": failures,
    }


def _headline(worst: dict[str, dict[str, float | None]]) -> float | None:
    """The largest probability drift: of fresh comparisons where there are any, else of the frozen ones."""
    for kind in ("fresh", "frozen"):
        values = [w["probability_drift"] for pair, w in worst.items() if pair.endswith(f"/{kind}")]
        present = [value for value in values if value is not None]
        if present:
            return max(present)
    return None


def _claim_gates(run: RunRecords) -> Iterator[Gate]:
    """A claim this campaign leaves no evidence for cannot pass by having no gate."""
    if run.profile.claim == "faithful" and not run.profile.generated.questions:
        detail = "claim 'faithful' is shown against the oracle on generated questions, and this profile has none"
        yield Gate("oracle", None, None, False, None, 0, detail)
