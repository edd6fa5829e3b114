"""Verbs that ask why: floor, oracle, faults, bisect, diagnose.

Covers: the words of the command line; each verb is a call into `kit.campaign`, prints tables for people and ends in
one line of JSON. Does not cover: errors and exit codes of what is raised (`kit.__main__`).
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kit.runtime import on_device
from kit.verbs.arguments import IntoRunOption, ProfileArgument
from kit.verbs.output import emit


class CandidateName(StrEnum):
    native = "native"
    graph = "graph"


class KeptRows(StrEnum):
    all = "all"
    last = "last"
    digest = "digest"


def floor(
    profile: ProfileArgument,
    prompts: Annotated[int, typer.Option(min=6, help="Generated questions, two thirds text, beside the protocol's.")] = 600,
    out: Annotated[Path | None, typer.Option(help="Write floor.json here.")] = None,
    run: IntoRunOption = "",
    draw: Annotated[
        Path | None, typer.Option(help="On a GPU: take the other draw from this ledger, run or bundle folder.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure all of it, also what an interrupted floor has kept.")] = False,
) -> None:
    """Measure the reference against itself under changes proved harmless. The last line of output is JSON.

    With --out or --run finished passes are kept, and the same command goes on from them after an interruption.
    """
    from kit.campaign.floor import report, running

    document = running.run(profile, prompts, out=out, run_id=run, draw=draw, fresh=fresh)
    report.show(document)
    emit(report.line(document))
    raise typer.Exit(running.exit_code(document))


def oracle(
    profile: ProfileArgument,
    candidate: Annotated[CandidateName | None, typer.Option(help="Also measure this engine, beside the reference.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write every figure into this JSON file.")] = None,
) -> None:
    """Measure how far the reference is from the FP64 oracle on every question of the protocol."""
    from kit.campaign import oracle_report

    document = oracle_report.run(profile, candidate.value if candidate else "", out)
    oracle_report.show(document)
    emit(oracle_report.line(document))


def faults(
    profile: ProfileArgument,
    run: Annotated[str, typer.Option(help="Id of an unsealed run to put records/faults.json into.")] = "",
    only: Annotated[str, typer.Option(help="One fault or control by name; an unknown name lists them.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="The few requests that can show each fault, and no servers.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write faults.json here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the table of faults and gates into this PNG file.")] = None,
) -> None:
    """Plant faults and harmless changes, and show which gates see them. The last line of output is JSON."""
    settings = on_device(profile)
    from kit.campaign.planted import command
    from kit.campaign.planted.document import exit_code

    summary = command.run(settings, profile, only=only, quick=quick, run_id=run, out=out, plot=plot)
    emit(summary)
    raise typer.Exit(exit_code(summary))


def bisect(
    profile: ProfileArgument,
    request: Annotated[str, typer.Option(help="Id of a request of the protocol or a generated one, or a file.")],
    engine: Annotated[str, typer.Option(help="reference, native, graph or oracle; native@float32 in another dtype.")],
    against: Annotated[str, typer.Option(help="The engine it is compared with, named alike.")],
    question: Annotated[str, typer.Option(help="Id of one question; default: all of the request.")] = "",
    bound: Annotated[str, typer.Option(help="auto, bits, rounding, or a relative RMS such as 0.01.")] = "auto",
    keep: Annotated[KeptRows, typer.Option(help="Rows of each stage to compare: less memory for long prompts.")] = KeptRows.all,
    plot: Annotated[Path | None, typer.Option(help="Draw the layer heat map into this PNG file.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every figure into this file.")] = None,
) -> None:
    """Walk one request through two engines and name the first stage at which they come apart."""
    settings = on_device(profile)
    from kit.campaign import bisect as bisection

    asked = bisection.Asked(request, engine, against, question, bound, keep.value)
    line = bisection.run(settings, asked, plot=plot, json=json_file)
    emit(line)
    raise typer.Exit(bisection.exit_code(line))


def diagnose(
    profile: ProfileArgument,
    run: Annotated[str, typer.Option(help="A run, by id or folder: every engine of it but the reference.")] = "",
    remote: Annotated[str, typer.Option(metavar="URL", help="A server, asked every request of the protocol once.")] = "",
    answers: Annotated[Path | None, typer.Option(help='A file of {"id", "response"} objects.')] = None,
    engine: Annotated[str, typer.Option(help="Only this engine of the run.")] = "",
    out: Annotated[Path | None, typer.Option(help="Write every distance into this JSON file.")] = None,
) -> None:
    """Name the change that would make the reference answer as a candidate does: adapter off, other images, ..."""
    from kit.campaign.diagnosis import running

    made = running.run(profile, running.Asked(run, remote, answers, engine), out)
    running.show(made)
    emit(running.line(made))
    raise typer.Exit(running.exit_code(made))
