"""The folder of one run: where it lies, what it was started with, and when it may be continued.

Covers: naming, creating and reopening `evidence/runs/<id>` (run.json, profile.toml, profile.json,
protocol/), and refusing to continue with a changed profile or protocol. The same folder becomes the bundle.
Does not cover: stages (`kit.campaign.stage`) and sealing (`kit.evidence.package`).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kit import __version__
from kit.campaign.protocol import Protocol, load_protocol, protocol_of
from kit.evidence.records import write_atomic, write_json
from kit.profile import PROJECT_ROOT, Profile, load_profile

FORMAT = "kit-run/1"
RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


class RunError(RuntimeError):
    """The run folder cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Run:
    """An open run: its folder, profile and protocol.

    profile_path is the run's own copy, which workers are started with; asked_for is the path as given.
    """

    path: Path
    profile: Profile
    profile_path: Path
    protocol: Protocol
    asked_for: str

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def sealed(self) -> bool:
        """A bundle with checksums is never written to again."""
        return (self.path / "SHA256SUMS").exists()


def runs_root() -> Path:
    """Where runs are kept: KIT_RUNS, or evidence/runs of the project."""
    return Path(os.environ.get("KIT_RUNS") or PROJECT_ROOT / "evidence" / "runs")


def run_path(run_id: str) -> Path:
    """Folder of a run id. Raises RunError for a name that is not a plain folder name."""
    if not RUN_ID.fullmatch(run_id):
        raise RunError(f"run id {run_id!r}: expected lower-case letters, digits, '.', '_' and '-'")
    return runs_root() / run_id


def new_id(profile: Profile) -> str:
    """A fresh id: profile name and UTC time."""
    return f"{profile.name}-{datetime.now(UTC):%Y%m%dt%H%M%Sz}"


def interactive_id(profile: Profile) -> str:
    """The run a notebook opened by hand belongs to (KIT_RUN names another)."""
    return os.environ.get("KIT_RUN") or f"interactive-{profile.name}"


def open_run(profile_path: str | Path, run_id: str) -> Run:
    """Open a run, creating its folder when it is new.

    Raises ProfileError or ProtocolError for unusable input, RunError when the folder was started with
    another profile or protocol than asked for now.
    """
    profile = load_profile(profile_path)
    protocol = protocol_of(profile)
    path = run_path(run_id)
    facts_file = path / "run.json"
    if facts_file.exists():
        _refuse_changes(_read_facts(facts_file), profile, protocol, path)
    elif path.exists() and any(path.iterdir()):
        raise RunError(f"{path.name}: the folder exists but has no run.json, so it is not a run; remove it")
    else:
        _create(path, profile, Path(profile_path), protocol)
    return Run(path, profile, path / "profile.toml", protocol, str(profile_path))


@contextmanager
def exclusive(run_id: str) -> Iterator[None]:
    """Hold a run id against a second process; the system lets go of it when this one dies. Raises RunError.

    The lock lies beside the folder, since the folder may be removed and made again.
    """
    run_path(run_id)
    runs_root().mkdir(parents=True, exist_ok=True)
    with (runs_root() / f".lock-{run_id}").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"run {run_id} is being run by another process; wait for it or stop it") from None
        yield


@contextmanager
def run_file(profile_path: str, run_id: str, name: str) -> Iterator[Path | None]:
    """Where the run keeps the file `name`, held against a campaign on the same device; None without a run.

    Raises RunError for a run that is sealed.
    """
    if not run_id:
        yield None
        return
    with exclusive(run_id):
        run = open_run(profile_path, run_id)
        if run.sealed:
            raise RunError(f"run {run_id} is sealed; use --out to keep {Path(name).name} beside it")
        yield run.path / name


def latest_unfinished(profile: Profile) -> str:
    """Id of the newest unsealed run of this profile. Raises RunError if there is none."""
    started = {}
    for file in runs_root().glob("*/run.json"):
        try:
            facts = _read_facts(file)
        except RunError:
            continue  # another run that was damaged is no reason not to continue ours
        sealed = (file.parent / "SHA256SUMS").exists()
        ours = facts.get("profile") == profile.name and isinstance(facts.get("started_utc"), str)
        if ours and not sealed and file.parent.name != interactive_id(profile):
            started[facts["started_utc"]] = file.parent.name
    if not started:
        raise RunError(f"no unfinished run of {profile.name} to resume; leave --resume out to start a new one")
    return started[max(started)]


def _read_facts(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"run {file.parent.name}: run.json is damaged ({error}); start a new run") from error


def _create(path: Path, profile: Profile, profile_path: Path, protocol: Protocol) -> None:
    path.mkdir(parents=True, exist_ok=True)
    source = profile_path if profile_path.exists() else PROJECT_ROOT / profile_path
    write_atomic(path / "profile.toml", source.read_bytes())
    write_atomic(path / "profile.json", profile.canonical())
    shutil.rmtree(path / "protocol", ignore_errors=True)
    shutil.copytree(protocol.path, path / "protocol", ignore=shutil.ignore_patterns("__pycache__"))
    # Last, so that a folder with run.json is complete.
    write_json(path / "run.json", _facts(path, profile, protocol))


def _facts(path: Path, profile: Profile, protocol: Protocol) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "id": path.name,
        "profile": profile.name,
        "profile_sha256": profile.sha256(),
        "protocol_sha256": protocol.sha256,
        "started_utc": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "kit_version": __version__,
    }


def _refuse_changes(facts: dict[str, Any], profile: Profile, protocol: Protocol, path: Path) -> None:
    if facts.get("format") != FORMAT:
        raise RunError(f"{path.name}/run.json: format is {facts.get('format')!r}, expected {FORMAT!r}")
    for what, found, now in (
        ("profile", facts["profile_sha256"], profile.sha256()),
        ("protocol", facts["protocol_sha256"], protocol.sha256),
    ):
        if found != now:
            raise RunError(
                f"run {path.name} was started with another {what} ({found[:12]}..., now {now[:12]}...): "
                "restore it, or start a new run (for an interactive run, remove its folder)"
            )
    # Workers are started with the run's own copies, so these must not have been edited either.
    if load_profile(path / "profile.toml").sha256() != facts["profile_sha256"]:
        raise RunError(f"run {path.name}: its profile.toml was edited after the run began; start a new run")
    load_protocol(path / "protocol", facts["protocol_sha256"], profile.protocol.answers)

