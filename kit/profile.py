"""A profile: everything a run depends on, read from one TOML file into frozen dataclasses.

Covers: strict loading (an unknown key, a missing key or a wrong type names the file, the table and the
key), the canonical JSON of the resolved profile and its SHA-256, and paths relative to the project root.
Does not cover: what the values mean to a stage; each module reads the part it owns.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import tomllib
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

FORMAT = "kit-profile/1"
ANSWERS = re.compile(r"reference(-[a-z0-9][a-z0-9.-]*)?\.json")  # names `protocol.answers` may have
PROJECT_ROOT = Path(__file__).resolve().parent.parent


class ProfileError(ValueError):
    """The profile file cannot be used; the message says which key and what was expected."""


@dataclass(frozen=True)
class Checkpoint:
    """Where tensors come from. `kind` decides which other keys are needed (see `_check_checkpoint`)."""

    kind: Literal["synthetic", "folder", "hub", "export"]
    generator: str = ""  # synthetic: name of a recipe in kit.checkpoint.recipes
    seed: int = 0  # synthetic
    digest: str = ""  # synthetic, folder: see kit.checkpoint; export: of what it was made from; "" accepts any
    base: str = ""  # folder, export: path; hub: repository
    base_revision: str = ""  # hub: commit
    adapter: str = ""  # folder: path; hub: repository
    adapter_revision: str = ""  # hub: commit
    pins: str = ""  # hub: JSON file with the SHA-256 of every file


@dataclass(frozen=True)
class Model:
    """The name answers carry, and the other names a request may use for it."""

    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Runtime:
    """Device, dtype and thread count of every process of a run."""

    device: Literal["cpu", "cuda"]
    dtype: Literal["bfloat16", "float32", "float64"] = "bfloat16"
    threads: int = 1
    numerics: Literal["exact"] = "exact"


@dataclass(frozen=True)
class Limits:
    """Token budgets of one question; over them a request is refused, never cut."""

    text_tokens: int = 8192
    image_tokens: int = 3072


@dataclass(frozen=True)
class GraphCache:
    """Bounds of one graph cache; `entries = 0` switches it off."""

    entries: int = 64
    megabytes: int = 1024


@dataclass(frozen=True)
class Graph:
    """Capture and replay: one policy, three caches, and the granule of the shared scratch."""

    policy: Literal["lru", "fifo"] = "lru"
    scratch_tokens: int = 1024  # capacity at start, and the step it grows by
    text: GraphCache = field(default_factory=GraphCache)
    multimodal: GraphCache = field(default_factory=GraphCache)
    vision: GraphCache = field(default_factory=GraphCache)


@dataclass(frozen=True)
class Protocol:
    """The frozen requests, and whether the answers frozen with them are this checkpoint's."""

    path: str
    sha256: str = ""  # of the folder's SHA256SUMS; "" = any folder whose sums hold
    frozen: bool = True  # judge against the folder's frozen answers, where it has any
    answers: str = "reference.json"  # the file they are in: each checkpoint has its own
    pins: str = ""  # JSON file that says what a protocol published elsewhere must be
    judged: bool = False  # hold answers to the corpus's `expected`; for trained checkpoints only
    least_right: int = 0  # judged: requests that must be right in every question
    frozen_steps: int = 0  # BF16 steps that another CPU may be off the frozen answers; 0: the gates alone judge them


@dataclass(frozen=True)
class Campaign:
    """Engines in the order they run, and the shape of the campaign."""

    engines: tuple[str, ...] = ("reference", "native", "graph")
    reference: str = "reference"  # "" = frozen answers only
    passes: int = 2
    frontend: bool = True
    remote_url: str = ""  # engine "remote"


@dataclass(frozen=True)
class Generated:
    """Questions made from a seed, beside the frozen ones; `questions = 0` leaves their stage out."""

    questions: int = 0
    seed: int = 1
    source: Literal["composed", "held-out"] = "composed"  # held-out: labelled ones of the training package's split


@dataclass(frozen=True)
class Gates:
    """Bounds on drift. They are constants: a profile may state them but not change them."""

    probability: float = 0.02
    confidence: float = 0.02
    noul: float = 0.02
    expected_value: float = 0.1
    winner_margin: float = 0.05


@dataclass(frozen=True)
class Profile:
    """One run's whole configuration."""

    format: str
    name: str
    claim: Literal["exact", "faithful", "baseline"]
    description: str
    scope: str
    not_covered: tuple[str, ...]
    checkpoint: Checkpoint
    model: Model
    runtime: Runtime
    protocol: Protocol
    limits: Limits = field(default_factory=Limits)
    graph: Graph = field(default_factory=Graph)
    campaign: Campaign = field(default_factory=Campaign)
    generated: Generated = field(default_factory=Generated)
    gates: Gates = field(default_factory=Gates)

    def resolved(self) -> dict[str, Any]:
        """Plain JSON data with every default filled in (what the audit reads)."""
        return typing.cast(dict[str, Any], json.loads(json.dumps(dataclasses.asdict(self))))

    def canonical(self) -> bytes:
        """The resolved profile as sorted, compact JSON with a final newline."""
        text = json.dumps(self.resolved(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return (text + "\n").encode()

    def sha256(self) -> str:
        """SHA-256 of `canonical()`, in hex."""
        return hashlib.sha256(self.canonical()).hexdigest()

    def model_names(self) -> tuple[str, ...]:
        """Every value a request's `model` may have."""
        return (self.model.name, *self.model.aliases)

    def protocol_path(self) -> Path:
        """The protocol folder, relative paths taken from the project root."""
        return from_root(self.protocol.path)


def from_root(path: str | Path) -> Path:
    """A path of a profile: absolute as it is, relative to the project root otherwise."""
    return PROJECT_ROOT / Path(path)


def load_profile(path: str | Path) -> Profile:
    """Read and check a profile file.

    `path` may be given from the working directory or from the project root.
    Raises ProfileError naming the file, the key and what was expected.
    """
    file = Path(path)
    if not file.exists() and not file.is_absolute():
        file = from_root(path)
    if not file.is_file():
        raise ProfileError(f"{path}: no such profile (params/*.toml of this project has some)")
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path}: not valid TOML: {error}") from error
    return profile_from_dict(data, source=str(path))


def profile_from_dict(data: dict[str, Any], source: str = "profile") -> Profile:
    """Build a profile from parsed TOML or from `Profile.resolved()`."""
    if data.get("format") != FORMAT:
        raise ProfileError(f"{source}: format is {data.get('format')!r}, expected {FORMAT!r}")
    profile = typing.cast(Profile, _build(Profile, data, source, ""))
    _check_checkpoint(profile.checkpoint, source)
    _check_values(profile, source)
    return profile


def _build(cls: Any, data: Any, source: str, where: str) -> Any:
    if not isinstance(data, dict):
        raise ProfileError(f"{source}: {where or 'top level'} is {_kind(data)}, expected a table")
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = [key for key in data if key not in fields]
    if unknown:
        raise ProfileError(
            f"{source}: unknown key {_dotted(where, unknown[0])}; known here: {', '.join(fields)}"
        )
    values: dict[str, Any] = {}
    for name, spec in fields.items():
        key = _dotted(where, name)
        if name in data:
            values[name] = _value(hints[name], data[name], source, key)
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise ProfileError(f"{source}: {key} is missing")
    return cls(**values)


def _value(hint: Any, value: Any, source: str, key: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, source, key)
    origin = typing.get_origin(hint)
    if origin is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ProfileError(f"{source}: {key} is {value!r}, expected one of {', '.join(choices)}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ProfileError(f"{source}: {key} is {value!r}, expected a list of strings")
        return tuple(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, types.UnionType) or type(value) is not hint:
        raise ProfileError(f"{source}: {key} is {_kind(value)} {value!r}, expected {hint.__name__}")
    return value


def _check_checkpoint(checkpoint: Checkpoint, source: str) -> None:
    needed = {
        "synthetic": ("generator", "digest"),
        "folder": ("base", "adapter"),
        "export": ("base",),
        "hub": ("base", "base_revision", "adapter", "adapter_revision", "pins"),
    }[checkpoint.kind]
    for name in needed:
        if not getattr(checkpoint, name):
            raise ProfileError(f"{source}: checkpoint.{name} is missing (kind = {checkpoint.kind!r} needs it)")


def _check_values(profile: Profile, source: str) -> None:
    if profile.gates != Gates():
        raise ProfileError(f"{source}: gates are fixed at {dataclasses.asdict(Gates())} and are never changed")
    positive = {
        "runtime.threads": profile.runtime.threads,
        "campaign.passes": profile.campaign.passes,
        "graph.scratch_tokens": profile.graph.scratch_tokens,
        "limits.text_tokens": profile.limits.text_tokens,
        "limits.image_tokens": profile.limits.image_tokens,
    }
    for key, value in positive.items():
        if value < 1:
            raise ProfileError(f"{source}: {key} is {value}, expected at least 1")
    known = ("reference", "native", "graph", "remote")
    engines = profile.campaign.engines
    if not engines or len(set(engines)) != len(engines) or any(name not in known for name in engines):
        raise ProfileError(f"{source}: campaign.engines is {list(engines)}, expected distinct names of {known}")
    if profile.campaign.reference not in ("", "reference"):
        raise ProfileError(
            f"{source}: campaign.reference is {profile.campaign.reference!r}, expected 'reference', the official "
            "implementation, or '' for frozen answers alone: an engine is never its own yardstick"
        )
    if profile.campaign.reference and profile.campaign.reference not in engines:
        raise ProfileError(
            f"{source}: campaign.reference is {profile.campaign.reference!r}, which campaign.engines does not run"
        )
    if not ANSWERS.fullmatch(profile.protocol.answers):
        raise ProfileError(
            f"{source}: protocol.answers is {profile.protocol.answers!r}, expected the name of a file in the protocol "
            "folder, reference.json or reference-NAME.json"
        )
    if profile.protocol.least_right and not profile.protocol.judged:
        raise ProfileError(f"{source}: protocol.least_right is {profile.protocol.least_right}, which needs protocol.judged = true")
    if profile.protocol.least_right < 0:
        raise ProfileError(f"{source}: protocol.least_right is {profile.protocol.least_right}, expected 0 (no bound) or more")
    _check_frozen_steps(profile, source)
    if profile.checkpoint.kind == "export":
        _check_export(profile.campaign, source)
    if profile.claim == "exact":
        _check_exact_claim(profile.campaign, source)
    if "remote" in engines and not profile.campaign.remote_url:
        raise ProfileError(f"{source}: campaign.remote_url is missing (engine 'remote' needs it)")
    _check_generated(profile, source)


def _check_export(campaign: Campaign, source: str) -> None:
    """An export keeps only the leading rows of the head, and the official implementation needs them all."""
    if campaign.reference or "reference" in campaign.engines:
        raise ProfileError(
            f"{source}: campaign.reference is {campaign.reference!r} and campaign.engines {list(campaign.engines)}, but "
            "an export (checkpoint.kind) holds no whole head for the reference: take 'reference' out of the engines "
            "and set campaign.reference = '', which judges frozen answers alone, or name the checkpoint it was made from"
        )


def _check_frozen_steps(profile: Profile, source: str) -> None:
    """Frozen answers may be judged in steps only where a fresh comparison on the same machine is about bits."""
    steps = profile.protocol.frozen_steps
    if steps < 0 or (steps and profile.claim != "exact"):
        raise ProfileError(
            f"{source}: protocol.frozen_steps is {steps}, expected 0, or for claim 'exact', whose fresh comparison is about "
            "bits, the BF16 steps that another CPU may be off the frozen answers"
        )


def _check_generated(profile: Profile, source: str) -> None:
    """Generated questions are answered in one process, by the reference and by a native engine on its weights."""
    questions, campaign = profile.generated.questions, profile.campaign
    if questions < 0:
        raise ProfileError(f"{source}: generated.questions is {questions}, expected 0 (none) or a number of questions")
    if questions and not (campaign.reference and {"native", "graph"}.intersection(campaign.engines)):
        raise ProfileError(
            f"{source}: generated.questions is {questions}, which needs campaign.reference = 'reference' and engine native "
            "or graph, as nothing is sent over HTTP; set it to 0, or add the engines"
        )


def _check_exact_claim(campaign: Campaign, source: str) -> None:
    """An exact claim is about bits, so it needs both sides' rows, and answers that were given twice."""
    raw = {"native", "graph"}.intersection(campaign.engines)
    if not campaign.reference or not raw or "remote" in campaign.engines or campaign.passes < 2:
        raise ProfileError(
            f"{source}: claim is 'exact', which needs campaign.reference = 'reference', engine native or graph, no "
            "remote engine (its rows cannot be seen) and at least 2 passes; claim 'baseline' promises less"
        )


def _dotted(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _kind(value: Any) -> str:
    return {dict: "a table", list: "a list", str: "the string", bool: "the boolean"}.get(
        type(value), f"the {type(value).__name__}"
    )
