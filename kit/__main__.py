"""The command line: one command, one verb a function. Everything is a call into the package.

Exit codes: 0 done or pass, 1 a gate or a check failed, 2 could not judge or unusable input.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="kit",
    help="Qualify a fast inference engine for a decision model against its official reference.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ProfileArgument = Annotated[str, typer.Argument(metavar="PROFILE", help="A profile file, e.g. params/cpu-tiny.toml.")]
RequestArgument = Annotated[Path, typer.Argument(metavar="REQUEST", help="A request as JSON; - reads standard input.")]


class EngineName(StrEnum):
    reference = "reference"
    native = "native"
    graph = "graph"


class KeptRows(StrEnum):
    all = "all"
    last = "last"
    digest = "digest"


class CandidateName(StrEnum):
    native = "native"
    graph = "graph"


class CheckpointAction(StrEnum):
    make = "make"
    verify = "verify"
    fetch = "fetch"
    inventory = "inventory"
    export = "export"


@app.command()
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
) -> None:
    """Run the whole campaign: all stages, bundle, audit. The last line of output is JSON."""
    from kit.campaign import pipeline

    outcome = pipeline.run(profile, run_id=id, resume=resume, replace=replace, autotune=autotune, sign=sign)
    emit(outcome.line)
    raise typer.Exit(outcome.exit_code)


@app.command()
def serve(
    profile: ProfileArgument,
    engine: Annotated[EngineName, typer.Option(help="Which engine answers.")] = EngineName.native,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    record: Annotated[Path | None, typer.Option(help="Append raw logits and hidden rows to this file.")] = None,
    owned: Annotated[bool, typer.Option("--owned", help="Stop when standard input closes.")] = False,
) -> None:
    """Serve one engine behind POST /v1/systemone until stopped."""
    from kit.profile import load_profile
    from kit.serve import worker

    raise typer.Exit(worker.run(load_profile(profile), engine.value, host=host, port=port, record=record, owned=owned))


@app.command()
def frontend(
    profile: ProfileArgument,
    backend: Annotated[str, typer.Option(help="Base URL of the worker to forward to.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    owned: Annotated[bool, typer.Option("--owned", help="Stop when standard input closes.")] = False,
) -> None:
    """Forward requests to a worker, changing nothing."""
    from kit.profile import load_profile
    from kit.serve import frontend as front

    raise typer.Exit(front.run(load_profile(profile), backend, host=host, port=port, owned=owned))


@app.command()
def decide(
    profile: ProfileArgument,
    request: RequestArgument,
    engine: Annotated[EngineName, typer.Option(help="Which engine answers.")] = EngineName.native,
) -> None:
    """Answer one request in this process and print the response."""
    import time

    from kit import engine as engines
    from kit import runtime
    from kit.contract.answer import response
    from kit.profile import load_profile

    settings = load_profile(profile)
    body = read_request(request)
    runtime.configure(settings)
    runtime.require_device(settings)
    loaded = engines.load(engine.value, settings)
    try:
        started = time.perf_counter()
        decision = loaded.decide(loaded.prepare(body))
        latency_ms = (time.perf_counter() - started) * 1000
    finally:
        loaded.close()
    emit(response(settings.model.name, decision.answers, decision.input_tokens, latency_ms))


@app.command()
def prepare(profile: ProfileArgument, request: RequestArgument) -> None:
    """Print what the model would be given, one JSON line a question; needs no weights."""
    from kit import runtime
    from kit.engine.preview import describe_prepared, preparer_without_weights
    from kit.profile import load_profile

    settings = load_profile(profile)
    body = read_request(request)
    runtime.configure(settings)
    preparer = preparer_without_weights(settings)
    print(f"tokenizer: {preparer.tokenizer.source}", file=sys.stderr)
    for line in describe_prepared(preparer.prepare(body)):
        emit(line)


@app.command()
def audit(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle folder or a packed .tar.gz.")],
    trust_own: Annotated[
        bool, typer.Option("--trust-own", help="Go on although the bundle's own audit.py is not a known one.")
    ] = False,
    allowed_signers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask for a good signature by one of these (ssh-keygen's format).")
    ] = None,
    identity: Annotated[str, typer.Option(help="Of the allowed signers only this one.")] = "",
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Also run the protocol again on this CPU (CPU profiles, needs the weights).")
    ] = False,
) -> None:
    """Check a bundle with this kit's own auditor (no GPU, no model). The last line of output is JSON."""
    from kit.evidence import auditing
    from kit.evidence.audit.signature import Signers

    signers = Signers(str(allowed_signers) if allowed_signers else "", identity)
    code = auditing.run_audit(bundle, trust_own, signers)
    if recompute and code != 2:
        from kit.campaign import recompute as again

        code = max(code, again.run(bundle))
    raise typer.Exit(code)


@app.command()
def attack(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A sealed bundle that passes its audit.")],
    sample: Annotated[int, typer.Option(min=0, help="So many mutations, drawn with the seed; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="Draws the sample, and the places that mutations are done at.")] = 0,
    family: Annotated[list[str] | None, typer.Option(help="Only this family; may be given several times.")] = None,
    file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every outcome here.")] = None,
    jobs: Annotated[int, typer.Option(min=0, help="Audits at a time; 0: one a processor.")] = 0,
) -> None:
    """Doctor a bundle in every known way and see that its audit refuses each. The last line of output is JSON."""
    from kit.evidence.attack import report

    raise typer.Exit(report.run(bundle, sample=sample, seed=seed, only=family or (), jobs=jobs, file=file))


@app.command()
def challenge(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A sealed bundle.")],
    seed: Annotated[int, typer.Option(help="Picked by the challenger after the bundle was published.")],
    count: Annotated[int, typer.Option(min=1, help="Requests: four of text, two with images, and so on.")] = 24,
    answer: Annotated[Path | None, typer.Option(metavar="FILE", help="Check these answers.")] = None,
    profile: Annotated[str, typer.Option(help="Answer here with this profile's engines, where its device is.")] = "",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the requests, or the answers given here.")] = None,
) -> None:
    """Name requests nobody knew when a bundle was published, answer them, or check answers. JSON last."""
    from kit.campaign import challenge as challenges

    document, lines = challenges.run(bundle, seed, count, answer=answer, profile=profile, out=out)
    print("\n".join(lines))
    emit(document)
    raise typer.Exit(1 if document.get("challenge") == "fail" else 0)


@app.command()
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A bundle folder or a packed .tar.gz: what B is measured against.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another bundle, such as one made after an upgrade.")],
    plot: Annotated[Path | None, typer.Option(metavar="PNG", help="Draw drift, steps and latency ratios into this file.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="JSON", help="Write the whole comparison to this file.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Compare although a bundle does not pass its audit.")] = False,
    trust_own: Annotated[
        bool, typer.Option("--trust-own", help="Go on although a bundle's own audit.py is not a known one.")
    ] = False,
) -> None:
    """Compare two bundles: what changed, and did it change decisions? The last line of output is JSON.

    Exit code 0: no decision changed and nothing is beyond gates or floor; 1: changed; 2: could not judge.
    """
    from kit.campaign.diff import verb

    raise typer.Exit(verb.run(a, b, plot=plot, out=out, anyway=anyway, trust_own=trust_own))


@app.command()
def sign(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A sealed bundle folder.")],
    key: Annotated[Path, typer.Argument(metavar="KEY", help="An SSH private key, or a public one that an agent holds.")],
) -> None:
    """Sign a bundle: SHA256SUMS.sig, made by ssh-keygen, says which key vouches for it."""
    from kit.evidence import signing

    emit({"signed": bundle.resolve().name, "fingerprint": signing.sign(bundle, key), "namespace": signing.NAMESPACE})


@app.command()
def publish(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A sealed run folder that passes its audit.")],
    name: Annotated[str, typer.Option(help="Name under evidence/published/; default: the run's own.")] = "",
    supersedes: Annotated[str, typer.Option(metavar="NAME", help="An earlier published bundle that this one supersedes.")] = "",
    claim: Annotated[str, typer.Option(help="Exactly which claim of that bundle it supersedes.")] = "",
) -> None:
    """Copy a passing bundle to evidence/published/ and append its row to the ledger, both to be committed. Nothing is replaced."""
    from kit.evidence.publish import publish as copy_bundle

    target = copy_bundle(run, name or run.resolve().name, supersedes=supersedes, claim=claim)
    emit({"published": target.name, "files": sum(path.is_file() for path in target.rglob("*"))})


@app.command()
def ledger(
    check: Annotated[bool, typer.Option("--check", help="Hold every row against its bundle, the chain and LEDGER.md.")] = False,
    since: Annotated[Path | None, typer.Option(metavar="FILE", help="With --check: an earlier ledger.jsonl, which must be its beginning.")] = None,
    verified: Annotated[str, typer.Option(metavar="NAME", help="Append that this published bundle was verified further.")] = "",
    level: Annotated[str, typer.Option(help="With --verified: recomputed (by another) or rerun (on another device).")] = "",
    how: Annotated[str, typer.Option(help="With --verified: what shows it, such as the digest of another bundle.")] = "",
) -> None:
    """Write evidence/LEDGER.md, with a row for every published bundle; or check it. Old rows are never rewritten."""
    from kit.evidence import ledger_verb

    if (check and (verified or level or how)) or (since is not None and not check):
        raise typer.BadParameter("--since goes with --check, and --check with no other option")
    raise typer.Exit(ledger_verb.run_check(since) if check else ledger_verb.run_append(verified, level, how))


@app.command()
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
    from kit import checkpoint as checkpoints
    from kit import runtime
    from kit.profile import load_profile

    if (folder is not None) != (action is CheckpointAction.export):
        raise typer.BadParameter("export needs a FOLDER, and nothing else takes one")
    settings = load_profile(profile)
    runtime.configure(settings)
    report: dict[str, Any] = (
        checkpoints.export_to(settings, folder) if folder else getattr(checkpoints, action.value)(settings)
    )
    emit(report)
    if report.get("problems"):
        raise typer.Exit(1)


@app.command()
def freeze(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run with a reference.")],
    answers: Annotated[str, typer.Option(help="File name; default: reference-PROFILE.json.")] = "",
) -> None:
    """Freeze the answers of a run's reference with the protocol. Prints what its profile can then pin."""
    from kit.campaign.freezing import freeze_run

    emit(freeze_run(run, answers))


@app.command()
def signal(profile: ProfileArgument) -> None:
    """Measure how far inputs move the reference's rows and logits, and how far rounding alone does."""
    from kit import runtime
    from kit.campaign.protocol import load_protocol
    from kit.campaign.signal import measure_signal
    from kit.engine import reference
    from kit.profile import load_profile

    settings = load_profile(profile)
    runtime.configure(settings)
    runtime.require_device(settings)
    engine = reference.load(settings)
    emit(measure_signal(engine, load_protocol(settings.protocol_path(), settings.protocol.sha256)))


@app.command()
def tune(
    profile: ProfileArgument,
    out: Annotated[Path | None, typer.Option(help="Also write the ledger here, for `kit run --autotune`.")] = None,
) -> None:
    """Let autotuned kernels choose their configurations for the protocol. Prints the ledger as JSON."""
    from kit.campaign import tune as tuning
    from kit.profile import load_profile

    ledger = tuning.draw(load_profile(profile), out)
    emit(ledger)


@app.command()
def draws(
    profile: ProfileArgument,
    count: Annotated[int, typer.Option("--draws", min=1, help="Independent draws of the autotuner.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Write draws.json here.")] = None,
    run: Annotated[str, typer.Option(help="Id of an unsealed run to put it into, made if there is none.")] = "",
    texts: Annotated[int | None, typer.Option(min=0, help="Only the first so many text requests.")] = None,
    images: Annotated[int | None, typer.Option(min=0, help="Only the first so many image requests.")] = None,
) -> None:
    """Compare native and reference under several autotune draws. Prints a table, then the summary as JSON."""
    from kit.campaign import draws as experiment

    document = experiment.run(profile, count, out=out, run_id=run, texts=texts, images=images)
    print(experiment.table(document))
    emit(document["summary"])
    raise typer.Exit(experiment.exit_code(document))


@app.command()
def floor(
    profile: ProfileArgument,
    prompts: Annotated[int, typer.Option(min=6, help="Generated questions, two thirds text, beside the protocol's.")] = 600,
    out: Annotated[Path | None, typer.Option(help="Write floor.json here.")] = None,
    run: Annotated[str, typer.Option(help="Id of an unsealed run to put it into, made if there is none.")] = "",
) -> None:
    """Measure the reference against itself under changes proved harmless. The last line of output is JSON."""
    from kit.campaign.floor import report, running

    document = running.run(profile, prompts, out=out, run_id=run)
    report.show(document)
    emit(report.line(document))
    raise typer.Exit(running.exit_code(document))


@app.command()
def bench(
    profile: ProfileArgument,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds over the protocol, after one warm-up round.")] = 3,
    engine: Annotated[list[EngineName] | None, typer.Option(help="Engines; default: the profile's.")] = None,
) -> None:
    """Measure the engines side by side on the protocol. The last line of output is JSON."""
    from kit.campaign import bench as benchmark
    from kit.profile import load_profile

    emit(benchmark.run(load_profile(profile), [e.value for e in engine or ()], repeats=repeats))


@app.command()
def faults(
    profile: ProfileArgument,
    run: Annotated[str, typer.Option(help="Id of an unsealed run to put records/faults.json into.")] = "",
    only: Annotated[str, typer.Option(help="One fault or control by name; an unknown name lists them.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="The few requests that can show each fault, and no servers.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write faults.json here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the table of faults and gates into this PNG file.")] = None,
) -> None:
    """Plant faults and harmless changes, and show which gates see them. The last line of output is JSON."""
    from kit import runtime
    from kit.profile import load_profile

    settings = load_profile(profile)
    runtime.configure(settings)
    runtime.require_device(settings)
    from kit.campaign.planted import command
    from kit.campaign.planted.document import exit_code

    summary = command.run(settings, profile, only=only, quick=quick, run_id=run, out=out, plot=plot)
    emit(summary)
    raise typer.Exit(exit_code(summary))


@app.command()
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
    from kit import runtime
    from kit.profile import load_profile

    settings = load_profile(profile)
    runtime.configure(settings)
    runtime.require_device(settings)
    from kit.campaign import bisect as bisection

    asked = bisection.Asked(request, engine, against, question, bound, keep.value)
    line = bisection.run(settings, asked, plot=plot, json=json_file)
    emit(line)
    raise typer.Exit(bisection.exit_code(line))


@app.command()
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


@app.command()
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


def read_request(path: Path) -> bytes:
    """Bytes of a request file, or of standard input for `-`."""
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()


def emit(document: dict[str, Any]) -> None:
    """One compact JSON line on standard output."""
    print(json.dumps(document, ensure_ascii=False, separators=(",", ":")), flush=True)


def main() -> int:
    """Run the command line. Exceptions the kit defines are written for people: one sentence, exit code 2."""
    try:
        app()
    except Exception as error:
        if not (type(error).__module__.startswith("kit.") or isinstance(error, OSError)):
            raise
        print(f"kit: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kit: interrupted; `kit run PROFILE --resume` continues an unfinished run", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
