"""diagnosis.json in a run: written by the evidence stage when a gate about an engine failed, and only then.

Covers: which engines it is about, what stands there when the reference cannot be loaded here, the lines for people.
Does not cover: the comparison (`running`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.diagnosis import candidates
from kit.campaign.diagnosis.candidates import AnswersError
from kit.campaign.diagnosis.document import not_made
from kit.campaign.diagnosis.running import diagnose
from kit.campaign.reading import read_json, read_run
from kit.evidence import privacy

if TYPE_CHECKING:
    from kit.campaign.stage import Stage

FILE = "diagnosis.json"
WRONG = "accuracy"  # the gate about right answers: an engine that is wrong as the reference is has nothing to explain


def diagnose_stage(stage: Stage, verdict: Mapping[str, Any]) -> list[str]:
    """Write diagnosis.json where a gate about an engine failed; the sentences of it, none where no gate did.

    It never fails the stage: a reference that cannot be loaded here is said in the document.
    """
    engines = failed_engines(verdict, stage.run.profile.campaign.reference)
    if not engines:
        if not stage.finished:
            (stage.path / FILE).unlink(missing_ok=True)  # of an earlier try
        return []
    stage.once(FILE, lambda: _made(stage, engines))
    return sentences(stage.path)


def failed_engines(verdict: Mapping[str, Any], reference: str) -> list[str]:
    """Engines, but the reference, with a failed gate that tells them from the reference; in the order of the gates."""
    failed = [gate for gate in verdict["gates"] if not gate["passed"] and gate["gate"] != WRONG]
    found = [gate["engine"] for gate in failed if gate["engine"]]
    return [name for name in dict.fromkeys(found) if name != reference]


def sentences(run_dir: Path) -> list[str]:
    """What diagnosis.json of a run says; nothing where there is none."""
    if not (run_dir / FILE).exists():
        return []
    made = read_json(run_dir / FILE)
    if not made.get("made"):
        return [f"no diagnosis: {made.get('reason')}"]
    return [str(entry["words"]) for entry in made["engines"].values()]


def _made(stage: Stage, engines: list[str]) -> dict[str, Any]:
    run = read_run(stage.path)
    try:
        found = [*candidates.of_run(run, [name for name in engines if name in run.engines])]
        if not found:
            return not_made("no engine with a failed gate left answers")
        stage.configure()
        return diagnose(stage.run.profile, run.protocol.cases, found)
    except AnswersError as error:
        return not_made(str(error))
    except (RuntimeError, ValueError, OSError, ImportError) as error:  # whatever keeps a reference from loading
        return not_made(privacy.scrub(f"the reference cannot be run here: {type(error).__name__}: {error}")[:400])
