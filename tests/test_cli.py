"""The command line: what it lists, what it prints, and how it says what is wrong."""

import json
import subprocess
import sys

import pytest

from kit.profile import PROJECT_ROOT

PROFILE = "params/cpu-tiny.toml"
COMMANDS = ("run", "serve", "frontend", "decide", "prepare", "audit", "checkpoint", "signal", "bench", "tune", "draws", "bisect")
ON_BUNDLES = ("diff", "sign", "publish", "ledger")
REQUEST = {
    "state": {"ticket": "The export button does nothing since noon."},
    "questions": {
        "team": {"type": "choice", "instructions": "Who takes it?", "criteria": {"web": "Web team", "pay": "Payments"}},
        "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    },
}


def kit(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kit", *arguments],
        input=given, capture_output=True, text=True, timeout=240, cwd=PROJECT_ROOT, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def request_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("cli") / "request.json"
    file.write_text(json.dumps(REQUEST))
    return str(file)


def test_help_lists_every_verb():
    text = kit("--help").stdout
    for command in (*COMMANDS, *ON_BUNDLES):
        assert f"\n  {command} " in text


@pytest.mark.parametrize("command", [command for command in COMMANDS if command != "audit"])
def test_the_profile_comes_first(command):
    usage = kit(command, "--help").stdout.split("\n", 1)[0]
    assert usage.index("PROFILE") == min(usage.index(word) for word in ("PROFILE", "REQUEST", "ACTION") if word in usage)


def test_prepare_prints_one_line_a_question_and_names_its_tokenizer(request_file):
    done = kit("prepare", PROFILE, request_file)
    assert done.returncode == 0, done.stderr
    assert "tokenizer:" in done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["question"] for line in lines] == ["team", "urgent"]
    for line in lines:
        assert set(line) == {
            "question", "prompt", "input_ids", "label_ids", "positions", "image_grid_thw", "pixels_sha256",
        }  # fmt: skip
        assert len(line["positions"]) == 3
        assert {len(axis) for axis in line["positions"]} == {len(line["input_ids"])}
        assert line["prompt"].endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


def test_prepare_for_the_real_model_needs_no_weights(request_file):
    done = kit("prepare", "params/jemm-27b.toml", request_file)
    assert done.returncode == 0, done.stderr
    assert "qwen" in done.stderr.lower()
    assert [json.loads(line)["label_ids"] for line in done.stdout.splitlines()] == [[32, 33], [32, 33]]


def test_decide_answers_from_a_file_and_from_standard_input(request_file):
    answers = []
    for arguments, given in (((PROFILE, request_file), ""), ((PROFILE, "-"), json.dumps(REQUEST))):
        done = kit("decide", *arguments, given=given)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["usage"]["output_tokens"] == 0
        answers.append(document["answers"])
    assert answers[0] == answers[1]
    assert answers[0]["team"]["choice"] in ("web", "pay")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "params/none.toml"), "no such profile"),
        (("decide", PROFILE, "no-such-request.json"), "no-such-request.json"),
        (("run", PROFILE, "--id", "../outside"), "run id"),
        (("run", PROFILE, "--resume", "--id", "never-started"), "never-started"),
        (("bench", PROFILE, "--repeats", "0"), "--repeats"),
        (("bench", PROFILE, "--repeats", "-1"), "--repeats"),
    ],
)
def test_what_a_person_can_mend_is_one_sentence_and_exit_code_2(arguments, said):
    done = kit(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_refused_request_says_why(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"questions": {"q": {"type": "essay"}}}')
    done = kit("prepare", PROFILE, str(bad))
    assert done.returncode == 2
    assert "expected choice, score or noul" in done.stderr


def test_auditing_something_else_is_not_judged(tmp_path):
    done = kit("audit", str(tmp_path))
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[-1])["audit"] == "not-judged"


def test_a_diff_of_what_is_no_bundle_is_one_sentence_and_one_line(tmp_path):
    done = kit("diff", str(tmp_path), str(tmp_path / "absent"))
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[-1])["diff"] == "not-judged"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("sign", "evidence/published", "no-such-key"), "has no SHA256SUMS, so it is not sealed"),
        (("run", PROFILE, "--sign", "no-such-key"), "is no key file"),
        (("ledger", "--since", "earlier.jsonl"), "--since goes with --check"),
    ],
)
def test_what_cannot_be_signed_or_checked_is_said_in_one_sentence(arguments, expected):
    done = kit(*arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
