"""Doctor a bundle in every way the families know, and see whether an audit refuses each.

Covers: a clean copy that no deed can reach back from, one audit a mutation as `kit audit` does it, in a process of its
own under 2 GB and 60 s; what counts as refused: another exit code than pass, a problem that names a file concerned and
says what was expected, no traceback, in time. Before anything, the bundle as it is, re-sealed without a deed, and
packed must pass, or refusals would mean nothing. All copies, and what audits unpack, are in one temporary folder that is
gone afterwards, also after Ctrl-C or SIGTERM. Does not cover: what is done (`families`).
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.evidence import auditing, manifest
from kit.evidence.attack import families
from kit.evidence.attack.archives import packed
from kit.evidence.attack.limits import MEMORY
from kit.evidence.attack.mutation import Mutation
from kit.evidence.attack.reseal import reseal
from kit.evidence.attack.suspect import Content, Suspect, clean_copy
from kit.evidence.records import sha256_bytes
from kit.stopping import stoppable

SECONDS = 60
# A problem says what was expected if one of these is in it beside the file's name.
SAYS = re.compile(
    r"expected|recomputed|listed|missing|described|no role|policy gives|\bno\b|\bnot\b|none|unsafe|malformed|a link|twice"
    r"|more than once|second time|out of order|backwards|overlap|chang|differ|fail|lists nothing|cannot|belongs|other"
    r"|declares|has two|gives?\b|before|unknown|knows|plain file|without|lacks|drops|never|cut off|only|must|needs|allows|too"
)  # fmt: skip
NOT_COMPLETED = "not completed"


class AttackError(RuntimeError):
    """The attack shows nothing: the bundle does not pass as it is, or a deed could not be done."""


@dataclass(frozen=True)
class Audited:
    """What one audit of one folder or archive came to."""

    exit_code: int
    seconds: float
    peak_bytes: int
    document: dict[str, Any]
    noise: str = ""

    @property
    def problems(self) -> list[str]:
        return list(self.document.get("problems") or ())

    @property
    def traceback(self) -> bool:
        return "Traceback" in self.noise


@dataclass(frozen=True)
class Outcome:
    """What became of one mutation. fault: why it does not count as refused (or, anchored, as passed), "" if it does."""

    mutation: Mutation
    audited: Audited
    digest: str
    fault: str
    problem: str = ""
    underived: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        mutation, audited = self.mutation, self.audited
        return {
            "id": mutation.id, "family": mutation.family, "sealing": mutation.sealing, "files": list(mutation.files),
            "needs_anchor": mutation.needs_anchor, "anchors": list(mutation.anchors), "why": mutation.why,
            "ok": not self.fault, "fault": self.fault, "problem": self.problem, "exit_code": audited.exit_code,
            "seconds": round(audited.seconds, 3), "peak_bytes": audited.peak_bytes, "bundle_sha256": self.digest,
            "problem_count": audited.document.get("problem_count"), "underived": list(self.underived),
        }  # fmt: skip


@dataclass(frozen=True)
class Attack:
    """A finished attack."""

    bundle: str
    digest: str
    outcomes: Sequence[Outcome]
    seconds: float
    untouched: Sequence[str] = field(default=("as it is", "re-sealed", "packed"))

    @property
    def inside(self) -> list[Outcome]:
        """Outcomes of mutations that an audit must refuse by itself."""
        return [outcome for outcome in self.outcomes if not outcome.mutation.needs_anchor]

    @property
    def anchored(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.mutation.needs_anchor]

    @property
    def survivors(self) -> list[Outcome]:
        """Whatever did not end as it must."""
        return [outcome for outcome in self.outcomes if outcome.fault]

    def line(self) -> dict[str, Any]:
        """The document of the last line."""
        return {
            "mutations": len(self.inside),
            "resealed": sum(outcome.mutation.sealing == "resealed" for outcome in self.inside),
            "refused": sum(not outcome.fault for outcome in self.inside),
            "needs_anchor": [outcome.mutation.id for outcome in self.anchored],
            "anchored": sum(not outcome.fault for outcome in self.anchored),
            "survivors": [outcome.mutation.id for outcome in self.survivors],
            "untouched": "pass",
            "slowest_s": round(max((o.audited.seconds for o in self.outcomes), default=0.0), 2),
            "peak_bytes": max((o.audited.peak_bytes for o in self.outcomes), default=0),
            "bundle_sha256": self.digest,
            "seconds": round(self.seconds, 1),
        }


def attack(
    bundle: str | Path, *, sample: int = 0, seed: int = 0, only: Sequence[str] = (), jobs: int = 0,
    progress: Callable[[Sequence[Outcome], int], None] = lambda outcomes, total: None,
) -> Attack:  # fmt: skip
    """Attack a bundle folder or a packed bundle.

    sample: that many mutations drawn with `seed`, 0 for all. only: names of families, none for all. jobs: audits at a
    time, 0 for one a processor. progress: is called before the first mutation and after each, with the outcomes so far and
    how many there will be. Raises AttackError where the untouched bundle does not pass.
    """
    started = time.monotonic()
    with (
        stoppable(once=True),
        auditing.bundle_folder(Path(bundle)) as folder,
        tempfile.TemporaryDirectory(prefix="kit-attack-") as work,
    ):
        if not (folder / manifest.SUMS).is_file():
            raise AttackError(f"{folder} is no sealed bundle: it has no {manifest.SUMS}")
        clean = clean_copy(folder, Path(work) / "clean")
        require_pass(clean, Path(work) / "untouched")
        digest = digest_of(clean)
        chosen = choose(Content(clean), sample, seed, only)
        outcomes: list[Outcome] = []
        progress(outcomes, len(chosen))
        with closing(attempts(clean, digest, chosen, Path(work), jobs)) as tried:
            for outcome in tried:
                outcomes.append(outcome)
                progress(outcomes, len(chosen))
        if problems := manifest.verify_sums(clean):
            raise AttackError(f"a deed reached the clean copy ({problems[0]}), so what followed it shows nothing")
    return Attack(str(bundle), digest, outcomes, time.monotonic() - started)


def attempts(clean: Path, digest: str, chosen: Sequence[Mutation], work: Path, jobs: int) -> Generator[Outcome, None, None]:
    """What becomes of each mutation, in their order. Whoever stops here waits for those under way and for no others.

    A pool does not wait for a thread that it was starting as the stop came, so each attempt holds a seat while it is under way.
    """
    places = [work / f"{number:04}" for number in range(len(chosen))]
    count = jobs or os.cpu_count() or 1
    seats, stopped = threading.Semaphore(count), threading.Event()

    def seated(mutation: Mutation, place: Path) -> Outcome:
        with seats:
            if stopped.is_set():
                raise CancelledError
            return attempt(clean, digest, mutation, place)

    with ThreadPoolExecutor(count) as pool:
        try:
            yield from pool.map(seated, chosen, places)
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for _ in range(count):
                seats.acquire()


def choose(clean: Content, sample: int, seed: int, only: Sequence[str]) -> list[Mutation]:
    """The mutations to try, in the catalogue's order."""
    unknown = sorted(set(only) - set(families.FAMILIES))
    if unknown:
        raise AttackError(f"no family {', '.join(unknown)}; there are {', '.join(families.FAMILIES)}")
    found = families.catalogue(clean, seed, only or families.FAMILIES)
    if not 0 < sample < len(found):
        return found
    drawn = random.Random(seed).sample(range(len(found)), sample)
    return [found[index] for index in sorted(drawn)]


def require_pass(clean: Path, folder: Path) -> None:
    """The bundle passes as it is, re-sealed with nothing done to it, and packed."""
    suspect = Suspect(clean, folder)
    try:
        wrong = {"as it is": refused(audit(clean, folder.parent))}
        left = reseal(suspect)
        wrong["re-sealed"] = f"could not derive {', '.join(left)}" if left else refused(audit(folder, folder.parent))
        packed(suspect)
        wrong["packed"] = refused(audit(suspect.target, folder.parent))
    finally:
        shutil.rmtree(folder)
    for how, problem in wrong.items():
        if problem:
            raise AttackError(f"the untouched bundle does not pass {how}, so refusals would show nothing: {problem}")


def refused(audited: Audited) -> str:
    """The first problem of an audit, "" if it passed."""
    if audited.exit_code == 0:
        return ""
    return audited.problems[0] if audited.problems else f"exit code {audited.exit_code}: {audited.noise[-300:]}"


def attempt(clean: Path, digest: str, mutation: Mutation, folder: Path) -> Outcome:
    """Do one deed to a copy, put right what follows from it, and audit."""
    suspect = Suspect(clean, folder)
    try:
        mutation.deed(suspect)
        underived = reseal(suspect) if mutation.sealing == "resealed" else []
        audited = audit(suspect.target, folder.parent)
        forged = digest_of(folder) if suspect.target == folder else ""
    except (LookupError, ValueError, TypeError, AttributeError, StopIteration, OSError) as error:
        return Outcome(mutation, Audited(-1, 0.0, 0, {}), "", f"could not be done: {type(error).__name__}: {error}")
    finally:
        shutil.rmtree(folder)
    fault, problem = judged(mutation, audited)
    if audited.exit_code == 0 and forged == digest:
        fault = "has the digest of the untouched bundle, so nothing was done"
    return Outcome(mutation, audited, forged, fault, problem, tuple(underived))


def digest_of(folder: Path) -> str:
    """What an author publishes elsewhere: the SHA-256 of SHA256SUMS."""
    file = folder / manifest.SUMS
    return sha256_bytes(file.read_bytes()) if file.is_file() else ""


def audit(target: Path, scratch: Path) -> Audited:
    """`kit audit` in a process of its own, under limits. scratch: where it unpacks; one that is killed cannot tidy up."""
    started = time.monotonic()
    command = [sys.executable, "-m", "kit.evidence.attack.limits", str(target)]
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(scratch),
    }  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return Audited(-1, time.monotonic() - started, 0, {}, f"took more than {SECONDS} s")
    noise = done.stderr.decode("utf-8", "replace")
    return Audited(
        done.returncode, time.monotonic() - started, peak_of(noise), last_json(done.stdout.decode("utf-8", "replace")), noise
    )


def peak_of(noise: str) -> int:
    found = last_json(noise).get("peak_bytes")
    return found if isinstance(found, int) else 0


def last_json(text: str) -> dict[str, Any]:
    """The JSON document of the last line, {} if it is none."""
    try:
        found = json.loads(text.strip().rpartition("\n")[2])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def judged(mutation: Mutation, audited: Audited) -> tuple[str, str]:
    """(why a mutation did not end as it must or "", the problem that refused it)."""
    if audited.traceback:
        return f"a traceback: {audited.noise.strip().splitlines()[-1][:200]}", ""
    if audited.exit_code not in (0, 1, 2) or not audited.document:
        return f"no verdict: exit code {audited.exit_code}, {audited.noise.strip()[-200:]}", ""
    if audited.peak_bytes > MEMORY:
        return f"took {audited.peak_bytes} bytes", ""
    if mutation.needs_anchor:
        return (f"refused: {refused(audited)}", "") if audited.exit_code else ("", "")
    if audited.exit_code == 0:
        return "passed the audit", ""
    named = [p for p in audited.problems if any(f in p for f in mutation.files)]
    if not named:
        return f"no problem names {' or '.join(mutation.files)}: {refused(audited)[:200]}", ""
    clear = [p for p in named if NOT_COMPLETED not in p and says(p, mutation.files)]
    if not clear:
        return f"does not say what was expected: {named[0][:200]}", ""
    return "", clear[0]


def says(problem: str, files: Sequence[str]) -> bool:
    """Whether a problem says more than which file it is about."""
    rule, _, text = problem.partition(": ")
    text = text or rule
    for file in files:
        text = text.replace(file, "")
    return bool(SAYS.search(text))
