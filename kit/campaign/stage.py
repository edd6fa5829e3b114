"""One stage of a run, as its notebook sees it: begin, do the work once, finish with a sentinel.

Covers: the order of stages, what each needs, reading instead of repeating finished work, and the atomic
result file that alone says a stage finished. A stage of a sealed bundle is read-only.
Does not cover: the work itself, or running notebooks (`kit.campaign.notebook`).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import runtime
from kit.campaign import tune
from kit.campaign.run_folder import Run, RunError, interactive_id, open_run
from kit.engine import autotune
from kit.evidence.records import write_atomic, write_json
from kit.profile import load_profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kit.profile import Profile

FORMAT = "kit-stage/1"
SENTINEL = "finished"

ENGINE_STAGES = {
    "03_reference": "reference",
    "04_native_eager": "native",
    "04_remote": "remote",
    "05_native_graph": "graph",
}
# Stages about our own native engine: a profile that does not run it has nothing to show there.
OPERATORS = "06_operators"
NATIVE_STAGES = (OPERATORS, "07_faults")
# Questions beside the frozen ones, where a profile asks for them.
GENERATED = "08_generated"
# On CUDA this stage chooses the kernels' configurations, and everything that computes runs with them.
TUNING = "01_preflight"
BEFORE_TUNING = (TUNING, "02_checkpoint", "04_remote")

# Stage -> the stages whose results it reads (those of them that the profile runs).
NEEDS: dict[str, tuple[str, ...]] = {
    "01_preflight": (),
    "02_checkpoint": (),
    "03_reference": ("02_checkpoint",),
    "04_native_eager": ("02_checkpoint",),
    "04_remote": (),
    "05_native_graph": ("02_checkpoint",),
    "06_operators": ("02_checkpoint",),
    "07_faults": ("04_native_eager",),
    "08_drift": tuple(ENGINE_STAGES),
    GENERATED: ("02_checkpoint",),
    "09_performance": tuple(ENGINE_STAGES),
    "10_evidence": (
        "01_preflight", "02_checkpoint", *ENGINE_STAGES, "06_operators", "07_faults", "08_drift", GENERATED,
        "09_performance",
    ),
}  # fmt: skip
STAGES = tuple(NEEDS)


class StageMissingError(RuntimeError):
    """Earlier stages have not finished; the message names the notebooks to run."""


@dataclass(frozen=True)
class Stage:
    """An open stage. `finished` was true at begin: its work is read, not repeated."""

    name: str
    run: Run
    parameters: dict[str, Any]
    finished: bool

    @property
    def path(self) -> Path:
        return self.run.path

    def configure(self) -> dict[str, Any]:
        """Apply the profile's process settings, import torch, install the run's autotune winners.

        Only stages that compute need it.
        """
        settings = runtime.configure(self.run.profile)
        autotune.install_recorded()
        return settings

    def read_json(self, name: str) -> Any:
        """A JSON file of the run."""
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def once(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The JSON file `name` of the run: computed by `work` now, or read if the stage had finished."""
        if not self.finished:
            write_json(self.path / name, work())
        result: dict[str, Any] = self.read_json(name)
        return result

    def save_figure(self, name: str, figure: Figure) -> Figure:
        """Keep a figure under figures/<name>.png (not in a sealed bundle) and hand it back for display."""
        if not self.run.sealed:
            from kit.campaign.figures import png_of

            (self.path / "figures").mkdir(exist_ok=True)
            write_atomic(self.path / "figures" / f"{name}.png", png_of(figure))
        return figure

    def finish(self, result: dict[str, Any]) -> str:
        """Write the stage's result with its sentinel; the last thing a notebook does."""
        if not self.run.sealed:
            (self.path / "stages").mkdir(exist_ok=True)
            write_json(
                self.path / "stages" / f"{self.name}.json",
                {
                    "format": FORMAT,
                    "stage": self.name,
                    "profile_sha256": self.run.profile.sha256(),
                    "parameters": self.parameters,
                    "result": result,
                    "sentinel": SENTINEL,
                },
            )
        return f"{self.name} {SENTINEL}"


def begin(name: str, *, profile: str, run_dir: str = "", rerun: bool = False, **parameters: Any) -> Stage:
    """Open a stage of a run; every parameter of the notebook is passed on, so that its result echoes it.

    `run_dir` is a run id; empty means the interactive run of the profile. Raises StageMissingError when
    a needed stage has not finished, RunError for a changed profile or protocol.
    """
    # Libraries import a progress bar that would ask for a widget nobody needs.
    warnings.filterwarnings("ignore", message="IProgress not found")
    run = open_run(profile, run_dir or interactive_id_of(profile))
    _set_environment(name, run)
    if name not in stages_of(run.profile):
        raise StageMissingError(f"profile {run.profile.name} does not run {name}: {_why_left_out(name, run.profile)}")
    missing = [need for need in needed_stages(name, run) if not is_finished(run, need)]
    if missing:
        notebooks = ", ".join(f"{need}.ipynb" for need in missing)
        raise StageMissingError(f"{name} reads what other stages leave in run {run.id}: first run {notebooks}")
    if rerun:
        forget(run, name)
    effective = {"profile": profile, "run_dir": run_dir, "rerun": rerun, **parameters}
    return Stage(name, run, effective, is_finished(run, name))


def interactive_id_of(profile_path: str) -> str:
    """Id of the interactive run of a profile file."""
    return interactive_id(load_profile(profile_path))


def needed_stages(name: str, run: Run) -> list[str]:
    """What a stage needs, less what this profile does not run."""
    runs = stages_of(run.profile)
    needs = list(NEEDS[name])
    if run.profile.runtime.device == "cuda" and name not in BEFORE_TUNING:
        needs = [TUNING, *(need for need in needs if need != TUNING)]
    return [need for need in needs if need in runs]


def _set_environment(name: str, run: Run) -> None:
    """Variables of this process and of those it starts. The tuning stage decides for itself what to install."""
    os.environ.pop(autotune.VARIABLE, None)
    os.environ.update(runtime.environment(run.profile) | tune.run_environment(run))
    if name == TUNING:
        os.environ.pop(autotune.VARIABLE, None)


def stages_of(profile: Profile) -> tuple[str, ...]:
    """The stages of a profile, in order."""
    engines = profile.campaign.engines
    left_out = {stage for stage, engine in ENGINE_STAGES.items() if engine not in engines}
    if "native" not in engines:
        left_out.update(NATIVE_STAGES)
    if profile.checkpoint.kind == "export":
        left_out.add(OPERATORS)  # it compares with the official reference, which an export cannot be loaded into
    if not profile.generated.questions:
        left_out.add(GENERATED)
    return tuple(stage for stage in STAGES if stage not in left_out)


def _why_left_out(name: str, profile: Profile) -> str:
    if name == GENERATED:
        return "generated.questions is 0"
    engine = ENGINE_STAGES.get(name, "native")
    if engine in profile.campaign.engines:
        return "an export has no reference to compare with"
    return f"it has no engine {engine!r}"


def is_finished(run: Run, name: str) -> bool:
    """A stage finished when its result file belongs to this profile and ends in the sentinel.

    Raises RunError for a file that cannot be read: no interrupted stage leaves one.
    """
    file = run.path / "stages" / f"{name}.json"
    if not file.exists():
        return False
    try:
        result = dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise RunError(
            f"run {run.id}: stages/{file.name} is damaged ({error}), though it was written whole; restore it, or "
            "remove it to have the stage done again"
        ) from error
    found = (result.get("stage"), result.get("sentinel"), result.get("profile_sha256"))
    return bool(found == (name, SENTINEL, run.profile.sha256()))


def forget(run: Run, name: str) -> None:
    """Drop a stage's result and those of all later stages, which were computed from it."""
    if run.sealed:
        raise RunError(f"run {run.id} is sealed: start a new run instead of repeating {name}")
    for later in STAGES[STAGES.index(name) :]:
        (run.path / "stages" / f"{later}.json").unlink(missing_ok=True)
