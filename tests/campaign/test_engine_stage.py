"""What engine notebooks show, over a made-up run."""

import pytest

from kit.campaign import engine_stage, stage_figures
from kit.campaign.drift import compute_drift
from kit.campaign.integrity import OPERATOR_MISSES
from kit.campaign.reading import exchanges_frame, probabilities_frame, read_run
from kit.campaign.run_folder import Run
from kit.campaign.stage import Stage
from kit.campaign.verdict import compute_verdict
from tests.campaign.synthetic_run import write_run


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "made-up"
    profile = write_run(path)
    run = Run(path, profile, path / "profile.toml", read_run(path).protocol, str(path / "profile.toml"))
    return Stage("05_native_graph", run, {}, finished=True)


def test_counts_agree_with_the_plan(stage):
    for engine in ("reference", "native", "graph"):
        found = engine_stage.counts(stage, engine)
        assert found["posts"] == found["planned"] > 0
        assert found["unexpected"] == 0
        assert found["rejected"] == (0 if engine == "reference" else 2)
        assert engine_stage.repeats(stage, engine) == 0


def test_a_finished_stage_drives_nothing(stage, monkeypatch):
    monkeypatch.setattr(engine_stage, "run_engine", lambda *_: pytest.fail("sent requests again"))
    engine_stage.drive(stage, "graph")


def test_counters_are_shown_beside_the_policys(stage):
    frame = engine_stage.counters_frame(stage)
    assert (frame["reported"] == frame["predicted"]).all()
    assert {cache for cache, _ in frame.index} == {"text", "multimodal", "vision"}


def test_refusals_name_who_and_why_and_what_came_next(stage):
    frame = engine_stage.refusals_frame(stage)
    assert list(frame["engine"]) == ["native", "native", "graph", "graph"]
    assert frame["refused"].all()
    assert frame["recovered"].all()


def test_exchanges_are_one_engines_own(stage):
    assert set(engine_stage.exchanges(stage, "native")["engine"]) == {"native"}


class TestFigures:
    """A figure is drawn and says its finding in the title; looking at it is for people."""

    def test_request_times_mark_refusals(self, stage):
        frame = exchanges_frame(read_run(stage.path)).query("engine == 'native'")
        figure = stage_figures.request_times(frame, "native")
        assert f"{len(frame)} requests" in figure.get_suptitle()

    def test_gates(self, stage):
        verdict = compute_verdict(stage.path)
        figure = stage_figures.gates(verdict)
        passed = sum(gate["passed"] for gate in verdict["gates"])
        assert figure.get_suptitle() == f"{passed} of {len(verdict['gates'])} gates passed"

    def test_operators(self):
        check = {"op": "rms_norm", "elements": 10, **dict.fromkeys(OPERATOR_MISSES, 0), "replay_different": 1}
        assert "1 of 10 elements differ" in stage_figures.operators({"checks": [check]}).get_suptitle()

    def test_the_ladder_is_of_a_question_of_the_run(self, stage):
        drift = compute_drift(stage.path)
        figure = stage_figures.most_sensitive(probabilities_frame(read_run(stage.path)), drift, "reference")
        names = {f"{row['request']} / {row['question']}" for row in drift["rows"]}
        assert figure.get_suptitle().rpartition(": ")[0] in names

    def test_without_logits_the_ladder_says_so(self):
        figure = stage_figures.most_sensitive(None, {"rows": []}, "reference")
        assert "No logits" in figure.get_suptitle()

    def test_label_rows(self, tmp_path):
        (tmp_path / "rows").write_bytes(b"\x80\x3f" * 64)  # BF16 1.0
        assert "norms 1.41 to 1.41" in stage_figures.label_rows(tmp_path / "rows", (32, 2)).get_suptitle()
