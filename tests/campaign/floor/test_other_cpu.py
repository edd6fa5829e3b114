"""The process with other CPU instructions: one that ends without answers says why (`test_running` has a whole one)."""

from __future__ import annotations

import sys

import pytest

from kit.campaign.floor import other_cpu
from kit.campaign.floor.other_cpu import OtherCpuError


def test_a_process_that_ends_without_answers_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(OtherCpuError, match="ATEN_CPU_CAPABILITY=default"):
        other_cpu.answers_of("params/cpu-tiny.toml", prompts=6, proof=0)
