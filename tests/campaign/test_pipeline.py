"""A run that does not end well: what it says, and that its remains are packaged as a failure."""

import json

import pytest

from kit.campaign import pipeline
from kit.campaign.run_folder import RunError, exclusive, open_run
from kit.engine.autotune import FORMAT, AutotuneError, digest
from tests.campaign.test_notebook import write

PROFILE = "params/cpu-tiny.toml"
PARAMETERS = 'profile = ""\nrun_dir = ""\n'
FINISH = (
    "from kit.campaign.stage import begin\n"
    "begin('01_preflight', profile=profile, run_dir=run_dir).finish({})"
)  # fmt: skip


@pytest.fixture
def notebooks(tmp_path, monkeypatch):
    """An empty notebook folder and runs folder of this test's own."""
    monkeypatch.setenv("KIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(pipeline, "NOTEBOOKS", tmp_path / "notebooks")
    (tmp_path / "notebooks").mkdir()
    return tmp_path / "notebooks"


def first_stage(notebooks, source):
    write(notebooks / "01_preflight.ipynb", source, parameters=PARAMETERS)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import os; os._exit(9)", "DeadKernel"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("print('looks fine')", "NoSentinel"),
    ],
    ids=["error", "dead-kernel", "early-exit", "no-sentinel"],
)
def test_a_stage_that_did_not_finish_cannot_be_judged(notebooks, tmp_path, source, said):
    first_stage(notebooks, source)
    outcome = pipeline.run(PROFILE, run_id="a")
    assert outcome.exit_code == 2
    assert outcome.line["verdict"] == "not-judged"
    assert said in outcome.line["failures"][0]
    verdict = json.loads((tmp_path / "runs/a/verdict.json").read_text())
    assert verdict["verdict"] == "fail"
    assert said in verdict["failures"][0]
    assert (tmp_path / "runs/a/SHA256SUMS").exists()
    assert (tmp_path / "runs/a/notebooks/01_preflight.ipynb").exists()


def test_an_unplanned_status_is_a_failed_gate(notebooks):
    first_stage(notebooks, "class CampaignStoppedError(Exception): pass\nraise CampaignStoppedError('status 500')")
    outcome = pipeline.run(PROFILE, run_id="a")
    assert (outcome.exit_code, outcome.line["verdict"]) == (1, "fail")


def test_a_finished_stage_is_kept_on_resume(notebooks, tmp_path, monkeypatch):
    first_stage(notebooks, FINISH)
    ran = []

    def stop_at_second(run, stage):
        ran.append(stage)
        if stage != "01_preflight":
            raise KeyboardInterrupt
        real(run, stage)

    real = pipeline._run_stage
    monkeypatch.setattr(pipeline, "_run_stage", stop_at_second)
    with pytest.raises(KeyboardInterrupt, match=f"continue with: python -m kit run {PROFILE} --resume --id a$"):
        pipeline.run(PROFILE, run_id="a")
    assert not (tmp_path / "runs/a/SHA256SUMS").exists()
    with pytest.raises(KeyboardInterrupt):
        pipeline.run(PROFILE, resume=True)
    assert ran == ["01_preflight", "02_checkpoint", "02_checkpoint"]


def test_a_run_stopped_behind_a_stage_is_unsealed_and_goes_on_from_there(notebooks, tmp_path, capsys):
    first_stage(notebooks, FINISH)
    outcome = pipeline.run(PROFILE, run_id="a", until="01_preflight")
    assert (outcome.exit_code, outcome.line) == (0, {"verdict": "unfinished", "profile": "cpu-tiny", "run": "a"})
    assert f"stopped behind 01_preflight; continue with: python -m kit run {PROFILE} --resume --id a" in capsys.readouterr().err
    assert not (tmp_path / "runs/a/SHA256SUMS").exists()
    write(notebooks / "02_checkpoint.ipynb", "1 / 0", parameters=PARAMETERS)
    assert "02_checkpoint: ZeroDivisionError" in pipeline.run(PROFILE, run_id="a", resume=True).line["failures"][0]
    assert (tmp_path / "runs/a/SHA256SUMS").exists()


def test_a_stage_that_fails_before_the_one_to_stop_behind_ends_the_run(notebooks, tmp_path):
    first_stage(notebooks, "1 / 0")
    assert pipeline.run(PROFILE, run_id="a", until="02_checkpoint").line["verdict"] == "not-judged"
    assert (tmp_path / "runs/a/SHA256SUMS").exists()


def test_a_stage_to_stop_behind_that_is_not_run_is_refused_before_a_folder_is_made(notebooks):
    with pytest.raises(RunError, match="cpu-tiny runs no stage '04_remote'; its stages: 01_preflight, "):
        pipeline.run(PROFILE, run_id="a", until="04_remote")
    assert not pipeline.run_path("a").exists()


def test_an_existing_run_is_not_overwritten(notebooks):
    open_run(PROFILE, "a")
    with pytest.raises(RunError, match="--resume"):
        pipeline.run(PROFILE, run_id="a")


def test_a_run_in_progress_is_not_resumed_beside_it(notebooks):
    open_run(PROFILE, "a")
    for options in ({"resume": True}, {"replace": True}):
        with exclusive("a"), pytest.raises(RunError, match="another process"):
            pipeline.run(PROFILE, run_id="a", **options)
    assert (pipeline.run_path("a") / "run.json").exists()


def test_a_sealed_run_is_not_continued(notebooks):
    (open_run(PROFILE, "a").path / "SHA256SUMS").write_text("")
    with pytest.raises(RunError, match="sealed"):
        pipeline.run(PROFILE, run_id="a", resume=True)


@pytest.mark.parametrize(
    ("origin", "said"),
    [({"device": "an accelerator"}, "cpu-tiny tunes nothing"), ({}, "does not say on which device"), (None, "does not say")],
)
def test_winners_a_profile_cannot_use_are_refused_before_a_folder_is_touched(notebooks, tmp_path, origin, said):
    winners = [{"kernel": "fla.x", "key": [1], "config": {}}]
    ledger = {"format": FORMAT, "winners": winners, "digest": digest(winners), "origin": origin}
    (tmp_path / "ledger.json").write_text(json.dumps(ledger))
    with pytest.raises(AutotuneError, match=said):
        pipeline.run(PROFILE, run_id="new", autotune=tmp_path / "ledger.json")
    assert not pipeline.run_path("new").exists()
    open_run(PROFILE, "old")
    with pytest.raises(AutotuneError, match=said):
        pipeline.run(PROFILE, run_id="old", replace=True, autotune=tmp_path / "ledger.json")
    assert (pipeline.run_path("old") / "run.json").exists()


def test_the_last_line_counts_right_answers_of_a_judged_run_and_says_null_of_any_other() -> None:
    told = {"engine": "graph", "correct": 47, "of": 49, "requests_right": 26, "requests": 28}
    assert pipeline.right_answers({"accuracy": told}) == {"correct": 47, "of": 49}
    assert pipeline.right_answers({"verdict": "pass"}) is None
