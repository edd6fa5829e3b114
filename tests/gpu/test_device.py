"""The device through NVML: facts of a real one, and memory that comes back when its user has gone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

if not torch.cuda.is_available():
    pytest.skip("no CUDA device: NVML has nothing to say here", allow_module_level=True)

from kit.campaign import device

pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")

TAKEN = 4 << 30
HOLD = f"import torch; held = torch.zeros({TAKEN}, dtype=torch.uint8, device='cuda'); print('held', flush=True); input()"


@pytest.fixture(scope="module")
def seen() -> device.Snapshot:
    return device.snapshot()


@pytest.fixture
def neighbour(seen: device.Snapshot) -> Iterator[subprocess.Popen[str]]:
    """Another process with 4 GiB of device memory."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert child.stdout
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()


def test_the_device_is_torchs_own(seen: device.Snapshot) -> None:
    properties = torch.cuda.get_device_properties(0)
    assert seen["visible"], seen
    assert seen["name"] == properties.name
    assert seen["capability"] == f"{properties.major}.{properties.minor}"
    assert abs(seen["memory"]["total_bytes"] - properties.total_memory) < 4 << 30


def test_the_devices_own_number_is_not_in_the_facts(seen: device.Snapshot) -> None:
    assert device.torch_uuid()
    assert device.torch_uuid() not in json.dumps(seen)


def test_everything_is_a_fact_or_said_to_be_missing(seen: device.Snapshot) -> None:
    known = [seen["driver"], seen["temperature_c"], seen["clocks_mhz"]["sm"], seen["power_w"], seen["slowdowns"]]
    assert all(value is not None for value in known)
    assert seen["mig"] in ("off", "on", device.NOT_VISIBLE, device.NOT_SUPPORTED)


def test_processes_hold_this_one_or_are_not_visible(seen: device.Snapshot) -> None:
    assert seen["processes"] == device.NOT_VISIBLE or seen["processes"]["own"] == 1


def test_a_neighbour_that_is_not_ours_is_noticed(neighbour: subprocess.Popen[str], seen: device.Snapshot) -> None:
    crowded = device.snapshot(pids=[])
    verdict = device.is_ours_alone(seen, crowded)
    assert verdict["alone"] == "no", crowded
    assert any("device memory" in text for text in verdict["problems"])


def test_our_own_child_is_one_of_the_run(neighbour: subprocess.Popen[str]) -> None:
    processes = device.snapshot()["processes"]
    if processes == device.NOT_VISIBLE:
        pytest.skip("NVML does not show the processes of this machine")
    assert processes["run"] == 1


def test_memory_is_back_after_a_kill(neighbour: subprocess.Popen[str]) -> None:
    held = device.used_bytes()
    assert held is not None
    neighbour.kill()
    result = device.memory_back(held - TAKEN)
    assert result["back"] is True, result
    assert result["waited_s"] < device.RETURN_SECONDS
