"""Process settings."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from kit import runtime
from kit.campaign import bench, draws, tune
from kit.profile import load_profile


def test_a_device_that_is_not_here_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    profile = load_profile("params/cpu-tiny.toml")
    runtime.require_device(profile)
    on_gpu = dataclasses.replace(profile, runtime=dataclasses.replace(profile.runtime, device="cuda"))
    with pytest.raises(runtime.NoDeviceError, match=r"needs a CUDA device, and torch .* sees none .*, only its CPU: .*cpu-tiny.toml"):
        runtime.require_device(on_gpu)


@pytest.mark.parametrize(("cuda", "said"), [(None, ", which is built without CUDA, sees none"), ("12.8", " sees none")])
def test_a_torch_that_could_see_no_device_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch, cuda: str | None, said: str) -> None:
    monkeypatch.setattr(torch.version, "cuda", cuda)
    assert f"it needs a CUDA device, and torch {torch.__version__}{said}" in runtime.no_cuda("it", "do without")


def test_no_draw_and_no_timing_is_begun_without_the_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(runtime, "configure", lambda profile: {})
    monkeypatch.setenv("KIT_RUNS", str(tmp_path))
    on_gpu = "params/h200-27b-synthetic.toml"
    with pytest.raises(runtime.NoDeviceError):
        draws.run(on_gpu, 1, run_id="a")
    with pytest.raises(runtime.NoDeviceError):
        bench.run(load_profile(on_gpu), [])
    with pytest.raises(runtime.NoDeviceError):
        tune.draw(load_profile(on_gpu))
    assert not list(tmp_path.iterdir())
