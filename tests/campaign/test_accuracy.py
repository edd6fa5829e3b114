"""Right answers of a judged run: counted by engine and pass, wrong ones by name, tested between engines, gated apart."""

import json
from pathlib import Path

import pytest

from kit.campaign.accuracy import headline, passes_frame, wrong_frame
from kit.campaign.drift import compute_drift
from kit.campaign.protocol import ProtocolError, protocol_of
from kit.campaign.verdict import compute_verdict
from kit.profile import ProfileError, load_profile, profile_from_dict
from tests.campaign.synthetic_run import WRONG, label_logits, profile_toml, write_run

ENGINES = ("reference", "native", "graph")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("judged") / "run"
    write_run(path, least_right=6)
    return path


def test_every_engine_and_pass_is_held_to_what_is_expected(judged: Path) -> None:
    found = compute_drift(judged)["accuracy"]
    assert (found["requests"], found["questions"]) == (7, 9)
    assert [(item["engine"], item["pass"]) for item in found["passes"]] == [(e, n) for e in ENGINES for n in (1, 2)]
    assert {(item["correct"], item["of"], item["requests_right"]) for item in found["passes"]} == {(8, 9, 6)}
    (wrong,) = found["passes"][0]["wrong"]
    assert (wrong["request"], wrong["question"]) == WRONG
    assert {wrong["expected"], wrong["chosen"]} == {"yes", "no"}
    assert 0 < wrong["margin"] < 1


def test_confidence_of_an_engine_is_held_against_its_right_answers(judged: Path) -> None:
    for item in compute_drift(judged)["accuracy"]["reliability"]:
        assert sum(one["questions"] for one in item["bins"]) == 9
        assert sum(one["right"] for one in item["bins"]) == 8
        assert 0 < item["ece"] < 1


def test_engines_that_agree_lose_and_win_nothing_and_there_is_no_test(judged: Path) -> None:
    found = compute_drift(judged)["accuracy"]["mcnemar"]
    assert [(item["engine"], item["against"]) for item in found] == [
        ("native", "reference"), ("graph", "reference"), ("graph", "native"),
    ]  # fmt: skip
    assert {(item["lost"], item["won"], item["p"]) for item in found} == {(0, 0, None)}


def test_a_right_answer_lost_is_told_and_being_right_repairs_no_drift(tmp_path: Path) -> None:
    values = sorted(label_logits("text-long", "done", 2))
    write_run(tmp_path / "run", least_right=1, change=_against("native", "text-long", "done", values[1] - values[0] + 1))
    found = compute_drift(tmp_path / "run")["accuracy"]
    assert found["mcnemar"][0] == {"engine": "native", "against": "reference", "lost": 1, "won": 0, "p": None}
    assert found["mcnemar"][2] == {"engine": "graph", "against": "native", "lost": 0, "won": 1, "p": None}
    verdict = compute_verdict(tmp_path / "run")
    assert "accuracy" not in verdict["failures"]
    assert "logits_bitwise" in verdict["failures"]


def _against(engine: str, request: str, question: str, by: float):  # type: ignore[no-untyped-def]
    """Raise the smaller of two logits so far that it wins."""
    weaker = min((0, 1), key=lambda i: label_logits(request, question, 2)[i])

    def change(name: str, phase: str, number: int, asked: str, about: str, logits: list[float]) -> list[float]:
        if (name, asked, about) != (engine, request, question):
            return logits
        return [value + by * (index == weaker) for index, value in enumerate(logits)]

    return change


def test_the_verdict_names_the_engine_that_would_serve(judged: Path) -> None:
    verdict = compute_verdict(judged)
    assert verdict["verdict"] == "pass"
    assert verdict["accuracy"] == {"engine": "graph", "correct": 8, "of": 9, "requests_right": 6, "requests": 7}
    gates = [gate for gate in verdict["gates"] if gate["gate"] == "accuracy"]
    assert [(gate["engine"], gate["value"], gate["bound"]) for gate in gates] == [(engine, 1, 1) for engine in ENGINES]


def test_too_few_right_requests_fail_the_verdict_in_words(tmp_path: Path) -> None:
    write_run(tmp_path / "run", least_right=7)
    verdict = compute_verdict(tmp_path / "run")
    assert verdict["failures"] == ["accuracy"]
    assert [g["detail"] for g in verdict["gates"] if not g["passed"]] == ["6 of 7 requests are right, at least 7 must be"] * 3


def test_without_a_bound_right_answers_are_told_and_not_gated(tmp_path: Path) -> None:
    write_run(tmp_path / "run", least_right=0)
    verdict = compute_verdict(tmp_path / "run")
    assert verdict["accuracy"]["correct"] == 8
    assert "accuracy" not in {gate["gate"] for gate in verdict["gates"]}


def test_a_profile_that_is_not_judged_says_nothing_of_right_answers(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    drift, verdict = compute_drift(tmp_path / "run"), compute_verdict(tmp_path / "run")
    assert "accuracy" not in drift
    assert "accuracy" not in verdict
    assert headline(ENGINES, None) is None
    assert "not judged" in str(passes_frame(None))
    assert wrong_frame(None).empty


def test_frames_have_a_row_a_pass_and_a_row_a_wrong_answer(judged: Path) -> None:
    found = compute_drift(judged)["accuracy"]
    assert list(passes_frame(found)["correct"]) == [8] * 6
    assert list(wrong_frame(found)["engine"]) == list(ENGINES)


def test_a_missing_answer_is_wrong(tmp_path: Path) -> None:
    write_run(tmp_path / "run", least_right=6)
    file = tmp_path / "run" / "records" / "graph" / "exchanges.jsonl"
    lines = [line for line in file.read_text().splitlines() if not ('"text-long"' in line and '"measured"' in line)]
    file.write_text("".join(line + "\n" for line in lines))
    found = compute_drift(tmp_path / "run")["accuracy"]
    last = found["passes"][-2]
    assert (last["engine"], last["correct"]) == ("graph", 7)
    assert {"request": "text-long", "question": "done", "expected": last["wrong"][1]["expected"], "chosen": None, "margin": None} in last["wrong"]


def test_a_bound_needs_a_judge(tmp_path: Path) -> None:
    text = profile_toml(engines=ENGINES, passes=2, claim="exact", reference="reference", least_right=3)
    (tmp_path / "p.toml").write_text(text.replace("judged = true", "judged = false"))
    with pytest.raises(ProfileError, match=r"protocol.least_right is 3, which needs protocol.judged = true"):
        load_profile(tmp_path / "p.toml")


def test_a_judged_profile_needs_an_expected_answer_to_every_question() -> None:
    profile = load_profile("params/cpu-tiny.toml").resolved()
    profile["protocol"] |= {"judged": True}
    with pytest.raises(ProtocolError, match="risk-score-10 expects no answer to risk"):
        protocol_of(profile_from_dict(json.loads(json.dumps(profile))))
    profile["protocol"] |= {"path": "evidence/protocol-2", "sha256": "", "least_right": 29}
    with pytest.raises(ProtocolError, match="has 28 requests, of which 29 can not be right"):
        protocol_of(profile_from_dict(profile))
