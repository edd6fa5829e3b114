"""`kit floor`: measure the noise floor of a profile's reference, form by form, and prove each form harmless first.

Covers: the order of the work on a CPU and on a GPU, floor.json beside it or in a run, and the outcome: a form whose
proof fails is not measured, and fails the command unless the form is optional. Does not cover: what a form is
(`forms`), or figures (`document`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kit import runtime
from kit.campaign import draws, tune
from kit.campaign.floor import asking, forms, other_cpu
from kit.campaign.floor.document import FILE, document, rows_of
from kit.campaign.floor.proof import PROMPTS, Proof, oracle_rows, proof_of
from kit.campaign.run_folder import run_file
from kit.engine import autotune
from kit.evidence.records import write_json

if TYPE_CHECKING:
    from torch import Tensor

    from kit.campaign.floor.asking import Answer
    from kit.engine.oracle import Oracle
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

DEFAULT_PROMPTS, FEWEST = 600, 6


class FloorError(RuntimeError):
    """The floor cannot be measured with what was asked for."""


def run(
    profile_path: str,
    prompts: int = DEFAULT_PROMPTS,
    *,
    out: Path | None = None,
    run_id: str = "",
    protocol: bool = True,
    draw: Path | None = None,
) -> dict[str, Any]:
    """floor.json of a profile, also written to `out` and into the run `run_id`, which must not be sealed yet.

    prompts: generated questions, two thirds text. protocol: ask the protocol's own beside them, as a run's floor must.
    draw: a ledger, or the folder of a run, whose winners are the other draw, instead of drawing one now.
    Raises FloorError, AutotuneError for a draw that does not fit, RunError for a sealed run, NoDeviceError without the
    profile's device.
    """
    profile = runtime.on_device(profile_path)
    if prompts < FEWEST:
        raise FloorError(f"{prompts} prompts: a floor needs at least {FEWEST}, so that there are texts and images")
    if "reference" not in profile.campaign.engines:
        raise FloorError(f"profile {profile.name} has no reference engine, and the floor is the reference's")
    other = autotune.read_ledger(draw) if draw is not None else None
    if other is not None:
        tune.check_start(profile, other)
    with run_file(profile_path, run_id, FILE) as kept:
        floor = _Floor(profile, profile_path, prompts, protocol)
        result = floor.measure(_ledger_beside(kept), other)
        for file in filter(None, (out, kept)):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(file, result)
    return result


def exit_code(result: Mapping[str, Any]) -> int:
    """0 where every form that must be harmless was proved so and measured, else 1."""
    missing = [form for form in result["forms"] if not form["measured"] and form["name"] not in forms.OPTIONAL]
    return int(bool(missing))


def _ledger_beside(kept: Path | None) -> dict[str, Any] | None:
    """The winners of the run a floor is put into, which its reference ran with; None before it chose any."""
    if kept is None:
        return None
    ledger = kept.parents[1] / tune.LEDGER
    return autotune.read_ledger(ledger) if ledger.exists() else None


@contextmanager
def two_draws(
    profile_path: str, first: dict[str, Any] | None, second: dict[str, Any] | None
) -> Iterator[list[dict[str, Any]]]:
    """Both ledgers, those that are missing drawn now."""
    with draws.drawn(profile_path, [first, second].count(None)) as made:
        yield [ledger if ledger is not None else made.pop() for ledger in (first, second)]


class _Floor:
    """One measurement: the questions, the answers alone, and what each form made of them."""

    def __init__(self, profile: Profile, profile_path: str, prompts: int, protocol: bool) -> None:
        self.profile, self.path, self.prompts, self.protocol = profile, profile_path, prompts, protocol
        self.asked = asking.questions(self.profile, prompts, protocol=protocol)
        self.proved_on = self.asked[: min(PROMPTS, prompts)]
        self.alone: list[Answer] = []
        self.truths: list[Tensor] = []  # the oracle's rows of `proved_on`, alone
        self.changed: dict[str, list[Answer]] = {}
        self.proofs: dict[str, Proof] = {}
        self.details: dict[str, str] = {}

    def measure(self, first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> dict[str, Any]:
        """floor.json. Process settings of the profile must be in force. first, second: winners, on a GPU; else drawn."""
        on_gpu = self.profile.runtime.device == "cuda"
        none: AbstractContextManager[list[dict[str, Any]]] = nullcontext([])
        with two_draws(self.path, first, second) if on_gpu else none as ledgers:
            if ledgers:
                autotune.install(ledgers[0]["winners"])
            from kit.engine import reference
            from kit.engine.oracle import load_oracle

            oracle, engine = load_oracle(self.profile), reference.load(self.profile)
            self.truths = oracle_rows(oracle, self.proved_on, "alone")
            self._alone(engine)
            for form in ("row0", "padded"):
                self._batched(oracle, engine, form)
            if on_gpu:
                self._draw(oracle, engine, ledgers)
            engine.close()
            oracle.close()
        if not on_gpu:
            self._instructions()
        temperatures = {name: oracle.calibration.for_images(name == "image") for name in ("text", "image")}
        rows = rows_of(self.asked, self.alone, self.changed, self.profile)
        return document(self.profile, oracle.digest, temperatures, rows, self.proofs, self.details)

    def _alone(self, engine: ReferenceEngine) -> None:
        with _said(f"{len(self.asked)} questions alone"):
            self.alone = self._asked_alone(engine)

    def _asked_alone(self, engine: ReferenceEngine) -> list[Answer]:
        """Recordings are made anew each time: they keep the kernels that were chosen when they were made."""
        from kit.campaign.generated.official import Official

        official = Official(engine)
        try:
            return list(asking.alone(official, self.asked))
        finally:
            official.close()

    def _batched(self, oracle: Oracle, engine: ReferenceEngine, form: Literal["row0", "padded"]) -> None:
        self.details[form] = forms.WHAT[form]
        if self._proved(form, oracle_rows(oracle, self.proved_on, form)):
            with _said(f"{len(self.asked)} questions as {forms.WHAT[form]}"):
                self.changed[form] = list(asking.batched(engine, self.asked, form))

    def _draw(self, oracle: Oracle, engine: ReferenceEngine, ledgers: Sequence[Mapping[str, Any]]) -> None:
        autotune.install(ledgers[1]["winners"])
        first, second = (ledger["digest"][:12] for ledger in ledgers)
        self.details["draw"] = f"winners {second} instead of {first}" + (", the very same" if first == second else "")
        if self._proved("draw", oracle_rows(oracle, self.proved_on, "alone")):
            with _said(f"{len(self.asked)} questions under another draw"):
                self.changed["draw"] = self._asked_alone(engine)

    def _instructions(self) -> None:
        with _said(f"{len(self.asked)} questions with other CPU instructions"):
            there = other_cpu.answers_of(self.path, self.prompts, len(self.proved_on), protocol=self.protocol)
        here = other_cpu.capability()
        self.details["instructions"] = f"ATen with {there.capability} instead of {here}, oneDNN with AVX2 at most"
        if self._proved("instructions", there.truths):
            self.changed["instructions"] = there.answers

    def _proved(self, form: str, rows: Sequence[Tensor]) -> bool:
        proof = self.proofs[form] = proof_of(rows, self.truths)
        found = "harmless" if proof.holds else "NOT harmless, so not measured"
        _say(f"{form}: moves the oracle's rows by {proof.largest:.2g}: {found}")
        return proof.holds


@contextmanager
def _said(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    _say(f"{what}: {time.perf_counter() - started:.1f} s")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
