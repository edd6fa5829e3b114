"""Verbs that make runs and what runs need: run, checkpoint, freeze, tune, draws, bench, signal.

Covers: the words of the command line; each verb is a call into `kit.campaign` or `kit.checkpoint`.
Does not cover: errors and exit codes of what is raised (`kit.__main__`).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kit.runtime import configured, on_device
from kit.verbs.arguments import EngineName, IntoRunOption, ProfileArgument
from kit.verbs.output import emit


class CheckpointAction(StrEnum):
    make = "make"
    verify = "verify"
    fetch = "fetch"
    inventory = "inventory"
    export = "export"


def run(
    profile: ProfileArgument,
    id: Annotated[str, typer.Option("--id", help="Name of the run folder; default: profile and time.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Continue --id, or the newest unfinished run.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Remove a run of the same id first.")] = False,
    autotune: Annotated[
        Path | None,
        typer.Option(help="Start from recorded autotune winners: a ledger file, or a run or bundle folder."),
    ] = None,
    sign: Annotated[Path | None, typer.Option(metavar="KEY", help="Sign the bundle with this SSH key (see kit sign).")] = None,
    until: Annotated[
        str, typer.Option(metavar="STAGE", help="Stop behind this stage, unsealed, to put a floor or draws into the run.")
    ] = "",
) -> None:
    """Run the whole campaign: all stages, bundle, audit. The last line of output is JSON."""
    from kit.campaign import pipeline

    outcome = pipeline.run(
        profile, run_id=id, resume=resume, replace=replace, autotune=autotune, sign=sign, until=until
    )
    emit(outcome.line)
    raise typer.Exit(outcome.exit_code)


def checkpoint(
    profile: ProfileArgument,
    action: Annotated[
        CheckpointAction,
        typer.Argument(
            help="make: generate; verify: every file and tensor; fetch: download; inventory: list; "
            "export: rearrange into FOLDER for the native engine."
        ),
    ] = CheckpointAction.inventory,
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="export: a new folder, or one to continue.")] = None,
) -> None:
    """Make, verify, fetch, list or export the checkpoint of a profile. Prints one JSON document."""
    if (folder is not None) != (action is CheckpointAction.export):
        raise typer.BadParameter("export needs a FOLDER, and nothing else takes one")
    settings = configured(profile)
    from kit import checkpoint as checkpoints

    report: dict[str, Any] = (
        checkpoints.export_to(settings, folder) if folder else getattr(checkpoints, action.value)(settings)
    )
    emit(report)
    if report.get("problems"):
        raise typer.Exit(1)


def freeze(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run with a reference.")],
    answers: Annotated[str, typer.Option(help="File name; default: reference-PROFILE.json.")] = "",
) -> None:
    """Freeze the answers of a run's reference with the protocol. Prints what its profile can then pin."""
    from kit.campaign.freezing import freeze_run

    emit(freeze_run(run, answers))


def tune(
    profile: ProfileArgument,
    out: Annotated[Path | None, typer.Option(help="Also write the ledger here, for `kit run --autotune`.")] = None,
) -> None:
    """Let autotuned kernels choose their configurations for the protocol. Prints the ledger as JSON."""
    from kit.campaign import tune as tuning
    from kit.profile import load_profile

    emit(tuning.draw(load_profile(profile), out))


def draws(
    profile: ProfileArgument,
    count: Annotated[int, typer.Option("--draws", min=1, help="Independent draws of the autotuner.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Write draws.json here.")] = None,
    run: IntoRunOption = "",
    texts: Annotated[int | None, typer.Option(min=0, help="Only the first so many text requests.")] = None,
    images: Annotated[int | None, typer.Option(min=0, help="Only the first so many image requests.")] = None,
) -> None:
    """Compare native and reference under several autotune draws. Prints a table, then the summary as JSON."""
    from kit.campaign import draws as experiment

    document = experiment.run(profile, count, out=out, run_id=run, texts=texts, images=images)
    print(experiment.table(document))
    emit(document["summary"])
    raise typer.Exit(experiment.exit_code(document))


def bench(
    profile: ProfileArgument,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds over the protocol, after one warm-up round.")] = 3,
    engine: Annotated[list[EngineName] | None, typer.Option(help="Engines; default: the profile's.")] = None,
) -> None:
    """Measure the engines side by side on the protocol. The last line of output is JSON."""
    from kit.campaign import bench as benchmark
    from kit.profile import load_profile

    emit(benchmark.run(load_profile(profile), [e.value for e in engine or ()], repeats=repeats))


def signal(profile: ProfileArgument) -> None:
    """Measure how far inputs move the reference's rows and logits, and how far rounding alone does."""
    settings = on_device(profile)
    from kit.campaign.protocol import protocol_of
    from kit.campaign.signal import measure_signal
    from kit.engine import reference

    protocol = protocol_of(settings)
    emit(measure_signal(reference.load(settings), protocol))
