"""kit audit --recompute: a forgery that is consistent throughout does not survive the model.

The folder is the part of a cpu-tiny bundle that is recomputed: two frozen requests and four generated ones, recorded by the
native engine itself; each test then edits what was recorded.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import engine as engines
from kit import runtime
from kit.campaign import recompute
from kit.campaign.prompts import generate_mixed
from kit.campaign.protocol import load_protocol
from kit.campaign.recompute import RecomputeError
from kit.engine.base import Engine, QuestionResult
from kit.evidence import provenance
from kit.evidence.floats import float32_hex
from kit.evidence.records import JsonlWriter, sha256_bytes, store_body, write_json
from kit.profile import PROJECT_ROOT, Profile

GENERATED = 4


@pytest.fixture(scope="module")
def native(profile: Profile) -> Iterator[Engine]:
    engine = engines.load("native", profile)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def recorded(profile: Profile, native: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copy(PROJECT_ROOT / "params" / "cpu-tiny.toml", folder / "profile.toml")
    corpus = (PROJECT_ROOT / "evidence" / "protocol" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in corpus]
    chosen = [next(i for i, case in enumerate(cases) if case["modality"] == kind) for kind in ("text", "image")]
    (folder / "protocol").mkdir()
    (folder / "protocol" / "corpus.jsonl").write_text("".join(corpus[i] + "\n" for i in chosen), encoding="utf-8")
    described = native.describe()
    calibration = {"temperature": 1.5, "mm_temperature": 1.25}
    write_json(
        folder / "checkpoint.json",
        {"digest": described["checkpoint_digest"], "weights_sum": described["weights_sum"], "calibration": calibration},
    )
    write_json(folder / "environment.json", provenance.environment(runtime.settings(), {}))
    record_protocol(folder, native)
    record_generated(folder, native, profile)
    return folder


def record_protocol(folder: Path, native: Engine) -> None:
    target = folder / "records" / "native"
    with (
        JsonlWriter(target / "exchanges.jsonl", {"format": "kit-exchanges/1"}) as client,
        JsonlWriter(target / "worker.jsonl", {"format": "kit-worker/2"}) as worker,
    ):
        for number, case in enumerate(load_protocol(folder / "protocol").cases, 1):
            bodies = {
                "request_sha256": store_body(folder / "records" / "bodies", case.body),
                "response_sha256": store_body(folder / "records" / "bodies", b"{}"),
            }
            client.write({
                "n": number, "target": "worker", "phase": "measured", "pass": 1, "sequence": number, "request_id": case.id,
                "modality": case.modality, "expect": 200, "status": 200, **bodies, "started_ns": 1, "finished_ns": 2,
            })  # fmt: skip
            for index, result in enumerate(native.decide(native.prepare(case.body)).questions):
                store_body(folder / "records" / "rows", result.hidden)
                kind = next(question.type for question in case.questions if question.id == result.question_id)
                worker.write({
                    "kind": "question", "sequence": number, "question": result.question_id, "index": index, "type": kind,
                    "candidates": [], "tokens": result.tokens, "grids": [], "key": "text", "action": "eager", **raw(result),
                })  # fmt: skip
            worker.write({"kind": "post", "sequence": number, "status": 200, "temperature": 1.5, **bodies})


def record_generated(folder: Path, native: Engine, profile: Profile) -> None:
    with JsonlWriter(folder / "records" / "generated.jsonl", {"format": "kit-generated/1"}) as file:
        for case in generate_mixed(GENERATED, seed=profile.generated.seed):
            (result,) = native.decide(native.prepare(case.body)).questions
            file.write({
                "request": case.id, "request_sha256": sha256_bytes(case.body), "modality": case.modality,
                "question": result.question_id, "type": case.questions[0].type, "candidate": raw(result),
            })  # fmt: skip


def raw(result: QuestionResult) -> dict[str, Any]:
    return {"logits": float32_hex(result.logits), "hidden": sha256_bytes(result.hidden)}


@pytest.fixture
def bundle(recorded: Path, tmp_path: Path) -> Path:
    return shutil.copytree(recorded, tmp_path / "bundle")


def edit_worker(bundle: Path, old: str, new: str) -> None:
    file = bundle / "records" / "native" / "worker.jsonl"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def first_question(bundle: Path) -> dict[str, Any]:
    line: dict[str, Any] = json.loads((bundle / "records" / "native" / "worker.jsonl").read_text().splitlines()[1])
    return line


def test_the_same_machine_gives_every_bit_again(bundle: Path) -> None:
    result = recompute.recompute(bundle)
    assert result["recompute"] == "pass"
    assert result["hidden_equal"] == result["logits_equal"] == result["questions"] > GENERATED
    assert result["other_machine"] == result["differences"] == []
    assert "every bit must be the same" in "\n".join(recompute.lines(result))


def test_a_row_and_its_logits_negated_are_found(bundle: Path) -> None:
    """What an offline audit passes where it is done everywhere: the model says otherwise."""
    line = first_question(bundle)
    row = (bundle / "records" / "rows" / line["hidden"]).read_bytes()
    digest = store_body(bundle / "records" / "rows", bytes(b ^ 0x80 if i % 2 else b for i, b in enumerate(row)))
    mirrored = "".join(text[:6] + f"{int(text[6:], 16) ^ 0x80:02x}" for text in split(line["logits"]))
    edit_worker(bundle, line["hidden"], digest)
    edit_worker(bundle, line["logits"], mirrored)
    result = recompute.recompute(bundle)
    assert result["recompute"] == "fail"
    assert result["max_row_distance"] == pytest.approx(2.0)
    assert "not the recorded bits, on the same CPU and torch" in result["problems"][0]


def split(text: str) -> list[str]:
    return [text[i : i + 8] for i in range(0, len(text), 8)]


def on_another_cpu(bundle: Path) -> None:
    document = json.loads((bundle / "environment.json").read_text())
    document["cpu"]["instruction_sets"] = ["avx2"]
    write_json(bundle / "environment.json", document)


def test_another_cpu_may_change_last_bits_and_no_more(bundle: Path) -> None:
    on_another_cpu(bundle)
    line = first_question(bundle)
    text = line["logits"]
    edit_worker(bundle, text, text[:4] + f"{int(text[4:6], 16) ^ 1:02x}" + text[6:])  # one BF16 step
    result = recompute.recompute(bundle)
    said = "\n".join(recompute.lines(result))
    assert result["recompute"] == "pass"
    assert 0 < result["max_steps"] <= 1
    assert "this is another machine (instruction sets: avx2 then" in said
    assert "a forgery within the differences below would not be seen" in said


def test_on_another_cpu_the_gates_still_refuse(bundle: Path) -> None:
    on_another_cpu(bundle)
    text = first_question(bundle)["logits"]
    edit_worker(bundle, text, "".join(["00002042", *split(text)[1:]]))  # one logit of 40
    assert "beyond a gate" in recompute.recompute(bundle)["problems"][0]


def test_other_weights_are_named(bundle: Path) -> None:
    document = json.loads((bundle / "checkpoint.json").read_text())
    write_json(bundle / "checkpoint.json", document | {"weights_sum": "0" * 64})
    assert recompute.recompute(bundle)["problems"][0].startswith("checkpoint.json weights_sum: the bundle says 000")


def test_a_generated_request_must_be_the_one_its_seed_makes(bundle: Path) -> None:
    file = bundle / "records" / "generated.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:2], lines[2].replace('"request_sha256":"', '"request_sha256":"0'), *lines[3:]]) + "\n")
    assert "is not the request its seed makes" in recompute.recompute(bundle)["problems"][0]


def test_a_gpu_profile_is_left_to_a_challenge(bundle: Path) -> None:
    file = bundle / "profile.toml"
    file.write_text(file.read_text().replace('device = "cpu"', 'device = "cuda"'))
    with pytest.raises(RecomputeError, match="kit challenge"):
        recompute.recompute(bundle)
