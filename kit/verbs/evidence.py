"""Verbs about bundles: audit, diff, attack, challenge, sign, publish, ledger.

Covers: the words of the command line; each verb is a call into `kit.evidence`, or into `kit.campaign` where answers
are compared. None needs a model, but for `audit --recompute` and `challenge --profile`.
Does not cover: errors and exit codes of what is raised (`kit.__main__`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kit.verbs.output import emit


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

        code = max(code, again.run(bundle, "fail" if code else "pass"))
    raise typer.Exit(code)


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


def sign(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A sealed bundle folder.")],
    key: Annotated[Path, typer.Argument(metavar="KEY", help="An SSH private key, or a public one that an agent holds.")],
) -> None:
    """Sign a bundle: SHA256SUMS.sig, made by ssh-keygen, says which key vouches for it."""
    from kit.evidence import signing
    from kit.evidence.audit.signature import NAMESPACE

    emit({"signed": bundle.resolve().name, "fingerprint": signing.sign(bundle, key), "namespace": NAMESPACE})


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
