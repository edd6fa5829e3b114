"""Starting, continuing and refusing to continue a run."""

import json

import pytest

from kit.campaign.protocol import ProtocolError
from kit.campaign.run_folder import RunError, latest_unfinished, new_id, open_run, run_path
from kit.campaign.stage import NEEDS, STAGES, StageMissingError, begin, is_finished, stages_of
from kit.profile import PROJECT_ROOT, load_profile, profile_from_dict

PROFILE = "params/cpu-tiny.toml"


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("KIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("KIT_RUN", raising=False)
    return tmp_path / "runs"


def finish(name, run_dir="a"):
    """A finished stage whose needs are taken as met."""
    stage = begin(name, profile=PROFILE, run_dir=run_dir)
    return stage.finish({"made": "up"})


class TestOpen:
    def test_a_new_run_keeps_its_own_profile_and_protocol(self, runs):
        run = open_run(PROFILE, "a")
        assert (runs / "a" / "profile.toml").read_bytes() == (load_path() / PROFILE).read_bytes()
        assert (runs / "a" / "profile.json").read_bytes() == run.profile.canonical()
        assert (runs / "a" / "protocol" / "corpus.jsonl").exists()
        facts = json.loads((runs / "a" / "run.json").read_text())
        assert facts["profile_sha256"] == run.profile.sha256()

    def test_opening_again_is_the_same_run(self):
        assert open_run(PROFILE, "a").path == open_run(PROFILE, "a").path

    @pytest.mark.parametrize("name", ["../x", "", "A", "a/b", ".hidden"])
    def test_ids_are_plain_names(self, name):
        with pytest.raises(RunError, match="run id"):
            run_path(name)

    def test_a_changed_profile_is_refused(self, tmp_path):
        open_run(PROFILE, "a")
        changed = tmp_path / "changed.toml"
        changed.write_text((load_path() / PROFILE).read_text().replace('policy = "lru"', 'policy = "fifo"'))
        with pytest.raises(RunError, match="another profile"):
            open_run(changed, "a")

    def test_a_changed_protocol_is_refused(self, runs):
        open_run(PROFILE, "a")
        facts = json.loads((runs / "a" / "run.json").read_text())
        facts["protocol_sha256"] = "0" * 64
        (runs / "a" / "run.json").write_text(json.dumps(facts))
        with pytest.raises(RunError, match="another protocol"):
            open_run(PROFILE, "a")

    def test_the_runs_own_copies_are_held_to_their_digests(self, runs):
        open_run(PROFILE, "a")
        copy = runs / "a" / "profile.toml"
        copy.write_text(copy.read_text().replace("threads = 1", "threads = 2"))
        with pytest.raises(RunError, match=r"profile\.toml was edited"):
            open_run(PROFILE, "a")
        open_run(PROFILE, "b")
        corpus = runs / "b" / "protocol" / "corpus.jsonl"
        corpus.write_text(corpus.read_text().replace("e", "a", 1))
        with pytest.raises(ProtocolError):
            open_run(PROFILE, "b")

    def test_a_folder_that_is_no_run_is_left_alone(self, runs):
        (runs / "a").mkdir(parents=True)
        (runs / "a" / "thesis.txt").write_text("precious")
        with pytest.raises(RunError, match=r"no run\.json"):
            open_run(PROFILE, "a")

    def test_resume_finds_the_newest_unsealed_run(self, runs):
        for name in ("cpu-tiny-1", "cpu-tiny-2", "cpu-tiny-3"):
            open_run(PROFILE, name)
        (runs / "cpu-tiny-3" / "SHA256SUMS").write_text("")
        assert latest_unfinished(load_profile(PROFILE)) == "cpu-tiny-2"

    def test_nothing_to_resume_is_said(self):
        with pytest.raises(RunError, match="no unfinished run"):
            latest_unfinished(load_profile(PROFILE))

    @pytest.mark.parametrize("damaged", [b"", b'{"format": "kit-ru', b"[1]", b'{"profile": "cpu-tiny"}'])
    def test_another_run_that_was_damaged_does_not_stand_in_the_way(self, runs, damaged):
        open_run(PROFILE, "cpu-tiny-1")
        (runs / "broken").mkdir()
        (runs / "broken" / "run.json").write_bytes(damaged)
        assert latest_unfinished(load_profile(PROFILE)) == "cpu-tiny-1"

    def test_a_run_of_which_run_json_was_damaged_says_so(self, runs):
        open_run(PROFILE, "a")
        (runs / "a" / "run.json").write_text('{"format": "kit-ru')
        with pytest.raises(RunError, match=r"run a: run\.json is damaged"):
            open_run(PROFILE, "a")

    def test_new_ids_name_the_profile(self):
        assert new_id(load_profile(PROFILE)).startswith("cpu-tiny-2")


class TestStages:
    def test_order_and_needs_agree(self):
        for name, needs in NEEDS.items():
            assert all(STAGES.index(need) < STAGES.index(name) for need in needs)

    def test_a_profile_runs_the_stages_of_its_engines(self):
        data = load_profile(PROFILE).resolved()
        assert "04_remote" not in stages_of(profile_from_dict(data))
        data["claim"] = "baseline"
        data["campaign"] |= {"engines": ["remote"], "reference": "", "remote_url": "http://127.0.0.1:1"}
        data["generated"]["questions"] = 0
        assert stages_of(profile_from_dict(data)) == (
            "01_preflight", "02_checkpoint", "04_remote", "08_drift", "09_performance", "10_evidence",
        )  # fmt: skip

    def test_an_export_has_no_reference_to_compare_ops_with(self, tmp_path):
        text = (PROJECT_ROOT / PROFILE).read_text().replace('claim = "exact"', 'claim = "baseline"')
        text = text.replace("questions = 600", "questions = 0")
        head, _, rest = text.partition("[checkpoint]")
        rest = rest[rest.index("[model]") :]
        profile = tmp_path / "export.toml"
        profile.write_text(
            f'{head}[checkpoint]\nkind = "export"\nbase = "folder"\n\n{rest}\n'
            '[campaign]\nengines = ["native", "graph"]\nreference = ""\n'
        )
        assert stages_of(load_profile(profile)) == (
            "01_preflight", "02_checkpoint", "04_native_eager", "05_native_graph", "07_faults", "08_drift",
            "09_performance", "10_evidence",
        )  # fmt: skip
        with pytest.raises(StageMissingError, match="does not run 06_operators: an export has no reference"):
            begin("06_operators", profile=str(profile), run_dir="a")
        with pytest.raises(StageMissingError, match="does not run 03_reference: it has no engine 'reference'"):
            begin("03_reference", profile=str(profile), run_dir="a")

    def test_missing_inputs_are_named(self):
        with pytest.raises(StageMissingError, match=r"run a: first run 02_checkpoint\.ipynb"):
            begin("03_reference", profile=PROFILE, run_dir="a")

    def test_alone_a_stage_uses_the_interactive_run(self, runs):
        begin("01_preflight", profile=PROFILE)
        assert (runs / "interactive-cpu-tiny" / "run.json").exists()

    def test_only_the_sentinel_counts_as_finished(self, runs):
        finish("01_preflight")
        run = open_run(PROFILE, "a")
        assert is_finished(run, "01_preflight")
        file = runs / "a" / "stages" / "01_preflight.json"
        file.write_text(file.read_text().replace("finished", "almost"))
        assert not is_finished(run, "01_preflight")

    @pytest.mark.parametrize("damaged", ["", '{"format": "kit-stage/1", "sta', "[1]"])
    def test_a_truncated_result_is_named(self, damaged):
        finish("01_preflight")
        run = open_run(PROFILE, "a")
        (run.path / "stages" / "01_preflight.json").write_text(damaged)
        with pytest.raises(RunError, match=r"run a: stages/01_preflight\.json is damaged"):
            is_finished(run, "01_preflight")

    def test_the_result_echoes_the_effective_parameters(self, runs):
        begin("01_preflight", profile=PROFILE, run_dir="a", extra=3).finish({})
        document = json.loads((runs / "a" / "stages" / "01_preflight.json").read_text())
        assert document["parameters"] == {"profile": PROFILE, "run_dir": "a", "rerun": False, "extra": 3}

    def test_finished_work_is_read_not_repeated(self):
        stage = begin("01_preflight", profile=PROFILE, run_dir="a")
        assert stage.once("x.json", lambda: {"n": 1}) == {"n": 1}
        stage.finish({})
        again = begin("01_preflight", profile=PROFILE, run_dir="a")
        assert again.finished
        assert again.once("x.json", lambda: pytest.fail("ran again")) == {"n": 1}

    def test_rerun_forgets_the_stage_and_all_later_ones(self):
        finish("01_preflight")
        finish("02_checkpoint")
        assert not begin("01_preflight", profile=PROFILE, run_dir="a", rerun=True).finished
        assert not is_finished(open_run(PROFILE, "a"), "02_checkpoint")

    def test_a_sealed_run_is_read_only(self, runs):
        finish("01_preflight")
        (runs / "a" / "SHA256SUMS").write_text("sealed")
        before = sorted(runs.rglob("*"))
        begin("01_preflight", profile=PROFILE, run_dir="a").finish({"other": "result"})
        assert sorted(runs.rglob("*")) == before
        with pytest.raises(RunError, match="sealed"):
            begin("01_preflight", profile=PROFILE, run_dir="a", rerun=True)


def load_path():  # the project root, where params/ lies
    from kit.profile import PROJECT_ROOT

    return PROJECT_ROOT
