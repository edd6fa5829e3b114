"""What NVML says of the device, and when a run may say that it had the device to itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kit.campaign import device
from kit.campaign.device import NOT_SUPPORTED, NOT_VISIBLE, is_ours_alone, memory_back, process_tree, snapshot
from tests.campaign.fake_nvml import FakeNvml

OWN, WORKER, STRANGER = os.getpid(), 4_000_001, 4_000_002
PROCESSES = "nvmlDeviceGetComputeRunningProcesses"


def seen(**facts: object) -> device.Snapshot:
    return snapshot(FakeNvml(**facts), pids={OWN, WORKER})  # type: ignore[arg-type]


class TestSnapshot:
    def test_names_the_device_its_driver_and_its_state(self) -> None:
        facts = seen(driver=b"580.1", reasons=0x0024)
        assert facts["visible"] is True
        assert (facts["name"], facts["driver"], facts["cuda_driver"], facts["capability"]) == (
            "Made-up GPU", "580.1", "13.1", "9.0",
        )  # fmt: skip
        assert (facts["mig"], facts["ecc_uncorrected"], facts["ecc_corrected"]) == ("off", 0, 7)
        assert facts["clocks_mhz"] == {"sm": 1980, "sm_most": 1980, "memory": 1980}
        assert facts["slowdowns"] == ["power cap", "thermal, software"]
        assert (facts["power_w"], facts["power_limit_w"], facts["temperature_c"]) == (123.456, 700.0, 40)

    def test_is_plain_json_without_the_devices_own_number(self) -> None:
        text = json.dumps(seen(), allow_nan=False)
        assert "secret" not in text
        assert seen()["uuid_sha256"] == seen()["uuid_sha256"] != ""

    def test_counts_processes_and_names_none(self) -> None:
        facts = seen(pids=[OWN, WORKER, STRANGER], drawing=[STRANGER, STRANGER + 1])
        assert facts["processes"] == {"own": 1, "run": 1, "others": 2}
        assert facts["processes_listed"] == 4
        assert str(STRANGER) not in json.dumps(facts)

    @pytest.mark.parametrize("pids", [[], [STRANGER]], ids=["empty", "another-name-space"])
    def test_a_list_without_this_process_shows_nobody(self, pids: list[int]) -> None:
        assert seen(pids=pids)["processes"] == NOT_VISIBLE

    def test_what_is_refused_is_not_visible_and_the_rest_is_kept(self) -> None:
        facts = seen(refused=(PROCESSES, "nvmlDeviceGetMigMode", "nvmlDeviceGetMemoryInfo"))
        assert facts["processes"] == facts["processes_listed"] == facts["mig"] == NOT_VISIBLE
        assert facts["memory"]["used_bytes"] == NOT_VISIBLE
        assert facts["name"] == "Made-up GPU"

    def test_what_the_device_does_not_have_is_told_apart(self) -> None:
        assert seen(unsupported=("nvmlDeviceGetMigMode",))["mig"] == NOT_SUPPORTED

    def test_a_machine_without_nvml_says_why(self) -> None:
        facts = seen(refused=("nvmlInit",))
        assert facts["visible"] is False
        assert "NVML does not start" in facts["reason"]

    def test_nvml_is_closed_again(self) -> None:
        nvml = FakeNvml(refused=(PROCESSES,))
        snapshot(nvml, pids=())
        assert nvml.opened == 0


class TestAlone:
    def test_two_quiet_snapshots_of_one_device(self) -> None:
        assert is_ours_alone(seen(), seen(pids=[OWN, WORKER])) == {"alone": "yes", "problems": [], "unseen": []}

    @pytest.mark.parametrize(
        ("after", "problem"),
        [
            ({"pids": [OWN, STRANGER]}, "after: 1 processes that are not of this run"),
            ({"uncorrected": 2}, "2 uncorrected memory errors during the run"),
            ({"driver": "581.0"}, "driver was 580.1 before the run and is 581.0 after it"),
            ({"mig": 1}, "after: MIG is on"),
            ({"used": 5 << 30}, "after: 5.0 GiB of device memory are taken that this run did not take"),
        ],
    )
    def test_what_speaks_against_it(self, after: dict[str, object], problem: str) -> None:
        verdict = is_ours_alone(seen(), seen(**after))
        assert verdict["alone"] == "no"
        assert any(text.startswith(problem) for text in verdict["problems"]), verdict

    def test_errors_from_before_the_run_are_not_its_own(self) -> None:
        assert is_ours_alone(seen(uncorrected=3), seen(uncorrected=3))["alone"] == "yes"

    def test_memory_shows_a_stranger_where_processes_are_hidden(self) -> None:
        hidden = seen(refused=(PROCESSES,), used=50 << 30)
        assert is_ours_alone(hidden, hidden)["alone"] == "no"

    @pytest.mark.parametrize(
        ("facts", "unseen"),
        [
            ({"refused": (PROCESSES,)}, "before: processes"),
            ({"refused": ("nvmlDeviceGetMigMode",)}, "before: mig"),
            ({"unsupported": ("nvmlDeviceGetTotalEccErrors",)}, "before: ecc_uncorrected"),
            ({"refused": ("nvmlInit",)}, "before: the device (NVML does not start: error 4)"),
        ],
    )
    def test_what_is_not_visible_is_never_a_yes(self, facts: dict[str, object], unseen: str) -> None:
        verdict = is_ours_alone(seen(**facts), seen())
        assert (verdict["alone"], verdict["problems"]) == (NOT_VISIBLE, [])
        assert verdict["unseen"] == [unseen]

    def test_a_device_that_cannot_be_cut_is_whole(self) -> None:
        whole = seen(unsupported=("nvmlDeviceGetMigMode",))
        assert is_ours_alone(whole, whole)["alone"] == "yes"


class TestMemory:
    def test_waits_until_it_is_back(self) -> None:
        falling = iter([50 << 30, 20 << 30, (1 << 30) + 5])
        result = memory_back(1 << 30, lambda: next(falling), pause=0)
        assert (result["back"], result["end_bytes"]) == (True, (1 << 30) + 5)

    def test_waits_no_longer_than_it_may(self) -> None:
        result = memory_back(1 << 30, lambda: 2 << 30, seconds=0.05, pause=0.01)
        assert result["back"] is False
        assert result["waited_s"] < 5

    def test_allows_the_drivers_own_bookkeeping_and_not_more(self) -> None:
        assert memory_back(0, lambda: device.RETURN_BYTES)["back"] is True
        assert memory_back(0, lambda: device.RETURN_BYTES + 1, seconds=0)["back"] is False

    def test_unknown_memory_is_not_visible(self) -> None:
        assert memory_back(None, lambda: 5)["back"] == NOT_VISIBLE
        assert device.used_bytes(FakeNvml(refused=("nvmlDeviceGetMemoryInfo",))) is None


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child of its own."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    started = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    yield started
    assert started.stdin
    started.stdin.close()
    started.wait()


def test_a_process_tree_holds_grandchildren(child: subprocess.Popen[bytes]) -> None:
    while len(tree := process_tree(child.pid)) < 2:
        assert child.poll() is None
    assert child.pid in tree
    assert tree < process_tree(os.getpid())
    assert os.getppid() not in process_tree(os.getpid())


class StandIn:
    """A stage as far as device.json needs one."""

    def __init__(self, kind: str) -> None:
        self.run = SimpleNamespace(profile=SimpleNamespace(runtime=SimpleNamespace(device=kind)))
        self.document: dict[str, Any] = {}

    def configure(self) -> None:
        pass

    def read_json(self, name: str) -> dict[str, Any]:
        assert name == "device.json"
        return self.document


class TestDocument:
    def test_a_cpu_is_named_and_not_asked(self) -> None:
        stage: Any = StandIn("cpu")
        stage.document = device.record_before(stage)
        assert stage.document == device.record_after(stage) == {"format": "kit-device/1", "kind": "cpu"}
        assert device.had_to_itself(stage.document) == "cpu: not asked"
        assert device.problems_at_start(stage.document) == []
        assert device.summary(stage.document) == {"device": "cpu"}

    def test_a_gpu_is_looked_at_twice_and_judged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moments = iter([seen(), seen(pids=[OWN, STRANGER])])
        monkeypatch.setattr(device, "snapshot", lambda: next(moments))
        stage: Any = StandIn("cuda")
        stage.document = device.record_before(stage)
        assert device.problems_at_start(stage.document) == []
        after = device.record_after(stage)
        assert after["before"] == stage.document["before"]
        assert device.had_to_itself(after) == "no"
        assert device.summary(after)["after processes"] == {"own": 1, "run": 0, "others": 1}

    def test_a_crowded_device_shows_before_anything_runs(self) -> None:
        document = {"format": "kit-device/1", "kind": "cuda", "before": seen(used=9 << 30)}
        assert device.problems_at_start(document) == ["9.0 GiB of device memory are taken that this run did not take"]
