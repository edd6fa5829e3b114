"""The command line: what it lists, what it prints, and how it says what is wrong."""

import json
import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner, Result

from kit.__main__ import CAMPAIGN, EVIDENCE, INQUIRY, SERVING, app, ending, main
from kit.contract.errors import ContractError
from kit.profile import PROJECT_ROOT, ProfileError

PROFILE = "params/cpu-tiny.toml"
SECTIONS = {"Campaign": CAMPAIGN, "Serving": SERVING, "Evidence": EVIDENCE, "Inquiry": INQUIRY}
VERBS = [verb.__name__ for verbs in SECTIONS.values() for verb in verbs]
ABOUT_A_PROFILE = [v.__name__ for verbs in (CAMPAIGN, SERVING, INQUIRY) for v in verbs if v.__name__ != "freeze"]
HEAVY = ("torch", "transformers", "numpy", "pandas", "matplotlib", "papermill", "kit.engine", "kit.campaign", "kit.profile")
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


def told(*arguments: str) -> Result:
    """The same in this process: what is wrong with arguments is told in words, and needs no process of its own."""
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def request_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("cli") / "request.json"
    file.write_text(json.dumps(REQUEST))
    return str(file)


def test_help_lists_every_verb_under_its_heading_in_the_order_of_use():
    lines = kit("--help").stdout.splitlines()
    listed: dict[str, list[str]] = {}
    for line in lines:
        if heading := re.match(r"(\w+):$", line):
            verbs = listed[heading[1]] = []
        elif verb := re.match(r"  (\w+)  ", line):
            verbs.append(verb[1])
    listed.pop("Options", None)
    assert listed == {heading: [verb.__name__ for verb in verbs] for heading, verbs in SECTIONS.items()}
    assert not any(line.endswith("...") for line in lines if line.startswith("  sign"))


def test_every_public_function_of_the_verbs_is_a_verb():
    modules = {sys.modules[verb.__module__] for verbs in SECTIONS.values() for verb in verbs}
    written = {v for m in modules for v in vars(m).values() if getattr(v, "__module__", "") == m.__name__ and not isinstance(v, type)}
    assert written == {verb for verbs in SECTIONS.values() for verb in verbs}


def test_help_is_quick_because_it_loads_nothing_that_computes():
    asked = f"""
import sys
from typer.testing import CliRunner
from kit.__main__ import app
for arguments in [["--help"], *([verb, "--help"] for verb in {VERBS})]:
    assert CliRunner().invoke(app, arguments).exit_code == 0, arguments
print(sorted(set({HEAVY}) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, cwd=PROJECT_ROOT, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", ABOUT_A_PROFILE)
def test_the_profile_comes_first(command):
    first = typer.main.get_command(app).commands[command].params[0]
    assert (first.name, first.required) == ("profile", True)


class TestEndings:
    """How a verb ends, whatever it raises; the verb is one made for the test."""

    def ended(self, raised, json_last=True):
        def measure():
            raise raised

        with pytest.raises(typer.Exit) as caught:
            ending(measure, json_last=json_last)()
        return caught.value.exit_code

    def test_a_foreseen_error_is_one_sentence_and_one_line_of_json(self, capsys):
        assert self.ended(ProfileError("threads: expected a number")) == 2
        out, err = capsys.readouterr()
        assert err == "kit measure: threads: expected a number\n"
        assert json.loads(out) == {
            "verb": "measure", "verdict": "not-judged", "error": "ProfileError", "problem": "threads: expected a number",
        }  # fmt: skip

    def test_a_verb_that_answers_leaves_no_answer(self, capsys):
        assert self.ended(ContractError("no questions"), json_last=False) == 2
        assert capsys.readouterr() == ("", "kit measure: no questions\n")

    def test_a_file_that_cannot_be_read_is_named(self, capsys):
        self.ended(FileNotFoundError(2, "No such file or directory", "a.json"))
        assert capsys.readouterr().err == "kit measure: a.json: No such file or directory\n"

    def test_an_error_nobody_foresaw_keeps_its_traceback_and_is_no_failed_gate(self, capsys):
        assert self.ended(ZeroDivisionError("by zero")) == 2
        out, err = capsys.readouterr()
        assert "Traceback" in err
        assert err.endswith("kit measure: not foreseen, so this is a defect of the kit: ZeroDivisionError: by zero\n")
        assert json.loads(out)["error"] == "ZeroDivisionError"

    def test_ctrl_c_is_one_line_and_130(self, capsys):
        assert self.ended(KeyboardInterrupt()) == 130
        assert capsys.readouterr() == ("", "kit measure: interrupted\n")

    def test_ctrl_c_says_how_to_go_on_where_that_is_known(self, capsys):
        assert self.ended(KeyboardInterrupt("interrupted; continue with: this")) == 130
        assert capsys.readouterr().err == "kit measure: interrupted; continue with: this\n"

    @pytest.mark.parametrize("code", [0, 1, 2])
    def test_a_verb_that_judged_keeps_its_code(self, code, capsys):
        assert self.ended(typer.Exit(code)) == code
        assert capsys.readouterr() == ("", "")


class TestMisuse:
    """Words that no verb takes: a usage for people, JSON for programs, nothing judged."""

    def misused(self, monkeypatch, capsys, *words):
        monkeypatch.setattr("sys.argv", ["kit", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert err.startswith("Usage: ")
        return out, err

    @pytest.mark.parametrize(
        ("words", "verb", "problem"),
        [
            (("nosuch",), "kit", "No such command 'nosuch'"),
            (("floor", PROFILE, "--prompts", "x"), "floor", "Invalid value for '--prompts'"),
            (("checkpoint", PROFILE, "export"), "checkpoint", "export needs a FOLDER"),
        ],
    )
    def test_the_last_line_of_output_is_json(self, monkeypatch, capsys, words, verb, problem):
        out, err = self.misused(monkeypatch, capsys, *words)
        said = json.loads(out)
        assert (said["verb"], said["verdict"], said["error"]) == (verb, "not-judged", "UsageError")
        assert problem in said["problem"]
        assert problem in err

    def test_a_verb_that_answers_leaves_no_answer(self, monkeypatch, capsys):
        assert self.misused(monkeypatch, capsys, "decide")[0] == ""

    def test_no_words_at_all_are_answered_with_help(self, monkeypatch, capsys):
        out, err = self.misused(monkeypatch, capsys)
        assert out == ""
        assert "Qualify a fast inference engine" in err

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, typer.Abort])
    def test_ctrl_c_before_a_verb_begins_is_one_line_and_130(self, monkeypatch, capsys, stop):
        def stopped(**options):
            raise stop

        monkeypatch.setattr("kit.__main__.app", stopped)
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 130
        assert capsys.readouterr() == ("", "kit: interrupted\n")

    def test_ctrl_c_while_words_are_read_is_130_without_a_traceback(self, monkeypatch, capsys):
        def stopped(group, context, words):
            raise KeyboardInterrupt

        monkeypatch.setattr("kit.verbs.sections.Sections.parse_args", stopped)
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 130
        assert "Traceback" not in capsys.readouterr().err


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
    done = told(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "params/none.toml"),
        ("floor", "params/none.toml"),
        ("diagnose", PROFILE),
        ("challenge", "README.md", "--seed", "1"),
        ("publish", "evidence"),
        ("ledger", "--verified", "none"),
    ],
)
def test_where_json_comes_last_it_does_so_after_an_error_too(arguments):
    done = told(*arguments)
    assert done.exit_code == 2
    line = json.loads(done.stdout.splitlines()[-1])
    assert (line["verb"], line["verdict"]) == (arguments[0], "not-judged")
    assert done.stderr == f"kit {arguments[0]}: {line['problem']}\n"


def test_a_refused_request_says_why(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"questions": {"q": {"type": "essay"}}}')
    done = told("prepare", PROFILE, str(bad))
    assert done.exit_code == 2
    assert "expected choice, score or noul" in done.stderr


def test_recomputing_elsewhere_repeats_the_audit_and_is_not_judged():
    """A bundle of a GPU: its audit passes here, and its requests cannot be asked again."""
    done = kit("audit", "evidence/published/h200-27b-synthetic", "--recompute")
    line = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, line["audit"], line["recompute"]) == (2, "pass", "not-judged")
    assert "kit challenge" in line["problems"][0]


def test_auditing_something_else_is_not_judged(tmp_path):
    done = told("audit", str(tmp_path))
    assert done.exit_code == 2
    assert json.loads(done.stdout.splitlines()[-1])["audit"] == "not-judged"


def test_a_diff_of_what_is_no_bundle_is_one_sentence_and_one_line(tmp_path):
    done = told("diff", str(tmp_path), str(tmp_path / "absent"))
    assert done.exit_code == 2
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
    done = told(*arguments)
    assert done.exit_code == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
