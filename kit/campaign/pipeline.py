"""`kit run`: every stage's notebook in order, then seal, audit, and one JSON line.

Covers: new and resumed runs, how to go on after Ctrl-C, stopping at the first failed stage, packaging failures as
failures, and the outcome (0 pass, 1 a gate failed, 2 could not judge). The audit alone says pass.
Does not cover: what happens inside a stage (its notebook and the modules it calls).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import runtime
from kit.campaign import notebook, tune
from kit.campaign.diagnosis import evidence as diagnosis
from kit.campaign.progress import Progress
from kit.campaign.run_folder import Run, RunError, exclusive, latest_unfinished, new_id, open_run, run_path
from kit.campaign.stage import is_finished, stages_of
from kit.engine.autotune import read_ledger
from kit.evidence import auditing, package, privacy, signing
from kit.evidence.records import write_json
from kit.profile import PROJECT_ROOT, load_profile

if TYPE_CHECKING:
    from kit.profile import Profile

NOTEBOOKS = PROJECT_ROOT / "notebooks"
# A stage that ends with one of these was judged and failed; any other error means nothing can be judged.
JUDGED_ERRORS = ("CampaignStoppedError", "DrillFailedError")


@dataclass(frozen=True)
class Outcome:
    """What `kit run` prints last. exit_code: 0 pass, 1 a gate failed, 2 could not judge."""

    exit_code: int
    line: dict[str, Any]


def run(
    profile_path: str,
    *,
    run_id: str = "",
    resume: bool = False,
    replace: bool = False,
    autotune: Path | None = None,
    sign: Path | None = None,
    until: str = "",
) -> Outcome:
    """Run a profile from its first unfinished stage to an audited bundle.

    run_id: name of the run folder (default: profile and time). resume: continue `run_id`, or the newest
    unfinished run of the profile. replace: remove a finished or failed run of the same id first. autotune:
    file or folder of recorded winners to start from, see `kit.campaign.tune.start_from`. sign: an SSH key to sign the
    bundle with, tried before anything runs. until: the stage to stop behind, unsealed, so that a floor or draws can be
    put into the run. Raises RunError for a stage the profile does not run, NoDeviceError, both before a folder is made,
    KeyboardInterrupt with a sentence that says how to go on.
    """
    if sign is not None:
        signing.check_key(sign)
    profile = load_profile(profile_path)
    stages = _stages_until(profile, until)
    _require_device(profile)
    recorded = read_ledger(autotune) if autotune is not None else None
    if recorded is not None:
        tune.check_start(profile, recorded)  # before a folder is made, or removed to be made anew
    run_id = run_id or (latest_unfinished(profile) if resume else new_id(profile))
    with exclusive(run_id):
        current = _open(profile_path, run_id, resume, replace)
        if recorded is not None:
            tune.start_from(current, recorded)
        try:
            return _run(current, sign, stages)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted; {_how_to_go_on(current)}") from None


def _require_device(profile: Profile) -> None:
    """Raise NoDeviceError where this machine cannot run the profile's own engines; somebody's server needs no device."""
    if set(profile.campaign.engines) != {"remote"}:
        runtime.require_device(profile)


def _stages_until(profile: Profile, last: str) -> tuple[str, ...]:
    """The stages of a profile up to `last`; all of them for ""."""
    stages = stages_of(profile)
    if not last:
        return stages
    if last not in stages:
        raise RunError(f"profile {profile.name} runs no stage {last!r}; its stages: {', '.join(stages)}")
    return stages[: stages.index(last) + 1]


def _run(current: Run, key: Path | None, stages: tuple[str, ...]) -> Outcome:
    """Run `stages`; if those are all of them, or one fails, seal and audit what they left."""
    every = stages_of(current.profile)
    with Progress(current, every) as progress:
        failure = _run_stages(current, stages, progress)
        if failure is None and stages != every:
            progress.note(f"stopped behind {stages[-1]}; {_how_to_go_on(current)}")
            return Outcome(0, {"verdict": "unfinished", "profile": current.profile.name, "run": current.id})
        if failure is not None:
            _record_failure(current, failure)
        progress.note("sealing and auditing the bundle")
        digest, audit = _seal_and_audit(current, key)
        progress.finished(audit, show_problems=failure is None)
        for sentence in diagnosis.sentences(current.path):
            progress.note(f"diagnosis: {sentence}")
    tune.drop_kernels(current)
    return _outcome(current, failure, audit, digest)


def _open(profile_path: str, run_id: str, resume: bool, replace: bool) -> Run:
    if resume:
        if not (run_path(run_id) / "run.json").exists():
            raise RunError(f"no run {run_id!r} to resume")
    else:
        path = run_path(run_id)
        if replace and path.exists():
            shutil.rmtree(path)
        if path.exists():
            raise RunError(f"run {run_id!r} exists: use --resume to continue it or --replace to remove it first")
    current = open_run(profile_path, run_id)
    if current.sealed:
        raise RunError(f"run {run_id!r} is sealed; audit it with: python -m kit audit {current.path}")
    return current


def _how_to_go_on(run: Run) -> str:
    if run.sealed:
        return f"the bundle is sealed, audit it with: python -m kit audit {_shown(run)}"
    return f"continue with: python -m kit run {run.asked_for} --resume --id {run.id}"


def _run_stages(run: Run, stages: tuple[str, ...], progress: Progress) -> notebook.NotebookFailedError | None:
    for stage in stages:
        if is_finished(run, stage):
            progress.skipped(stage)
            continue
        progress.started(stage)
        try:
            _run_stage(run, stage)
        except notebook.NotebookFailedError as failure:
            progress.failed(stage, failure)
            return failure
        progress.done(stage)
    return None


def _run_stage(run: Run, stage: str) -> None:
    source = NOTEBOOKS / f"{stage}.ipynb"
    output = run.path / "notebooks" / source.name
    given = {"profile": profile_parameter(run), "run_dir": run.id}
    notebook.execute(source, output, given)
    if not is_finished(run, stage):
        raise notebook.NotebookFailedError(
            source.name, None, "NoSentinel", "it ended without writing its result, so it did not finish"
        )


def _seal_and_audit(run: Run, key: Path | None) -> tuple[str | None, dict[str, Any]]:
    """The bundle's digest and the audit's document; a folder that cannot be sealed is not judged."""
    try:
        digest = package.seal(run.path)
    except package.PackageError as error:
        return None, {"audit": "not-judged", "problems": [str(error)]}
    if key is not None:
        signing.sign(run.path, key)
    return digest, auditing.audit_bundle(run.path)


def _record_failure(run: Run, failure: notebook.NotebookFailedError) -> None:
    """A failed run has a verdict too: fail, with the stage and the error that ended it."""
    write_json(
        run.path / "verdict.json",
        {
            "format": "kit-verdict/1",
            "verdict": "fail",
            "profile": run.profile.name,
            "claim": run.profile.claim,
            "run": run.id,
            "scope": run.profile.scope,
            "not_covered": list(run.profile.not_covered),
            "gates": [],
            # An error may name a file of this machine; the bundle must not.
            "failures": [privacy.scrub(f"stage {failure.notebook.removesuffix('.ipynb')}: {failure.error}: {failure.detail}")],
        },
    )


def _outcome(
    run: Run, failure: notebook.NotebookFailedError | None, audit: dict[str, Any], digest: str | None
) -> Outcome:
    line: dict[str, Any] = {"verdict": "fail", "profile": run.profile.name, "bundle": _shown(run)}
    verdict = package.read_verdict(run.path)
    line |= verdict.get("counts", {}) | {"max_probability_drift": verdict.get("max_probability_drift")}
    line |= {"accuracy": right_answers(verdict)}
    line |= {"claim": run.profile.claim, "against": verdict.get("against", []), "audit": audit["audit"]}
    line |= {"failures": verdict["failures"], "bundle_sha256": digest}
    line |= {"signed_by": signing.fingerprint_of(run.path)}
    said = diagnosis.sentences(run.path)
    line |= {"diagnosis": said} if said else {}
    if failure is not None:
        judged = failure.error in JUDGED_ERRORS
        return Outcome(1 if judged else 2, line | {"verdict": "fail" if judged else "not-judged"})
    if audit["audit"] == "not-judged":
        return Outcome(2, line | {"verdict": "not-judged", "problems": audit["problems"]})
    if audit["audit"] == "fail":
        return Outcome(1, line | {"problems": audit["problems"]})
    return Outcome(0, line | {"verdict": verdict["verdict"]})


def right_answers(verdict: dict[str, Any]) -> dict[str, int] | None:
    """How many questions the engine that would serve has right; None for a profile that is not judged."""
    found = verdict.get("accuracy")
    return {name: found[name] for name in ("correct", "of")} if found else None


def profile_parameter(run: Run) -> str:
    """The profile as notebooks are given it: the path asked for, without this machine's folders if it can be."""
    for path in (PROJECT_ROOT / run.asked_for, Path(run.asked_for).resolve(), run.profile_path.resolve()):
        if path.exists() and path.is_relative_to(PROJECT_ROOT):
            return str(path.relative_to(PROJECT_ROOT))
    return str(Path(run.asked_for).resolve())


def _shown(run: Run) -> str:
    path = run.path.resolve()
    return str(path.relative_to(PROJECT_ROOT)) if path.is_relative_to(PROJECT_ROOT) else str(path)
