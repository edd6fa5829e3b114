"""Process settings."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from kit import runtime
from kit.profile import load_profile


def test_a_device_that_is_not_here_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    profile = load_profile("params/cpu-tiny.toml")
    runtime.require_device(profile)
    on_gpu = dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, device="cuda"))
    with pytest.raises(runtime.NoDeviceError, match="needs a CUDA device, and torch .* sees none"):
        runtime.require_device(on_gpu)
