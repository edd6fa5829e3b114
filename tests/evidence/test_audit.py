"""The auditor: what passes, what fails honestly, what cannot be judged, and that it stands alone."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import audit
from kit.evidence.audit.reading import Bundle
from kit.evidence.records import store_body, write_json
from tests.campaign.synthetic_run import bf16
from tests.evidence.make_bundle import Tamper, make_bundle
from tests.evidence.test_tampering import audit_problems, lie_about_gate

OTHERS = [
    python for python in sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))
    if int(python.parts[-3].split(".")[1]) >= 9
]  # fmt: skip


def rules(problems: list[str]) -> set[str]:
    return {problem.split(":")[0] for problem in problems}


# ---------------------------------------------------------------- what passes


def test_a_good_bundle_passes_with_everything_said(sealed: Path) -> None:
    result = audit.judge(str(sealed))
    assert (result["audit"], result["problems"]) == ("pass", [])
    expected = {
        "verdict": "pass",
        "profile": "made-up",
        "claim": "exact",
        "requests": 7,
        "questions": 9,
        "posts": 61,
    }
    assert {name: result[name] for name in expected} == expected
    assert result["max_probability_drift"] == 0.0
    assert "signature (unsigned)" in result["not_checked"]
    assert "package triton (not checked)" in result["not_checked"]
    assert not any("fla" in item for item in result["not_checked"])  # absent is a fact, not an omission


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"claim": "baseline"}, id="baseline"),
        pytest.param({"policy": "fifo"}, id="fifo"),
        pytest.param({"passes": 1, "claim": "baseline"}, id="one-pass"),
        pytest.param({"frozen": False}, id="fresh-only"),
        pytest.param({"engines": ("native", "graph"), "reference": "", "claim": "baseline"}, id="frozen-only"),
        pytest.param({"engines": ("reference", "remote"), "claim": "baseline"}, id="remote-against-fresh"),
        pytest.param(
            {"engines": ("remote",), "reference": "", "claim": "baseline"}, id="remote-against-frozen"
        ),
    ],
)
def test_other_shapes_of_a_run_pass(tmp_path: Path, options: dict[str, Any]) -> None:
    result = audit.judge(str(make_bundle(tmp_path, **options)))
    assert result["problems"] == []
    assert (result["audit"], result["verdict"]) == ("pass", "pass")


EXPORT = {"engines": ("native", "graph"), "reference": "", "claim": "baseline", "checkpoint": "export"}


def test_an_export_is_judged_without_operators_and_says_so(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, **EXPORT)
    assert not {"operators.json", "signal.json", "stages/06_operators.json"} & set(Bundle(str(bundle)).files()[0])
    result = audit.judge(str(bundle))
    assert result["problems"] == []
    assert (result["audit"], result["verdict"]) == ("pass", "pass")
    assert "operators (an export has no reference to compare with)" in result["not_checked"]
    verdict = json.loads((bundle / "verdict.json").read_text())
    assert verdict["against"] == ["frozen"]
    assert "operators" not in {gate["gate"] for gate in verdict["gates"]}


@pytest.mark.parametrize("name", ["operators.json", "signal.json"])
def test_an_export_has_no_place_for_operators(tmp_path: Path, sealed: Path, name: str) -> None:
    bundle = make_bundle(tmp_path, **EXPORT)
    shutil.copyfile(sealed / name, bundle / name)
    Tamper(bundle).reseal()
    assert f"roles: {name}: has no role in a bundle of this profile" in audit_problems(bundle)


def test_nothing_else_gets_by_without_operators(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, **{**EXPORT, "checkpoint": "synthetic"})
    (bundle / "operators.json").unlink()
    Tamper(bundle).reseal()
    assert "roles: operators.json: is missing" in audit_problems(bundle)


def test_a_reference_from_an_export_is_refused(bundle: Path) -> None:
    tamper = Tamper(bundle)
    tamper.json("profile.json", lambda d: d["checkpoint"].update(kind="export"))
    tamper.reseal()
    assert "identity: profile.json reference: ran from an export, which holds no whole head for it" in audit_problems(bundle)


# ---------------------------------------------------------------- what fails, and how


def lift_first_logit(
    engine: str, phase: str, number: int, request: str, question: str, logits: list[float]
) -> list[float]:
    return [bf16(logits[0] + 2), *logits[1:]] if engine == "native" and request == "text-choice" else logits


def test_an_honest_failure_is_consistent_and_fails(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, change=lift_first_logit)
    result = audit.judge(str(bundle))
    assert (result["audit"], result["verdict"]) == ("fail", "fail")
    # Logits that no hidden row gives are the planted fault; all else is what the verdict says itself.
    assert rules(audit_problems(bundle)) == {"verdict", "gates", "hidden_rows"}
    assert result["problems"][0].startswith("verdict: verdict.json: the run failed: probability; confidence")
    assert result["max_probability_drift"] > 0.02


def test_a_failed_run_that_says_pass_is_found_out(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, change=lift_first_logit)
    tamper = Tamper(bundle)
    lie_about_gate(tamper)
    tamper.reseal()
    problems = audit_problems(bundle)
    assert "gates: verdict.json gate probability native fresh passed: is true, recomputed false" in problems
    assert any(problem.startswith("gates: gate probability native fresh: failed: 0.") for problem in problems)


def test_a_wrong_temperature_is_seen_twice(tmp_path: Path) -> None:
    def swapped(engine: str, modality: str, declared: float) -> float:
        return 1.2345678901 if engine == "graph" and modality == "image" else declared

    problems = audit_problems(make_bundle(tmp_path, used_temperature=swapped))
    assert any("temperature: found 1.2345678901, expected 1.4321098765" in problem for problem in problems)
    assert any(problem.startswith("gates: gate lattice graph: failed") for problem in problems)


def test_a_faithful_claim_cannot_pass_without_an_oracle(tmp_path: Path) -> None:
    result = audit.judge(str(make_bundle(tmp_path, claim="faithful")))
    assert result["audit"] == "fail"
    assert "gates: gate oracle: failed: null, bound 0" in result["problems"]


def test_a_run_that_stopped_says_where(tmp_path: Path) -> None:
    from kit.evidence import package
    from tests.evidence.make_bundle import NOBODY, complete, write_project, write_run

    run, root = tmp_path / "made-up-run", tmp_path / "project"
    profile = write_run(run)
    write_project(root, profile)
    complete(run, root, profile)
    shutil.rmtree(run / "records" / "graph")
    for stage in (
        "05_native_graph",
        "06_operators",
        "07_faults",
        "08_drift",
        "09_performance",
        "10_evidence",
    ):
        (run / "stages" / f"{stage}.json").unlink()
    write_json(run / "verdict.json", {
        "format": "kit-verdict/1", "verdict": "fail", "profile": "made-up", "claim": "exact", "run": "made-up-run",
        "scope": "seven made-up requests", "not_covered": ["everything real"], "gates": [],
        "failures": ["stage 05_native_graph: CampaignStoppedError: status 503"],
    })  # fmt: skip
    package.seal(run, root, NOBODY)
    result = audit.judge(str(run))
    assert (result["audit"], result["verdict"]) == ("fail", "fail")
    assert result["problems"][0].endswith(
        "the run failed: stage 05_native_graph: CampaignStoppedError: status 503"
    )
    assert not rules(audit_problems(run)) & {"sums", "crate", "sources", "identity", "protocol", "formats"}
    actions = [
        e
        for e in json.loads((run / "ro-crate-metadata.json").read_text())["@graph"]
        if e["@type"] == "CreateAction"
    ]
    failed = [a["name"] for a in actions if a["actionStatus"]["@id"].endswith("FailedActionStatus")]
    assert failed == [
        "Run made-up-run",
        "05_native_graph",
        "06_operators",
        "07_faults",
        "08_drift",
        "09_performance",
        "10_evidence",
    ]


# ---------------------------------------------------------------- what cannot be judged


def test_no_bundle_is_not_judged(tmp_path: Path, bundle: Path) -> None:
    assert audit.judge(str(tmp_path / "nothing"))["audit"] == "not-judged"
    assert audit.judge(str(tmp_path))["problems"][0].startswith("SHA256SUMS is not in")
    (bundle / "verdict.json").unlink()
    assert audit.judge(str(bundle))["audit"] == "not-judged"


def test_a_newer_format_is_not_judged(tamper: Tamper) -> None:
    tamper.json("drift.json", lambda d: d.update(format="kit-drift/2"))
    tamper.reseal()
    result = audit.judge(str(tamper.path))
    assert (result["audit"], result["problems"]) == (
        "not-judged",
        ["drift.json has format kit-drift/2, this auditor knows kit-drift/1"],
    )


# ---------------------------------------------------------------- the script by itself


def run_script(python: Path | str, bundle: Path) -> tuple[int, dict[str, Any], list[str]]:
    command = [str(python), "-I", "-B", str(bundle / "audit.py"), str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    assert not done.stderr
    return done.returncode, json.loads(lines[-1]), lines[:-1]


def test_the_bundles_own_copy_runs_alone(sealed: Path) -> None:
    code, result, lines = run_script(sys.executable, sealed)
    assert (code, result["audit"]) == (0, "pass")
    assert "audit: pass (0 problems)" in lines
    assert "verdict the bundle claims: pass" in lines


def test_exit_codes(tmp_path: Path, tamper: Tamper) -> None:
    tamper.json("verdict.json", lambda d: d.update(max_probability_drift=1.0))
    code, result, lines = run_script(sys.executable, tamper.path)
    assert (code, result["audit"]) == (1, "fail")
    assert len([line for line in lines if line.startswith("problem: ")]) == result["problem_count"] == 2
    (tmp_path / "audit.py").write_text(audit.joined())
    code, result, _ = run_script(sys.executable, tmp_path)
    assert (code, result["audit"]) == (2, "not-judged")


@pytest.mark.skipif(not OTHERS, reason="no other interpreters here")
@pytest.mark.parametrize("python", OTHERS, ids=lambda path: path.parts[-3])
def test_under_other_pythons(python: Path, sealed: Path) -> None:
    version = tuple(map(int, python.parts[-3].split(".")[:2]))
    code, result, _ = run_script(python, sealed)
    assert (code, result["audit"], result["problems"]) == (0, "pass", [])
    unread = [item for item in result["not_checked"] if item.startswith("profile.toml")]
    assert bool(unread) == (version < (3, 11))


def test_it_is_python_3_9_and_imports_the_standard_library_alone() -> None:
    tree = ast.parse(audit.joined(), feature_version=(3, 9))
    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert names <= set(sys.stdlib_module_names)
    assert "kit" not in names


def test_every_check_is_run() -> None:
    functions = [node.name for node in ast.parse(audit.joined()).body if isinstance(node, ast.FunctionDef)]
    defined = {name for name in functions if name.startswith("check_")}
    run = {check.__name__ for check in audit.CHECKS}
    called_by_others = {
        "check_forwards", "check_answer", "check_notebook_source", "check_notebook_run", "check_notebook_parameters",
        "check_starts", "check_measured",
    }  # fmt: skip
    assert defined - run == called_by_others | {"check_verdict_cell"}


def test_what_an_interrupted_attempt_left_is_kept_and_said(tamper: Tamper) -> None:
    digest = store_body(tamper.path / "records" / "bodies", b"{}")
    tamper.describe_again()
    tamper.reseal()
    problems = audit_problems(tamper.path)
    assert len(problems) == 1
    assert problems[0].startswith(f"bodies: records/bodies/{digest}: belongs to no recorded exchange")
    (tamper.path / "attempts" / "native-1").mkdir(parents=True)
    line = f'{{"format":"kit-exchanges/1","engine":"native","run":"made-up-run"}}\n{{"response_sha256":"{digest}"}}\n'
    (tamper.path / "attempts" / "native-1" / "exchanges.jsonl").write_text(line)
    tamper.describe_again()
    tamper.reseal()
    result = audit.judge(str(tamper.path))
    assert result["problems"] == []
    assert "1 bodies and hidden rows of interrupted attempts, but for their digests" in result["not_checked"]
