"""What the auditor makes of device.json: a GPU run must have had its device to itself, and say what it did not see."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.evidence import audit
from tests.evidence.make_bundle import Tamper
from tests.evidence.test_tampering import audit_problems

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def tamper(on_gpu: Path, tmp_path: Path) -> Tamper:
    return Tamper(shutil.copytree(on_gpu, tmp_path / "bundle"))


def device_problems(path: Path) -> list[str]:
    return [problem for problem in audit_problems(path) if problem.startswith(("device: ", "unreadable: device.json"))]


def test_a_device_of_our_own_is_no_problem(on_gpu: Path) -> None:
    assert device_problems(on_gpu) == []
    assert not any("device" in item for item in audit.judge(str(on_gpu))["not_checked"])


def strangers(document: dict[str, Any]) -> None:
    document["after"]["processes"].update(others=2)
    document["after"].update(processes_listed=3)


def hidden(document: dict[str, Any]) -> None:
    for when in ("before", "after"):
        document[when].update(processes="not visible", mig="not visible")
    unseen = [f"{when}: {what}" for when in ("before", "after") for what in ("processes", "mig")]
    document["verdict"].update(alone="not visible", unseen=unseen)


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (strangers, "device.json: after: 2 processes of others are on the device"),
        (lambda d: d["after"].update(ecc_uncorrected=1), "device.json: 1 uncorrected memory errors during the run"),
        (lambda d: d["after"].update(driver="600.1"), "device.json: driver changed from 580.1 to 600.1"),
        (lambda d: d["after"].update(uuid_sha256="0"), "device.json: uuid_sha256 changed"),
        (lambda d: d["before"].update(mig="on"), "device.json: before: MIG is on"),
        (lambda d: d["after"]["memory"].update(used_bytes=3 << 30), "bytes are taken by others"),
        (lambda d: d.update(after=d["before"]), "its second snapshot is not later than its first"),
        (lambda d: d["verdict"].update(alone="no"), "device.json verdict: found"),
        (lambda d: d["before"].update(visible=False, reason="no NVML"), "device.json verdict: found"),
        (lambda d: d.pop("after"), 'device.json has no "after"'),
        (lambda d: d.update(kind="cpu"), "device.json kind: found"),
    ],
)
def test_what_is_wrong_with_a_device_is_named(tamper: Tamper, edit: Edit, problem: str) -> None:
    tamper.json("device.json", edit)
    tamper.reseal()
    found = device_problems(tamper.path)
    assert any(problem in text for text in found), found


def test_a_stranger_is_a_problem_also_where_the_verdict_was_put_right(tamper: Tamper) -> None:
    tamper.json("device.json", strangers)
    tamper.json("device.json", lambda d: d["verdict"].update(alone="no", problems=["two strangers"]))
    tamper.reseal()
    assert device_problems(tamper.path) == ["device: device.json: after: 2 processes of others are on the device"]


def test_another_driver_than_the_environment_names(tamper: Tamper) -> None:
    tamper.json("environment.json", lambda d: d.update(device={"driver": "1.2"}))
    tamper.reseal()
    assert "against environment.json" in device_problems(tamper.path)[0]


def test_what_was_not_visible_is_said_and_never_fine(tamper: Tamper) -> None:
    tamper.json("device.json", hidden)
    tamper.reseal()
    assert device_problems(tamper.path) == []
    said = audit.judge(str(tamper.path))["not_checked"]
    assert "device, before: processes: not visible" in said
    assert "device, after: mig: not visible" in said


def test_hidden_facts_passed_off_as_a_yes(tamper: Tamper) -> None:
    tamper.json("device.json", hidden)
    tamper.json("device.json", lambda d: d["verdict"].update(alone="yes"))
    tamper.reseal()
    assert device_problems(tamper.path) == ['device: device.json verdict: found "yes", expected "not visible"']


class TestMemoryOfDrills:
    def test_memory_that_did_not_come_back_is_found_by_its_figures(self, tamper: Tamper) -> None:
        tamper.lines("records/drills.jsonl", lambda x: x[3]["observed"]["memory"].update(end_bytes=60 << 30))
        tamper.reseal()
        problems = [problem for problem in audit_problems(tamper.path) if problem.startswith("drills: ")]
        assert any("killed-worker observed memory: 63350767616 bytes" in problem for problem in problems)

    def test_memory_that_was_not_visible_is_said(self, tamper: Tamper) -> None:
        tamper.lines("records/drills.jsonl", lambda x: x[5]["observed"]["memory"].update(end_bytes=None))
        tamper.reseal()
        said = audit.judge(str(tamper.path))["not_checked"]
        assert "device memory after a worker has gone: not visible" in said
