"""`kit diagnose`: compare a candidate with the library on the requests of a protocol, or of a run.

Covers: picking the requests and the candidate, loading the reference, the table and the last line. Does not cover: a
campaign's own diagnosis (`evidence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.diagnosis import candidates as sources
from kit.campaign.diagnosis.candidates import AnswersError, Candidate
from kit.campaign.diagnosis.document import document, table
from kit.campaign.diagnosis.matching import Temperatures
from kit.campaign.protocol import Case, protocol_of
from kit.campaign.reading import read_run
from kit.campaign.run_folder import RunError, run_path
from kit.evidence.records import write_json
from kit.profile import load_profile
from kit.terminal import console

if TYPE_CHECKING:
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile


@dataclass(frozen=True)
class Asked:
    """Whose answers: exactly one of a run (its id or folder; engine: only that one), a server, a file."""

    run: str = ""
    remote: str = ""
    answers: Path | None = None
    engine: str = ""


def run(profile_path: str, asked: Asked, out: Path | None = None) -> dict[str, Any]:
    """The diagnosis of a candidate, also written to `out`.

    Raises AnswersError where it is not clear whose answers are meant, or there are none; CheckpointError,
    ReferenceError or NoDeviceError where the reference cannot be loaded.
    """
    if sum(map(bool, (asked.run, asked.remote, asked.answers))) != 1:
        raise AnswersError("name the candidate by exactly one of --run, --remote and --answers")
    if asked.engine and not asked.run:
        raise AnswersError("--engine picks an engine of a run, and there is no --run")
    profile = load_profile(profile_path)
    cases, found = _candidates(profile, asked)
    made = diagnose(profile, cases, found)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_json(out, made)
    return made


def _candidates(profile: Profile, asked: Asked) -> tuple[Sequence[Case], list[Candidate]]:
    if asked.run:
        records = read_run(_folder_of(asked.run))
        _refuse_other_weights(profile, records.profile)
        return records.protocol.cases, [*sources.of_run(records, [asked.engine] if asked.engine else None)]
    cases = protocol_of(profile).cases
    if asked.remote:
        return cases, [sources.of_remote(asked.remote, profile, cases)]
    assert asked.answers is not None
    return cases, [sources.of_file(asked.answers, cases)]


def _folder_of(run: str) -> Path:
    """The folder of a run by id or path. Raises RunError where there is none."""
    if (Path(run) / "run.json").is_file():
        return Path(run)
    if not (run_path(run) / "run.json").is_file():
        raise RunError(f"no run {run!r}: it is neither a run's folder nor the id of a run kept here")
    return run_path(run)


def _refuse_other_weights(profile: Profile, of_run: Profile) -> None:
    if profile.checkpoint != of_run.checkpoint or profile.runtime.dtype != of_run.runtime.dtype:
        raise AnswersError(
            f"profile {profile.name} has other weights, or another dtype, than the run, which was made with profile "
            f"{of_run.name}: name that one"
        )


def diagnose(profile: Profile, cases: Sequence[Case], candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Load the reference, run the library on these requests, compare, and let go of the reference."""
    from kit import runtime
    from kit.engine import autotune, reference

    runtime.configure(profile)
    runtime.require_device(profile)
    autotune.install_recorded()
    engine = reference.load(profile)
    try:
        return diagnose_with(engine, cases, candidates)
    finally:
        engine.close()


def diagnose_with(engine: ReferenceEngine, cases: Sequence[Case], candidates: Sequence[Candidate]) -> dict[str, Any]:
    """The same with a loaded reference, which is as before afterwards."""
    from kit.campaign.diagnosis.forms import FORMS, library

    asked = {request for one in candidates for request, _ in one.probabilities}
    declared = Temperatures(engine.calibration.temperature, engine.calibration.mm_temperature)
    return document(
        candidates,
        library(engine, [case for case in cases if case.id in asked]),
        {form.name: form.words for form in FORMS},
        {case.id: case.modality for case in cases},
        declared,
        engine.digest,
    )


def show(made: dict[str, Any]) -> None:
    """A table and a sentence for each engine."""
    out = console()
    for name, entry in made["engines"].items():
        out.print(table(entry, made["forms"], name))
        out.print(entry["words"], soft_wrap=True)
        for line in entry["missing"][:5]:
            out.print(f"not compared: {line}", soft_wrap=True)


def line(made: dict[str, Any]) -> dict[str, Any]:
    """What is printed last: outcome, form and words of each engine."""
    kept = ("outcome", "words", "questions")
    return {
        "diagnosis": {
            name: {key: entry[key] for key in kept}
            | {"form": entry["nearest"]["form"], "temperatures": entry["nearest"]["rule"], "missing": len(entry["missing"])}
            | {"distance": entry["nearest"]["distance"], "plain_distance": entry["plain"]["distance"]}
            for name, entry in made["engines"].items()
        },
        "forms": len(made["forms"]),
    }  # fmt: skip


def exit_code(made: dict[str, Any]) -> int:
    """0: every candidate answers as the reference does, plainly or with a change that was named. 1: one does not, or
    answers that could not be compared are left without an explanation."""
    return int(any(entry["outcome"] == "unexplained" or (entry["outcome"] == "same" and entry["missing"]) for entry in made["engines"].values()))
