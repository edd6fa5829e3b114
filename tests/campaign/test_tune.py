"""Which shapes are tuned, what a run's ledger says, and which processes get it."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from kit.campaign import tune
from kit.campaign.protocol import load_protocol
from kit.campaign.run_folder import Run, open_run
from kit.campaign.stage import begin, needed_stages
from kit.engine import autotune
from kit.engine.autotune import AutotuneError, digest
from kit.evidence import provenance
from kit.evidence.records import write_json
from kit.profile import Profile, load_profile

PROFILE = "params/cpu-tiny.toml"
HEADS = tune.Heads(2, 4, 16, 16)
WINNER = {"kernel": "fla.sums.tiled", "key": [48], "config": {"kwargs": {"BK": 32}, "num_warps": 2}}


def on_cuda(profile: Profile) -> Profile:
    return dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, device="cuda"))


def ledger(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    made = {
        "format": autotune.FORMAT, "source": "drawn", "digest": digest(entries), "winners": list(entries),
        "origin": {"device": "an accelerator", "versions": {}, "environment": {}},
    }  # fmt: skip
    return made | changes


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs and caches of this test's own, and no ledger left behind."""
    monkeypatch.setenv("KIT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("KIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(autotune.VARIABLE, "")
    monkeypatch.setattr(autotune, "_ledger", None)


@pytest.fixture
def run() -> Run:
    return open_run(PROFILE, "a")


@pytest.fixture
def device_run(run: Run) -> Run:
    """The same run as if its profile asked for a CUDA device."""
    return dataclasses.replace(run, profile=on_cuda(run.profile))


class TestLengths:
    def test_they_are_the_protocol_s_in_order_each_once_then_those_of_benchmarks(self) -> None:
        profile = load_profile(PROFILE)
        lengths = tune.lengths_to_tune(on_cuda(profile), load_protocol(profile.protocol_path()))
        assert lengths[-3:] == list(tune.BEYOND_PROTOCOL)
        assert len(set(lengths)) == len(lengths)
        assert lengths[:-3] != sorted(lengths[:-3])

    def test_on_a_cpu_nothing_is_tuned(self, run: Run) -> None:
        assert tune.lengths_to_tune(run.profile, run.protocol) == []

    def test_none_is_over_the_profile_s_budget(self) -> None:
        profile = on_cuda(load_profile(PROFILE))
        small = dataclasses.replace(profile, limits=dataclasses.replace(profile.limits, text_tokens=3000))
        assert tune.lengths_to_tune(small, load_protocol(profile.protocol_path()))[-2:] == [1024, 2282]


class TestInputs:
    def test_they_are_laid_out_as_the_reference_s(self) -> None:
        """Slices of a convolution's output [channels, T]: the token is the fastest dimension of q, k and v."""
        q, k, v, g, beta = tune.random_inputs(HEADS, 7, "cpu")
        assert [tuple(x.shape) for x in (q, k, v, g, beta)] == [(7, 2, 16), (7, 2, 16), (7, 4, 16), (7, 4), (7, 4)]
        assert all(x.stride() == (1, 16 * 7, 7) for x in (q, k, v))
        assert {x.dtype for x in (q, k, v, beta)} == {torch.bfloat16}
        assert (g.dtype, g.is_contiguous(), bool((g < 0).all())) == (torch.float32, True, True)
        assert bool(((beta >= 0) & (beta <= 1)).all())

    def test_a_shape_has_always_the_same(self) -> None:
        for one, two in zip(tune.random_inputs(HEADS, 7, "cpu"), tune.random_inputs(HEADS, 7, "cpu"), strict=True):
            assert torch.equal(one, two)
        assert not torch.equal(tune.random_inputs(HEADS, 7, "cpu")[3], tune.random_inputs(HEADS, 8, "cpu")[3][:7])


class TestLedger:
    def test_on_a_cpu_it_is_empty_and_still_names_its_draw(self, run: Run) -> None:
        stage = begin("01_preflight", profile=PROFILE, run_dir="a")
        found = tune.tune_stage(stage)
        assert (found["source"], found["winners"], found["digest"]) == ("drawn", [], digest([]))
        assert found["origin"]["device"] == "cpu"
        assert tune.winners_frame(found).empty

    def test_variables_that_steer_kernels_are_told_and_folders_are_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)  # set where the kernels' tests run in this process too
        for name in ("FLA_USE_TMA", "TRITON_F32_DEFAULT", "TRITON_CACHE_DIR", "FLA_CONFIG_DIR", "TRITON_PTXAS_PATH"):
            monkeypatch.setenv(name, "1")
        assert set(tune.origin(load_profile(PROFILE))["environment"]) == {"FLA_USE_TMA", "TRITON_F32_DEFAULT"}

    def test_a_winner_reads_as_one_row(self) -> None:
        frame = tune.winners_frame(ledger(WINNER))
        assert frame.to_dict("records") == [{"kernel": "tiled", "key": "48", "config": "BK=32 num_warps=2"}]


class TestRecordedStart:
    def test_a_run_on_a_device_starts_from_them(self, device_run: Run) -> None:
        tune.start_from(device_run, ledger(WINNER))
        kept = autotune.read_ledger(device_run.path / tune.LEDGER)
        assert (kept["source"], kept["winners"]) == ("recorded", [WINNER])
        tune.start_from(device_run, ledger(WINNER))  # resumed with the same

    def test_a_run_with_other_winners_is_refused(self, device_run: Run) -> None:
        tune.start_from(device_run, ledger(WINNER))
        with pytest.raises(AutotuneError, match="run a has other winners already"):
            tune.start_from(device_run, ledger(WINNER | {"key": [16]}))

    def test_on_a_cpu_winners_are_refused(self, run: Run) -> None:
        with pytest.raises(AutotuneError, match="an accelerator; profile cpu-tiny tunes nothing"):
            tune.start_from(run, ledger(WINNER))

    def test_a_recorded_start_stays_recorded(self, run: Run) -> None:
        tune.start_from(run, ledger())
        found = tune.tune_stage(begin("01_preflight", profile=PROFILE, run_dir="a"))
        assert (found["source"], found["origin"]["device"]) == ("recorded", "an accelerator")

    def test_what_the_recorded_winners_lack_stops_the_stage(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(autotune, "late", lambda: [WINNER])
        with pytest.raises(AutotuneError, match=r"lack 1 that this profile needs \(tiled\)"):
            tune.tune(run.profile, [], ledger())


class TestProcesses:
    def test_every_process_gets_the_ledger_once_there_is_one(self, run: Run) -> None:
        assert tune.run_environment(run) == {}
        (run.path / "records").mkdir()
        write_json(run.path / tune.LEDGER, ledger())
        assert tune.run_environment(run) == {autotune.VARIABLE: str(run.path / tune.LEDGER)}

    def test_a_stage_sets_it_and_the_tuning_stage_does_not(self, run: Run) -> None:
        (run.path / "records").mkdir()
        write_json(run.path / tune.LEDGER, ledger())
        begin("02_checkpoint", profile=PROFILE, run_dir="a").configure()
        assert os.environ[autotune.VARIABLE] == str(run.path / tune.LEDGER)
        assert autotune.report()["installed"]
        begin("01_preflight", profile=PROFILE, run_dir="a")
        assert not os.environ.get(autotune.VARIABLE)

    def test_a_run_has_one_folder_of_kernels_bound_to_its_start_and_sources(
        self, device_run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = Path(tune.run_environment(device_run)["TRITON_CACHE_DIR"])
        assert folder == tune.kernel_folder(device_run)
        assert folder.parent.name == "a"
        assert not folder.is_relative_to(device_run.path)
        monkeypatch.setattr(provenance, "hash_sources", lambda: {"kit/engine/native.py": "0" * 64})
        other_sources = tune.kernel_folder(device_run)
        facts = device_run.path / "run.json"
        facts.write_text(json.dumps(json.loads(facts.read_text()) | {"started_utc": "later"}))
        assert len({folder, other_sources, tune.kernel_folder(device_run)}) == 3

    def test_kernels_of_a_finished_run_are_dropped(self, device_run: Run) -> None:
        folder = tune.kernel_folder(device_run)
        folder.mkdir(parents=True)
        tune.drop_kernels(device_run)
        assert not folder.exists()

    def test_on_a_device_everything_that_computes_waits_for_the_tuning_stage(self, run: Run, device_run: Run) -> None:
        assert "01_preflight" not in needed_stages("03_reference", run)
        for stage in ("03_reference", "04_native_eager", "05_native_graph", "06_operators"):
            assert needed_stages(stage, device_run)[0] == "01_preflight"
        assert needed_stages("02_checkpoint", device_run) == []
