"""`kit audit BUNDLE --recompute`: the protocol once more, on this machine, against what a bundle recorded.

An offline audit holds a bundle against itself; a forgery that is consistent throughout passes it. Running the bundle's
own profile again does not: the answers come from the weights, which its profile pins. On a CPU that takes seconds.

Covers: the bundle's requests, frozen and generated, through the kit's native engine on the bundle's own profile, every
label logit and hidden row against the recorded ones; whether generated requests are those their seed makes; and what
another CPU or another build of torch may change: the order of sums, fused products, BF16 instructions, so the last bits
and no more. Where the machine is the same, bits must be; where it is not, BF16 steps and the gates of the field decide,
and a forgery within them would not be seen.
Does not cover: profiles of a GPU (`kit challenge`, for whoever has the device), or the bundle's own sources: what runs
is this kit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.answers import mean
from kit.campaign.diff.answers import relative_rms
from kit.campaign.generated.source import declared
from kit.campaign.protocol import Case, load_protocol
from kit.campaign.reading import declared_temperatures, read_engine
from kit.campaign.sensitivity import SLACK, changed_steps, first_maximum, margin
from kit.contract.answer import softmax
from kit.evidence import auditing, provenance
from kit.evidence.floats import decode_float32
from kit.evidence.records import read_jsonl, sha256_bytes
from kit.profile import Gates, Profile, load_profile

if TYPE_CHECKING:
    from kit.engine.base import Engine, QuestionResult

SHOWN = 10  # questions named one by one
MAY_CHANGE = (
    "another CPU or build may add sums in another order, fuse products and use BF16 instructions: last bits of rows and "
    "logits may differ, and a forgery within the differences below would not be seen"
)


class RecomputeError(RuntimeError):
    """The protocol cannot be run again here; the message says why and what can be done instead."""


@dataclass(frozen=True)
class Recorded:
    """What the bundle says one question gave: float32 label logits, digest of the hidden row, divisor of the logits."""

    kind: str
    logits: tuple[float, ...]
    hidden: str
    temperature: float


@dataclass(frozen=True)
class Difference:
    """One question, recomputed against recorded.

    steps: as `sensitivity.changed_steps`; row: relative L2 distance, None where the recorded row was not kept.
    """

    request: str
    question: str
    hidden_equal: bool
    logits_equal: bool
    steps: float
    row: float | None
    probability: float
    expected: float
    winner_changed: bool

    @property
    def bitwise(self) -> bool:
        return self.hidden_equal and self.logits_equal


def recompute(bundle: Path) -> dict[str, Any]:
    """Run a bundle's protocol again and compare. Raises RecomputeError where that cannot be done on this machine."""
    from kit import engine as engines
    from kit import runtime

    profile = profile_of(bundle)
    if profile.runtime.device != "cpu":
        raise RecomputeError(
            f"the profile {profile.name} computes on {profile.runtime.device}; --recompute is for CPU profiles. Whoever has "
            "such a device can answer fresh requests: kit challenge BUNDLE --seed S --profile PROFILE"
        )
    side = next((name for name in ("native", "reference", "graph") if name in profile.campaign.engines), "")
    if not side:
        raise RecomputeError(f"the profile {profile.name} ran no engine of this kit, so there are no logits to compare")
    recorded = recorded_questions(bundle, side)
    cases = list(load_protocol(bundle / "protocol").cases)
    wrong = add_generated(bundle, profile, cases, recorded)
    runtime.configure(profile)
    loaded = engines.load("native", profile)
    try:
        here = provenance.environment(runtime.settings(), {})
        wrong += same_weights(bundle, loaded.describe())
        dtype = profile.runtime.dtype
        found = [difference for case in cases for difference in differences(loaded, case, recorded, bundle, dtype)]
    finally:
        loaded.close()
    machine = machine_changes(json.loads((bundle / "environment.json").read_text(encoding="utf-8")), here)
    return document(found, [*wrong, *problems(found, machine, profile.gates)], machine, side)


def profile_of(bundle: Path) -> Profile:
    """The profile the bundle declares."""
    file = bundle / "profile.toml"
    if not file.is_file():
        raise RecomputeError(f"{bundle.name} has no profile.toml, so there is nothing to run again")
    return load_profile(file)


def recorded_questions(bundle: Path, engine: str) -> dict[tuple[str, str], Recorded]:
    """(request, question) -> what the engine's first measured pass recorded."""
    return {
        (request, name): Recorded(question.type, question.logits, question.hidden, exchange.post["temperature"])
        for request, exchange in read_engine(bundle, engine).measured().items()
        if exchange.post is not None
        for name, question in exchange.questions.items()
    }


def add_generated(bundle: Path, profile: Profile, cases: list[Case], recorded: dict[tuple[str, str], Recorded]) -> list[str]:
    """Add the generated requests, where the run asked any, as their seed makes them; requests that are others."""
    file = bundle / "records" / "generated.jsonl"
    if not file.is_file():
        return []
    _, lines = read_jsonl(file, "kit-generated/1")
    made = list(declared(profile.generated, len(lines)))
    temperatures = declared_temperatures(bundle)
    wrong = []
    for line, case in zip(lines, made, strict=True):
        if (line["request"], line["request_sha256"]) != (case.id, sha256_bytes(case.body)):
            wrong.append(f"records/generated.jsonl {line['request']}: is not the request its seed makes, {case.id}")
            continue
        told = line["candidate"]
        recorded[case.id, line["question"]] = Recorded(
            line["type"], decode_float32(told["logits"]), told["hidden"], temperatures[line["modality"]]
        )
        cases.append(case)
    return wrong


def same_weights(bundle: Path, described: Mapping[str, Any]) -> list[str]:
    """Whether this engine holds the weights that the bundle says it ran on."""
    told = json.loads((bundle / "checkpoint.json").read_text(encoding="utf-8"))
    pairs = {"digest": described.get("checkpoint_digest"), "weights_sum": described.get("weights_sum")}
    return [
        f"checkpoint.json {name}: the bundle says {told.get(name)}, this engine holds {held}"
        for name, held in pairs.items()
        if told.get(name) != held
    ]


def differences(
    engine: Engine, case: Case, recorded: Mapping[tuple[str, str], Recorded], bundle: Path, dtype: str
) -> Iterator[Difference]:
    """Each question of a request, run again."""
    for result in engine.decide(engine.prepare(case.body)).questions:
        told = recorded.get((case.id, result.question_id))
        if told is None or len(told.logits) != len(result.logits):
            raise RecomputeError(f"records: {case.id} {result.question_id} has no recorded logits of this many candidates")
        yield difference(case.id, result, told, row_of(bundle, told.hidden), dtype)


def row_of(bundle: Path, digest: str) -> bytes | None:
    """A recorded row; None for a generated question's, of which the digest alone is kept."""
    file = bundle / "records" / "rows" / digest
    return file.read_bytes() if file.is_file() else None


def difference(request: str, result: QuestionResult, told: Recorded, row: bytes | None, dtype: str) -> Difference:
    """row: the recorded one, where it was kept; dtype: of hidden rows."""
    p, q = softmax(told.logits, told.temperature), softmax(result.logits, told.temperature)
    score = told.kind == "score"
    return Difference(
        request=request,
        question=result.question_id,
        hidden_equal=sha256_bytes(result.hidden) == told.hidden,
        logits_equal=result.logits == told.logits,
        steps=changed_steps(told.logits, result.logits),
        row=None if row is None else row_distance(row, result.hidden, dtype),
        probability=max(abs(a - b) for a, b in zip(p, q, strict=True)),
        expected=abs(mean(p) - mean(q)) if score else 0.0,
        winner_changed=first_maximum(p) != first_maximum(q) and margin(p) >= Gates().winner_margin,
    )


def row_distance(recorded: bytes, found: bytes, dtype: str) -> float:
    """Relative L2 distance of two rows; 1 where they are not of one width, or the recorded one is zero."""
    if recorded == found:
        return 0.0
    apart = relative_rms(recorded, found, dtype) if len(recorded) == len(found) else None
    return 1.0 if apart is None else apart


def machine_changes(told: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What of the run's machine is another here, as far as arithmetic depends on it."""

    def facts(document: Mapping[str, Any]) -> dict[str, Any]:
        versions = document.get("versions") or {}
        settings = document.get("settings") or {}
        return {
            "torch": versions.get("torch"),
            "instruction sets": " ".join((document.get("cpu") or {}).get("instruction_sets") or ()),
            "CPU model": (document.get("cpu") or {}).get("model"),
            "instruction set of torch": settings.get("cpu_capability"),
        }

    before, now = facts(told), facts(here)
    return [f"{name}: {before[name]} then, {now[name]} here" for name in before if before[name] != now[name]]


def problems(found: list[Difference], machine: list[str], gates: Gates) -> list[str]:
    """What the recomputed answers show against the recorded ones."""
    if not found:
        return ["nothing was compared"]
    if not machine:
        return [f"{at(d)}: not the recorded bits, on the same CPU and torch ({distance(d)})" for d in found if not d.bitwise]
    return [f"{at(d)}: beyond a gate ({distance(d)})" for d in found if beyond(d, gates)]


def beyond(d: Difference, gates: Gates) -> bool:
    """Whether a question would fail the gates of the field."""
    far = d.probability > gates.probability + SLACK or d.expected > gates.expected_value + SLACK
    return far or d.winner_changed


def at(d: Difference) -> str:
    return f"records: {d.request} {d.question}"


def distance(d: Difference) -> str:
    row = "not kept" if d.row is None else f"{d.row:.2g} apart"
    return f"{d.steps:.3g} BF16 steps, {d.probability:.2g} in probability, hidden row {row}"


def document(found: list[Difference], wrong: list[str], machine: list[str], side: str) -> dict[str, Any]:
    return {
        "recompute": "fail" if wrong else "pass",
        "against": side,
        "questions": len(found),
        "hidden_equal": sum(d.hidden_equal for d in found),
        "logits_equal": sum(d.logits_equal for d in found),
        "max_steps": max((d.steps for d in found), default=None),
        "max_row_distance": max((d.row for d in found if d.row is not None), default=None),
        "max_probability_drift": max((d.probability for d in found), default=None),
        "other_machine": machine,
        "problems": wrong,
        "differences": [asdict(d) for d in found if not d.bitwise],
    }


def run(bundle: Path, audit: str) -> int:
    """What `kit audit --recompute` does after the audit: say the outcome, its document last. 0 pass, 1 fail, 2 not here.

    audit: what the offline audit came to, repeated in the last line.
    """
    with auditing.bundle_folder(bundle) as folder:
        try:
            result = recompute(folder)
        except RecomputeError as error:
            result = {"recompute": "not-judged", "problems": [str(error)]}
            print(f"not recomputed: {error}")
        else:
            print("\n".join(lines(result)))
    print(json.dumps({"audit": audit, **result}, ensure_ascii=False, separators=(",", ":")), flush=True)
    return {"pass": 0, "fail": 1}.get(result["recompute"], 2)


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """The outcome for people."""
    yield (
        f"recomputed on this machine with the kit's native engine: {result['hidden_equal']} of {result['questions']} hidden "
        f"rows and {result['logits_equal']} logit rows bit for bit those recorded for {result['against']}"
    )
    if result["other_machine"]:
        yield f"this is another machine ({'; '.join(result['other_machine'])}): {MAY_CHANGE}"
    else:
        yield "same CPU and torch as the run's: every bit must be the same"
    for entry in result["differences"][:SHOWN]:
        yield f"  {entry['request']} {entry['question']}: {entry['steps']:.3g} steps, {entry['probability']:.2g} in probability"
    for problem in result["problems"][:SHOWN]:
        yield f"problem: {problem}"
    yield f"recompute: {result['recompute']} ({len(result['problems'])} problems)"
