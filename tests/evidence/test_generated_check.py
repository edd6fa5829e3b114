"""The auditor on generated questions, layers and a noise floor: figures are computed again, one forged figure is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.campaign.floor import document
from kit.campaign.floor.asking import Answer, Question
from kit.campaign.floor.document import FILE as FLOOR
from kit.campaign.floor.proof import Proof
from kit.campaign.generated import lines, summary
from kit.campaign.prompts import content_of, generate_mixed
from kit.campaign.verdict import compute_verdict
from kit.evidence import audit
from kit.evidence.records import write_json
from kit.profile import load_profile
from tests.campaign.generated import made_up
from tests.campaign.synthetic_run import REQUESTS
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[Any], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle with 60 generated questions."""
    return make_bundle(tmp_path_factory.mktemp("generated"), generated=60)


@pytest.fixture
def tamper(made: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(made, tmp_path / "bundle"))


def test_a_good_bundle_passes(made: Path) -> None:
    assert audit_problems(made) == []
    gates = {gate["gate"] for gate in json.loads((made / "verdict.json").read_text())["gates"]}
    assert {"generated", "generated_hidden_bitwise", "generated_logits_bitwise", "generated_flips"} <= gates


def test_a_bundle_that_was_asked_for_none_needs_none(sealed: Path) -> None:
    assert audit_problems(sealed) == []
    assert not (sealed / "generated.json").exists()


@pytest.mark.parametrize("name", ["generated.json", "layers.json", "records/generated.jsonl", "stages/08_generated.json"])
def test_what_is_missing_is_named(tamper: Tamper, name: str) -> None:
    (tamper.path / name).unlink()
    tamper.reseal()
    assert any(f"{name}: is missing" in problem for problem in audit_problems(tamper.path))


FIGURES: dict[str, tuple[Edit, str]] = {
    "flips": (lambda d: d["all"].update(flips=1), "generated.json all.flips: is 1, recomputed 0"),
    "bound": (lambda d: d["text"].update(flip_rate_upper=0.001), "generated.json text.flip_rate_upper"),
    "declared": (lambda d: d.update(declared=50), "generated.json declared: is 50, recomputed 60"),
    "ratio": (lambda d: d["oracle"]["hidden"]["ratio"].update(upper=1.01), "oracle.hidden.ratio.upper: is 1.01, recomputed 1.0"),
    "divergence": (lambda d: d["image"]["kl"].update(max=1e-3), "generated.json image.kl.max"),
    "margins": (lambda d: d["margins"][3].update(questions=0), "generated.json margins[3].questions"),
    "labels": (lambda d: d["labels"].update(candidate_right=60), "generated.json labels.candidate_right"),
    "a key more": (lambda d: d.update(excellent=True), "generated.json excellent"),
    "replays on a CPU": (lambda d: d["how"].update(replays=3), "generated.json how"),
    "another budget": (lambda d: d.update(budget_s=9.0), "generated.json budget_s: found 9.0, expected 0.0"),
    "tie rule": (lambda d: d.update(tie_rule="flips at ties do not count"), "generated.json tie_rule"),
}


@pytest.mark.parametrize(("edit", "message"), FIGURES.values(), ids=FIGURES)
def test_a_forged_figure_is_named(tamper: Tamper, edit: Edit, message: str) -> None:
    tamper.json("generated.json", edit)
    tamper.reseal()
    found = audit_problems(tamper.path)
    assert any(message in problem for problem in found), found[:5]


LINES: dict[str, tuple[Edit, str]] = {
    "swapped": (lambda ls: ls.insert(0, ls.pop(1)), "line 2 request: found \"text-0001\", expected \"text-0000\""),
    "doubled": (lambda ls: ls[1].update(request_sha256=ls[0]["request_sha256"]), "59 digests of 60 requests"),
    "other content": (lambda ls: ls[0].update(content="0" * 16), "do not share one"),
    "no oracle": (lambda ls: ls[4].update(oracle=None), "line 6 oracle: is there or missing"),
    "a logit between two BF16 numbers": (
        lambda ls: ls[5]["reference"].update(logits="01000000" + ls[5]["reference"]["logits"][8:]),
        "line 7 reference logits: are not BF16 values",
    ),
    "a logit too few": (lambda ls: ls[5]["candidate"].update(logits="00000000"), "line 7 candidate logits: are 1 values"),
    "not a number": (lambda ls: ls[5]["reference"].update(logits="0000c07f" * 3), "line 7 reference logits"),
    "another error of the same row": (lambda ls: ls[9]["oracle"].update(candidate=0.01), "has two errors"),
    "no error at all": (lambda ls: ls[9]["oracle"].update(candidate=0.0, reference=0.0), "expected numbers above zero"),
    "expected nothing there is": (lambda ls: ls[0].update(expected="o99"), "which is no candidate"),
    "no hex": (lambda ls: ls[0]["reference"].update(logits="zz"), "records/generated.jsonl line 2 is malformed"),
}


@pytest.mark.parametrize(("edit", "message"), LINES.values(), ids=LINES)
def test_a_forged_line_is_named_whatever_else_was_put_right(tamper: Tamper, edit: Edit, message: str) -> None:
    tamper.lines("records/generated.jsonl", edit)
    forge_figures(tamper)
    tamper.reseal()
    found = audit_problems(tamper.path)
    assert any(message in problem for problem in found), found[:5]


def forge_figures(t: Tamper) -> None:
    """What a forger can make from the lines alone: summary and verdict."""
    try:
        found = lines.read(t.path / lines.FILE)
        old = json.loads((t.path / "generated.json").read_text())
        wanted = load_profile(t.path / "profile.toml").generated
        new = summary.summarise(found, made_up.TEMPERATURES, wanted=wanted, candidate="graph")
        write_json(t.path / "generated.json", {**old, **new})
        write_json(t.path / "verdict.json", compute_verdict(t.path))
    except Exception:
        return  # lines nobody can read: the forger leaves the rest as it was


def test_the_stage_says_what_was_found(tamper: Tamper) -> None:
    tamper.json("stages/08_generated.json", lambda d: d["result"]["facts"].update({"changed winners": 1}))
    tamper.reseal()
    assert audit_problems(tamper.path) == [
        "generated: stages/08_generated.json result.facts changed winners: is 1, recomputed 0"
    ]


def test_a_difference_that_is_admitted_fails_the_exact_claim(tamper: Tamper) -> None:
    made_up.write(tamper.path, 60, change=lambda number, logits: logits[::-1] if number == 7 else logits)
    write_json(tamper.path / "verdict.json", compute_verdict(tamper.path))
    tamper.reseal()
    found = audit_problems(tamper.path)
    assert any("gate generated_logits_bitwise graph: failed: 1, bound 0" in problem for problem in found)


def test_fewer_questions_than_declared_fail(tamper: Tamper) -> None:
    made_up.write(tamper.path, 60, reached=54)
    write_json(tamper.path / "verdict.json", compute_verdict(tamper.path))
    tamper.reseal()
    assert any("gate generated: failed: 54, bound 60" in problem for problem in audit_problems(tamper.path))


WALKS: dict[str, tuple[Edit, str]] = {
    "over": (lambda d: d["pairs"][1].update(over=5), "reference against oracle over: found 5"),
    "hidden difference": (
        lambda d: d["pairs"][0]["prompts"][0]["different"].__setitem__(1, 4),
        "layer.00.mixer: 4 elements differ by a relative RMS of 0.0",
    ),
    "worst": (lambda d: d["pairs"][1]["worst"].update(hidden=0.0), "reference against oracle worst"),
    "ratio": (lambda d: d["oracle_ratio"]["graph"].update(hidden=0.5), "oracle_ratio hidden: is 0.5"),
    "other requests": (lambda d: d["pairs"][0]["prompts"].pop(), "graph against reference prompts"),
    "other weights": (lambda d: d.update(checkpoint_digest="1" * 64), "layers.json checkpoint_digest"),
    "a limit where no bit may differ": (
        lambda d: d["pairs"][0]["prompts"][0]["limit"].__setitem__(0, 0.1),
        "has a limit of 0.1 where no bit may differ",
    ),
}


@pytest.mark.parametrize(("edit", "message"), WALKS.values(), ids=WALKS)
def test_a_forged_walk_is_named(tamper: Tamper, edit: Edit, message: str) -> None:
    tamper.json("layers.json", edit)
    tamper.reseal()
    found = audit_problems(tamper.path)
    assert any(message in problem for problem in found), found[:5]


# ---------------------------------------------------------------- floor


def write_floor(folder: Path) -> None:
    """A floor of the bundle's own generated questions and protocol, made up."""
    profile = load_profile(folder / "profile.toml")
    asked = [
        Question(case.id, case.questions[0].id, 0, case.modality, "generated", content_of(case), case.body)
        for case in generate_mixed(60, seed=1)
    ]
    for entry in REQUESTS:
        body = json.dumps(entry["request"], ensure_ascii=False, separators=(",", ":")).encode()
        for index, name in enumerate(entry["request"]["questions"]):
            asked.append(Question(entry["id"], name, index, entry["modality"], "protocol", entry["id"], body))

    def answers(step: float) -> list[Answer]:
        row = b"\x80\x3f" + (b"\x80\x3f" if step else b"\x00\x00")
        return [Answer((1.0 + step * (i % 7), 0.5), row) for i in range(len(asked))]

    names = ("row0", "padded", "instructions")
    changed = dict(zip(names, map(answers, (0.0, 2**-7, 2**-6)), strict=True))
    rows = document.rows_of(asked, answers(0.0), changed, profile)
    proofs = {name: Proof(60, 1e-15) for name in names}
    details = dict.fromkeys(names, "made up")
    write_json(folder / FLOOR, document.document(profile, "0" * 64, made_up.TEMPERATURES, rows, proofs, details))


@pytest.fixture
def with_floor(tamper: Tamper) -> Tamper:
    write_floor(tamper.path)
    tamper.describe_again()
    tamper.reseal()
    return tamper


def test_a_floor_may_be_there(with_floor: Tamper) -> None:
    found = audit.judge(str(with_floor.path))
    assert found["problems"] == []
    told = [text.partition(":")[0] for text in found["not_derived"]]
    assert {FLOOR, "records/generated.jsonl", "layers.json"} <= set(told)


FLOORS: dict[str, tuple[Edit, str]] = {
    "band": (lambda d: d["band"]["text"].update(probability=0.5), "records/floor.json band text.probability: is 0.5"),
    "interval": (
        lambda d: d["summary"]["padded"]["image"]["steps"]["p99"].update(high=99.0),
        "summary padded.image.steps.p99.high: is 99.0",
    ),
    "a proof that does not hold": (lambda d: d["forms"][1]["proof"].update(largest=0.1), "form padded holds: found true"),
    "another bound": (lambda d: d["forms"][1]["proof"].update(bound=1.0), "form padded bound: found 1.0"),
    "a form left out": (lambda d: d["forms"].pop(), "records/floor.json forms"),
    "a change without a change": (
        lambda d: d["rows"][3]["forms"]["padded"].update(hidden=0.0),
        "an unmoved hidden row gave other logits",
    ),
    "a question left out": (lambda d: d["rows"].pop(), "records/floor.json protocol questions"),
    "of another profile": (lambda d: d.update(profile_sha256="0" * 64), "records/floor.json profile_sha256"),
    "other generated questions": (lambda d: d["rows"].pop(0), "records/floor.json generated questions"),
}


@pytest.mark.parametrize(("edit", "message"), FLOORS.values(), ids=FLOORS)
def test_a_forged_floor_is_named(with_floor: Tamper, edit: Edit, message: str) -> None:
    with_floor.json(FLOOR, edit)
    with_floor.reseal()
    found = audit_problems(with_floor.path)
    assert any(message in problem for problem in found), found[:5]


# ---------------------------------------------------------------- labelled questions


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle with 24 held-out questions, each of which has a known answer."""
    return make_bundle(tmp_path_factory.mktemp("held-out"), generated=24, source="held-out")


def test_a_bundle_of_held_out_questions_passes_and_tells_right_answers(held_out: Path) -> None:
    assert audit_problems(held_out) == []
    document = json.loads((held_out / "generated.json").read_text())
    assert document["generator"] == "kit-held-out/1"
    assert document["labels"]["questions"] == 24
    assert sum(one["questions"] for one in document["reliability"]["candidate"]["bins"]) == 24
    facts = json.loads((held_out / "stages" / "08_generated.json").read_text())["result"]["facts"]
    assert facts["right answers of the candidate"] == document["labels"]["candidate_right"]


HELD_OUT: dict[str, tuple[str, Edit, str]] = {
    "a calibration error": ("generated.json", lambda d: d["reliability"]["candidate"].update(ece=0.0), "generated.json reliability.candidate.ece"),
    "no reliability": ("generated.json", lambda d: d.pop("reliability"), "generated.json reliability.reference.ece"),
    "another generator": ("generated.json", lambda d: d.update(generator="kit-prompts/1"), "generated.json generator"),
}


@pytest.mark.parametrize(("name", "edit", "message"), HELD_OUT.values(), ids=HELD_OUT)
def test_a_forged_figure_of_right_answers_is_named(held_out: Path, tmp_path: Path, name: str, edit: Edit, message: str) -> None:
    tamper = Tamper(shutil.copytree(held_out, tmp_path / "bundle"))
    tamper.json(name, edit)
    tamper.reseal()
    assert any(message in problem for problem in audit_problems(tamper.path))


def test_a_held_out_question_without_its_answer_is_named(held_out: Path, tmp_path: Path) -> None:
    tamper = Tamper(shutil.copytree(held_out, tmp_path / "bundle"))
    tamper.lines("records/generated.jsonl", lambda found: found[3].update(expected=None))
    forge_figures(tamper)
    tamper.reseal()
    assert any("text-0003: has no expected answer" in problem.replace('"', "") for problem in audit_problems(tamper.path))
