"""`kit floor`: measure the noise floor of a profile's reference, form by form, and prove each form harmless first.

Covers: the order of the work on a CPU and on a GPU, floor.json beside it or in a run, where finished passes lie until it
is written, and the outcome: a form whose proof fails is not measured, and fails the command unless the form is optional.
Does not cover: what a form is (`forms`), when a kept pass is taken again (`passes`), or figures (`document`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from kit import runtime
from kit.campaign import draws, tune
from kit.campaign.floor import asking, forms, other_cpu
from kit.campaign.floor.document import FILE, document, rows_of
from kit.campaign.floor.passes import (
    Passes,
    answers_json,
    circumstances,
    read_answers,
    read_rows,
    rows_json,
    say,
)
from kit.campaign.floor.proof import PROMPTS, Proof, oracle_rows, proof_of
from kit.campaign.run_folder import run_file
from kit.engine import autotune
from kit.evidence.records import write_json
from kit.stopping import stoppable

if TYPE_CHECKING:
    from torch import Tensor

    from kit.campaign.floor.asking import Answer
    from kit.engine.oracle import Oracle
    from kit.engine.reference import ReferenceEngine
    from kit.profile import Profile

Kind = TypeVar("Kind")
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
    fresh: bool = False,
) -> dict[str, Any]:
    """floor.json of a profile, also written to `out` and into the run `run_id`, which must not be sealed yet.

    prompts: generated questions, two thirds text. protocol: ask the protocol's own beside them, as a run's floor must.
    draw: a ledger, or the folder of a run, whose winners are the other draw, instead of drawing one now.
    fresh: measure all of it, also what an interrupted floor of the same name has kept.
    Raises FloorError, AutotuneError for a draw that does not fit, RunError for a sealed run, NoDeviceError without the
    profile's device, KeyboardInterrupt on SIGTERM or Ctrl-C with a sentence that says what is kept and how to go on.
    """
    profile = runtime.on_device(profile_path)
    if prompts < FEWEST:
        raise FloorError(f"{prompts} prompts: a floor needs at least {FEWEST}, so that there are texts and images")
    if "reference" not in profile.campaign.engines:
        raise FloorError(f"profile {profile.name} has no reference engine, and the floor is the reference's")
    other = autotune.read_ledger(draw) if draw is not None else None
    if other is not None:
        tune.check_start(profile, other)
    with run_file(profile_path, run_id, FILE) as kept, stoppable() as stop:
        passes = Passes(_work_folder(out, kept), fresh=fresh)
        try:
            floor = _Floor(profile, profile_path, prompts, protocol, passes)
            result = floor.measure(_ledger_beside(kept), other)
        except BaseException as error:
            if stop.asked or isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(passes.interrupted()) from None
            raise
        for file in filter(None, (out, kept)):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_json(file, result)
        passes.remove()
    return result


def _work_folder(out: Path | None, kept: Path | None) -> Path | None:
    """Where passes are kept: beside the run, whose own folder is sealed as it is, or beside the output file."""
    if kept is not None:
        run = kept.parents[1]
        return run.parent / f".floor-{run.name}"
    return out.parent / f"{out.name}.passes" if out is not None else None


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

    def __init__(self, profile: Profile, profile_path: str, prompts: int, protocol: bool, passes: Passes) -> None:
        self.profile, self.path, self.prompts, self.protocol = profile, profile_path, prompts, protocol
        self.asked = asking.questions(self.profile, prompts, protocol=protocol)
        self.proved_on = self.asked[: min(PROMPTS, prompts)]
        self.passes = passes
        self.passes.under.update(circumstances(profile, self.asked, len(self.proved_on)))
        self.alone: list[Answer] = []
        self.truths: list[Tensor] = []  # the oracle's rows of `proved_on`, alone
        self.changed: dict[str, list[Answer]] = {}
        self.proofs: dict[str, Proof] = {}
        self.details: dict[str, str] = {}

    def measure(self, first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> dict[str, Any]:
        """floor.json. Process settings of the profile must be in force. first, second: winners, on a GPU; else drawn."""
        on_gpu = self.profile.runtime.device == "cuda"
        none: AbstractContextManager[list[dict[str, Any]]] = nullcontext([])
        with self._two_draws(first, second) if on_gpu else none as ledgers:
            _install(ledgers[:1])
            from kit.engine import reference
            from kit.engine.oracle import load_oracle

            oracle, engine = load_oracle(self.profile), reference.load(self.profile)
            self.passes.under["checkpoint"] = oracle.digest
            self._truths(oracle)
            self._alone(engine, ledgers)
            self._batched(oracle, engine, "row0", ledgers)
            if on_gpu:
                self._draw(oracle, engine, ledgers)
            # Last of those in this process: of all forms, the one that may be missing says least.
            self._batched(oracle, engine, "padded", ledgers)
            engine.close()
            oracle.close()
        if not on_gpu:
            self._instructions()
        temperatures = {name: oracle.calibration.for_images(name == "image") for name in ("text", "image")}
        changed, proofs = _in_order(self.changed), _in_order(self.proofs)
        rows = rows_of(self.asked, self.alone, changed, self.profile)
        return document(self.profile, oracle.digest, temperatures, rows, proofs, self.details)

    @contextmanager
    def _two_draws(
        self, first: dict[str, Any] | None, second: dict[str, Any] | None
    ) -> Iterator[list[dict[str, Any]]]:
        """Both ledgers. Drawn ones are kept too: under others no kept pass could be taken again."""
        given = [ledger and ledger["digest"] for ledger in (first, second)]
        before = self.passes.find("draws", given=given)
        with two_draws(self.path, *(before or (first, second))) as ledgers:
            if before is None:
                self.passes.keep("draws", ledgers, given=given)
            yield ledgers

    def _truths(self, oracle: Oracle) -> None:
        found = self.passes.take("oracle", lambda: rows_json(oracle_rows(oracle, self.proved_on, "alone")))
        self.truths = read_rows(found)

    def _alone(self, engine: ReferenceEngine, ledgers: Sequence[Mapping[str, Any]]) -> None:
        self.alone = self._answers("alone", "alone", ledgers[:1], lambda: self._asked_alone(engine))

    def _asked_alone(self, engine: ReferenceEngine) -> list[Answer]:
        """Recordings are made anew each time: they keep the kernels that were chosen when they were made."""
        from kit.campaign.generated.official import Official

        official = Official(engine)
        try:
            return list(asking.alone(official, self.asked))
        finally:
            official.close()

    def _batched(
        self,
        oracle: Oracle,
        engine: ReferenceEngine,
        form: Literal["row0", "padded"],
        ledgers: Sequence[Mapping[str, Any]],
    ) -> None:
        self.details[form] = forms.WHAT[form]
        if self._proved(form, lambda: oracle_rows(oracle, self.proved_on, form)):
            self.changed[form] = self._answers(
                form, f"as {forms.WHAT[form]}", ledgers[:1], lambda: list(asking.batched(engine, self.asked, form))
            )

    def _draw(self, oracle: Oracle, engine: ReferenceEngine, ledgers: Sequence[Mapping[str, Any]]) -> None:
        _install(ledgers[1:])
        first, second = (ledger["digest"][:12] for ledger in ledgers)
        self.details["draw"] = f"winners {second} instead of {first}" + (", the very same" if first == second else "")
        if self._proved("draw", lambda: oracle_rows(oracle, self.proved_on, "alone"), winners=ledgers[1]["digest"]):
            self.changed["draw"] = self._answers(
                "draw", "under another draw", ledgers[1:], lambda: self._asked_alone(engine)
            )

    def _instructions(self) -> None:
        def measured() -> dict[str, Any]:
            with _said(f"{len(self.asked)} questions with other CPU instructions"):
                there = other_cpu.answers_of(self.path, self.prompts, len(self.proved_on), protocol=self.protocol)
            return there.to_json()

        there = other_cpu.OtherCpu.from_json(self.passes.take("instructions", measured))
        here = other_cpu.capability()
        self.details["instructions"] = f"ATen with {there.capability} instead of {here}, oneDNN with AVX2 at most"
        if self._proved("instructions", lambda: there.truths):
            self.changed["instructions"] = there.answers

    def _answers(
        self, name: str, how: str, ledgers: Sequence[Mapping[str, Any]], measure: Callable[[], list[Answer]]
    ) -> list[Answer]:
        """A pass over all questions under the winners of one ledger, on a GPU, and of no other pass before it."""

        def measured() -> list[list[str]]:
            _install(ledgers)
            with _said(f"{len(self.asked)} questions {how}"):
                return answers_json(measure())

        return read_answers(self.passes.take(name, measured, winners=[ledger["digest"] for ledger in ledgers]))

    def _proved(self, form: str, rows: Callable[[], Sequence[Tensor]], **own: Any) -> bool:
        def tried() -> dict[str, Any]:
            proof = proof_of(rows(), self.truths)
            return {"prompts": proof.prompts, "largest": proof.largest}

        proof = self.proofs[form] = Proof(**self.passes.take(f"{form} proof", tried, **own))
        found = "harmless" if proof.holds else "NOT harmless, so not measured"
        say(f"{form}: moves the oracle's rows by {proof.largest:.2g}: {found}")
        return proof.holds


def _install(ledgers: Sequence[Mapping[str, Any]]) -> None:
    """Run with the winners of the first of some ledgers; without any nothing is autotuned."""
    for ledger in ledgers[:1]:
        autotune.install(ledger["winners"])


def _in_order(found: Mapping[str, Kind]) -> dict[str, Kind]:
    """By form, in the order that floor.json names forms in, whichever they were measured in."""
    return {name: found[name] for name in forms.WHAT if name in found}


@contextmanager
def _said(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    say(f"{what}: {time.perf_counter() - started:.1f} s")
