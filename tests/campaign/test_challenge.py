"""kit challenge: requests that follow from a bundle's digest and a seed, answers held to the bundle's claim.

The bundle is the part of one that a challenge reads, of cpu-tiny; both engines answer six fresh requests in process.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import checkpoint
from kit.campaign import challenge
from kit.campaign.challenge import ChallengeError
from kit.campaign.checkpoint_record import label_rows
from kit.checkpoint.tokens import load_tokenizer
from kit.evidence.records import write_json
from kit.profile import Profile

COUNT, SEED = 6, 4711


@pytest.fixture(scope="module")
def bundle(profile: Profile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("challenged")
    files = checkpoint.locate(profile)
    rows, shape = label_rows(files, load_tokenizer(files.base).label_ids)
    (folder / "records").mkdir()
    (folder / "records" / "label_head.bin").write_bytes(rows)
    (folder / "SHA256SUMS").write_text("the digest of this is what a challenge follows from\n")
    (folder / "profile.json").write_bytes(profile.canonical())
    calibration = {"temperature": files.calibration.temperature, "mm_temperature": files.calibration.mm_temperature}
    write_json(
        folder / "checkpoint.json",
        {"digest": files.digest, "weights_sum": None, "calibration": calibration, "label_head": {"shape": shape}},
    )
    return folder


@pytest.fixture(scope="module")
def answered(bundle: Path, profile: Profile) -> dict[str, Any]:
    document = challenge.answers(bundle, SEED, COUNT, profile)
    told = json.loads((bundle / "checkpoint.json").read_text())
    told["weights_sum"] = document["engines"]["native"]["weights_sum"]
    write_json(bundle / "checkpoint.json", told)
    return document


def test_requests_follow_from_digest_and_seed_alone(bundle: Path) -> None:
    first, again = (challenge.challenge(bundle, SEED, COUNT) for _ in range(2))
    assert first == again
    assert [entry["modality"] for entry in first["requests"]] == ["text"] * 4 + ["image"] * 2
    other = challenge.challenge(bundle, SEED + 1, COUNT)
    assert {entry["sha256"] for entry in first["requests"]}.isdisjoint(entry["sha256"] for entry in other["requests"])


def test_another_bundle_is_asked_other_things(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("another\n")
    mine, theirs = (challenge.challenge(folder, SEED, COUNT)["requests"] for folder in (bundle, tmp_path))
    assert {entry["sha256"] for entry in mine}.isdisjoint(entry["sha256"] for entry in theirs)


def test_what_is_no_bundle_cannot_be_challenged(tmp_path: Path) -> None:
    with pytest.raises(ChallengeError, match="no sealed bundle"):
        challenge.challenge(tmp_path, SEED, COUNT)


def test_answers_of_both_engines_pass_and_are_bitwise_equal(bundle: Path, answered: dict[str, Any]) -> None:
    result = challenge.check(bundle, answered, SEED, COUNT)
    assert result == {
        "challenge": "pass", "questions": COUNT, "bitwise": COUNT, "max_steps": 0.0, "max_probability_drift": 0.0, "problems": [],
    }  # fmt: skip


def test_answers_travel_as_a_file(bundle: Path, answered: dict[str, Any], tmp_path: Path) -> None:
    write_json(tmp_path / "answers.json", answered)
    result, lines = challenge.run(bundle, SEED, COUNT, answer=tmp_path / "answers.json")
    assert result["challenge"] == "pass"
    assert result["answered_here"] is False
    assert any("nobody with these weights has answered" in line for line in lines)


def first_of(document: dict[str, Any], engine: str) -> dict[str, Any]:
    entry: dict[str, Any] = document["engines"][engine]["answers"][0][0]
    return entry


def flip_sign(document: dict[str, Any], engines: tuple[str, ...]) -> None:
    """A row invented for a fresh request: its largest bit turned, logits left."""
    for engine in engines:
        entry = first_of(document, engine)
        entry["hidden"] = entry["hidden"][:2] + f"{int(entry['hidden'][2:4], 16) ^ 0x80:02x}" + entry["hidden"][4:]


def one_step(document: dict[str, Any]) -> None:
    entry = first_of(document, "native")
    entry["logits"] = "0000" + f"{int(entry['logits'][4:6], 16) ^ 1:02x}" + entry["logits"][6:]


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda d: d.update(seed=1), "seed: the answers are to 1"),
        (lambda d: d.update(bundle_sha256="0" * 64), "bundle_sha256: the answers are to"),
        (lambda d: d["requests"].pop(), "requests: the answers are to"),
        (lambda d: d["engines"].pop("native"), "native: did not answer"),
        (lambda d: d["engines"]["native"]["answers"].pop(), "native: answers 5 questions, the challenge has 6"),
        (lambda d: d["engines"]["native"].update(weights_sum="1"), "native weights_sum: is 1"),
        (lambda d: flip_sign(d, ("native",)), "hidden row and label head give"),
        (one_step, "hidden row and label head give"),
    ],
)
def test_forged_answers_are_refused_without_any_weights(
    bundle: Path, answered: dict[str, Any], forge: Callable[[dict[str, Any]], object], said: str
) -> None:
    document = copy.deepcopy(answered)
    forge(document)
    result = challenge.check(bundle, document, SEED, COUNT)
    assert result["challenge"] == "fail"
    assert any(said in problem for problem in result["problems"]), result["problems"]


def test_rows_invented_for_both_engines_are_refused_by_whoever_has_the_weights(
    bundle: Path, answered: dict[str, Any], profile: Profile
) -> None:
    """Another question's row and logits in both engines: consistent, so only another answer shows it."""
    document = copy.deepcopy(answered)
    for engine in challenge.ENGINES:
        side = document["engines"][engine]["answers"]
        donor = next(a[0] for a in side[1:] if len(a[0]["logits"]) >= len(side[0][0]["logits"]))
        side[0][0] |= {"hidden": donor["hidden"], "logits": donor["logits"][: len(side[0][0]["logits"])]}
    assert challenge.check(bundle, document, SEED, COUNT)["challenge"] == "pass"
    wrong = challenge.against_here(document, answered)
    assert [problem.split(":")[0].split(" ")[0] for problem in wrong] == ["reference", "native"]
