"""`kit challenge BUNDLE --seed S`: requests that nobody knew when the bundle was published.

A bundle's own requests are frozen, so a forger can prepare whatever he likes for them. A challenge names others after
publication: they follow from the bundle's digest and a seed that the challenger picks then, so neither side can choose
them. Whoever has the device answers them with both engines, and the answers are held to the bundle's own claim.

Covers: naming the requests (the same on every machine), answering them with the profile's reference and native engine,
and checking answers: the right requests, the bundle's weights and divisors, answers that follow from logits, logits
that follow from hidden rows and the bundle's label head, and native against reference as the claim has it. With a
profile at hand, also against the answers this machine gives.
Does not cover: who answered. Answers made without the weights are refused only where somebody with the weights answers too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.campaign.prompts import GENERATOR, generate_mixed
from kit.campaign.reading import declared_temperatures
from kit.campaign.sensitivity import SLACK, changed_steps
from kit.contract.answer import softmax
from kit.evidence import manifest
from kit.evidence.audit.hidden_rows import hidden_fault
from kit.evidence.audit.numbers import bf16
from kit.evidence.floats import decode_float32, float32_hex
from kit.evidence.records import sha256_bytes, sha256_file, write_json
from kit.profile import Gates, Profile, load_profile

if TYPE_CHECKING:
    from kit.campaign.protocol import Case
    from kit.engine.base import QuestionResult

FORMAT = "kit-challenge/1"
ENGINES = ("reference", "native")
SHOWN = 10


class ChallengeError(ValueError):
    """The challenge cannot be made, answered or checked; the message says what is wrong and what to do."""


# ---------------------------------------------------------------- naming


def challenge(bundle: Path, seed: int, count: int) -> dict[str, Any]:
    """The challenge of a sealed bundle: its digest, the seed, and each request's id and SHA-256."""
    digest = bundle_digest(bundle)
    return {
        "format": FORMAT, "bundle_sha256": digest, "seed": seed, "generator": GENERATOR,
        "requests": [
            {"id": case.id, "modality": case.modality, "sha256": sha256_bytes(case.body)} for case in cases(digest, seed, count)
        ],
    }  # fmt: skip


def cases(digest: str, seed: int, count: int) -> list[Case]:
    """The requests of a challenge: four of text, then two with images, and so on."""
    mixed = hashlib.sha256(f"{FORMAT} {digest} {seed}".encode()).digest()
    return list(generate_mixed(count, seed=int.from_bytes(mixed[:6], "big")))


def bundle_digest(bundle: Path) -> str:
    file = bundle / manifest.SUMS
    if not file.is_file():
        raise ChallengeError(f"{bundle} is no sealed bundle: it has no {manifest.SUMS}, so there is no digest to derive from")
    return sha256_file(file)


# ---------------------------------------------------------------- answering


def answers(bundle: Path, seed: int, count: int, profile: Profile) -> dict[str, Any]:
    """The challenge answered here, by each engine in turn: logits and hidden rows of every question."""
    from kit import engine as engines
    from kit import runtime

    declared = json.loads((bundle / "profile.json").read_text(encoding="utf-8"))
    if profile.checkpoint.digest != declared["checkpoint"]["digest"] or profile.claim != declared["claim"]:
        raise ChallengeError(f"the profile {profile.name} has other weights or another claim than the bundle's {declared['name']}")
    runtime.configure(profile)
    runtime.require_device(profile)
    document = challenge(bundle, seed, count)
    document["engines"] = {}
    for name in ENGINES:
        loaded = engines.load(name, profile)
        try:
            described = loaded.describe()
            document["engines"][name] = {
                "weights_sum": described.get("weights_sum"), "checkpoint_digest": described.get("checkpoint_digest"),
                "answers": [
                    [answered(case, result) for result in loaded.decide(loaded.prepare(case.body)).questions]
                    for case in cases(document["bundle_sha256"], seed, count)
                ],
            }  # fmt: skip
        finally:
            loaded.close()
    return document


def answered(case: Case, result: QuestionResult) -> dict[str, Any]:
    return {
        "request": case.id, "question": result.question_id, "tokens": result.tokens,
        "logits": float32_hex(result.logits), "hidden": result.hidden.hex(),
    }  # fmt: skip


# ---------------------------------------------------------------- checking


def check(bundle: Path, told: Mapping[str, Any], seed: int, count: int) -> dict[str, Any]:
    """Hold answers to the challenge and to the bundle's claim; needs no device and no weights."""
    wanted = challenge(bundle, seed, count)
    wrong = [
        f"{name}: the answers are to {str(told.get(name))[:60]}, this challenge is {str(wanted[name])[:60]}"
        for name in ("format", "bundle_sha256", "seed", "generator", "requests")
        if told.get(name) != wanted[name]
    ]
    if wrong:
        return verdict(wrong, [])
    sides = {name: told.get("engines", {}).get(name) for name in ENGINES}
    wrong += [f"{name}: did not answer" for name, side in sides.items() if not side]
    if wrong:
        return verdict(wrong, [])
    asked = cases(wanted["bundle_sha256"], seed, count)
    for name, side in sides.items():
        wrong += [*of_the_bundle(bundle, name, side), *consistent(bundle, name, side["answers"], asked)]
    pairs = [] if wrong else compared(bundle, flat(sides["reference"]), flat(sides["native"]), asked)
    return verdict([*wrong, *beyond_claim(bundle, pairs)], pairs)


def of_the_bundle(bundle: Path, name: str, side: Mapping[str, Any]) -> Iterator[str]:
    """An engine that holds other weights than the bundle's answers for another model."""
    told = json.loads((bundle / "checkpoint.json").read_text(encoding="utf-8"))
    for key, expected in (("checkpoint_digest", told["digest"]), ("weights_sum", told.get("weights_sum"))):
        if side.get(key) != expected:
            yield f"{name} {key}: is {side.get(key)}, checkpoint.json of the bundle has {expected}"


def consistent(bundle: Path, name: str, found: Sequence[Any], asked: Sequence[Case]) -> Iterator[str]:
    """Every question of every request once, with logits that follow from its row and the bundle's label head."""
    profile = json.loads((bundle / "profile.json").read_text(encoding="utf-8"))
    rows = label_rows(bundle)
    expected = [(case.id, question.id, len(question.candidates)) for case in asked for question in case.questions]
    got = [(a["request"], a["question"], len(a["logits"]) // 8) for request in found for a in request]
    if got != expected:
        yield f"{name}: answers {len(got)} questions, the challenge has {len(expected)}, or others, or in another order"
        return
    for entry in (a for request in found for a in request):
        fault = hidden_fault(bytes.fromhex(entry["hidden"]), entry["logits"], rows, profile["runtime"]["dtype"])
        if fault:
            yield f"{name} {entry['request']} {entry['question']}: {fault}"


def label_rows(bundle: Path) -> list[tuple[float, ...]]:
    head = json.loads((bundle / "checkpoint.json").read_text(encoding="utf-8"))["label_head"]
    values, width = bf16((bundle / "records" / "label_head.bin").read_bytes()), head["shape"][1]
    return [values[place : place + width] for place in range(0, len(values), width)]


def flat(side: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [entry for request in side["answers"] for entry in request]


def compared(
    bundle: Path, reference: Sequence[Mapping[str, Any]], candidate: Sequence[Mapping[str, Any]], asked: Sequence[Case]
) -> list[dict[str, Any]]:
    """Each question's two answers: bits, steps, and the largest change of a probability."""
    temperatures = declared_temperatures(bundle)
    modality = {case.id: case.modality for case in asked}
    found = []
    for a, b in zip(reference, candidate, strict=True):
        x, y = decode_float32(a["logits"]), decode_float32(b["logits"])
        p, q = (softmax(values, temperatures[modality[a["request"]]]) for values in (x, y))
        found.append({
            "request": a["request"], "question": a["question"], "bitwise": a["hidden"] == b["hidden"] and a["logits"] == b["logits"],
            "steps": changed_steps(x, y), "probability": max(abs(m - n) for m, n in zip(p, q, strict=True)),
        })  # fmt: skip
    return found


def beyond_claim(bundle: Path, pairs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """An exact claim allows no bit, any other the gates of the field."""
    exact = json.loads((bundle / "profile.json").read_text(encoding="utf-8"))["claim"] == "exact"
    for pair in pairs:
        far = pair["probability"] > Gates().probability + SLACK
        if (exact and not pair["bitwise"]) or far:
            what = "other bits than the reference, and the claim is exact" if exact else "beyond the gate of probabilities"
            yield f"{pair['request']} {pair['question']}: {what} ({pair['steps']:.3g} steps, {pair['probability']:.2g})"


def against_here(told: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Answers of somebody else against this machine's to the same challenge, bit for bit."""
    return [
        f"{name} {a['request']} {a['question']}: other bits than this machine gives"
        for name in ENGINES
        for a, b in zip(flat(told["engines"][name]), flat(here["engines"][name]), strict=True)
        if (a["logits"], a["hidden"]) != (b["logits"], b["hidden"])
    ]


def verdict(wrong: Sequence[str], pairs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "challenge": "fail" if wrong or not pairs else "pass",
        "questions": len(pairs),
        "bitwise": sum(pair["bitwise"] for pair in pairs),
        "max_steps": max((pair["steps"] for pair in pairs), default=None),
        "max_probability_drift": max((pair["probability"] for pair in pairs), default=None),
        "problems": list(wrong),
    }


# ---------------------------------------------------------------- from the command line


def run(
    bundle: Path, seed: int, count: int, *, answer: Path | None = None, profile: str = "", out: Path | None = None
) -> tuple[dict[str, Any], list[str]]:
    """What `kit challenge` does; returns the document of the last line, and the lines before it.

    Neither answer nor profile: name the requests. profile: answer them here and check. answer: check a file of
    answers; with a profile as well, also bit for bit against this machine's.
    """
    if not answer and not profile:
        document = challenge(bundle, seed, count)
        if out:
            write_json(out, document | {"bodies": [json.loads(case.body) for case in cases(document["bundle_sha256"], seed, count)]})
        return document, listed(document)
    here = answers(bundle, seed, count, load_profile(profile)) if profile else None
    if here and out:
        write_json(out, here)
    told = read_answers(answer) if answer else here
    assert told is not None
    result = check(bundle, told, seed, count)
    if answer and here and not result["problems"]:
        wrong = against_here(told, here)
        result |= {"challenge": "fail" if wrong else result["challenge"], "problems": wrong}
    result = {**result, "bundle_sha256": bundle_digest(bundle), "seed": seed, "answered_here": bool(profile)}
    return result, said(result)


def read_answers(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_bytes())
    except ValueError as error:
        raise ChallengeError(f"{file} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ChallengeError(f"{file} holds no answers: expected the document that kit challenge --profile --out writes")
    return document


def listed(document: Mapping[str, Any]) -> list[str]:
    head = f"challenge of bundle {document['bundle_sha256'][:16]}... with seed {document['seed']}: {len(document['requests'])} requests"
    rows = [f"  {entry['id']:<12}{entry['modality']:<7}{entry['sha256']}" for entry in document["requests"]]
    return [head, *rows, "whoever has the device answers with: kit challenge BUNDLE --seed S --profile PROFILE --out ANSWERS"]


def said(result: Mapping[str, Any]) -> list[str]:
    lines = [f"problem: {problem}" for problem in result["problems"][:SHOWN]]
    if result["questions"]:
        lines.append(
            f"{result['bitwise']} of {result['questions']} fresh questions bit for bit equal, native against reference; at most "
            f"{result['max_steps']:.3g} BF16 steps and {result['max_probability_drift']:.2g} in probability"
        )
    if not result["answered_here"]:
        lines.append("nobody with these weights has answered beside the file; --profile does that where the device is")
    return [*lines, f"challenge: {result['challenge']} ({len(result['problems'])} problems)"]
