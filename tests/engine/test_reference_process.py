"""The reference in a process of its own: GPU-only packages without a GPU, a silent load, an incomplete adapter."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from kit import checkpoint, runtime
from kit.engine import reference
from kit.engine.reference import ReferenceEngine
from kit.engine.reference_model import ReferenceError
from kit.model.lora import AdapterError
from kit.profile import PROJECT_ROOT, Profile, load_profile

# A package that can be imported anywhere and fails as FLA does when its kernel starts without a GPU.
FAKE_FLA = """
def chunk_gated_delta_rule(*args, **kwargs):
    raise RuntimeError("0 active drivers ([]). There should only be one.")
"""
BODY = {"state": "s", "questions": {"q": {"type": "noul", "instructions": "Well?"}}}
DECIDE = f"""
import json
from kit.profile import load_profile
from kit import runtime
profile = load_profile("params/cpu-tiny.toml")
runtime.configure(profile)
from kit.engine import reference
engine = reference.load(profile)
decision = engine.decide(engine.prepare(json.dumps({BODY}).encode()))
print(json.dumps([engine.describe()["functions"], decision.questions[0].hidden.hex()]))
"""


@pytest.fixture(scope="module")
def profile() -> Profile:
    profile = load_profile("params/cpu-tiny.toml")
    runtime.configure(profile)
    checkpoint.locate(profile)
    return profile


def run(extra: Path) -> tuple[dict[str, str], str, str]:
    """(functions, hidden row in hex, stderr) of DECIDE with one more folder to import from."""
    environment = os.environ | {"PYTHONPATH": f"{extra}{os.pathsep}{PROJECT_ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", DECIDE],
        cwd=PROJECT_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    functions, hidden = json.loads(done.stdout)
    return functions, hidden, done.stderr


def test_gpu_packages_without_a_gpu_change_nothing_and_nothing_is_said(
    official: ReferenceEngine, tmp_path: Path
) -> None:
    package = tmp_path / "fla" / "ops" / "gated_delta_rule"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").write_text(FAKE_FLA)
    functions, hidden, stderr = run(tmp_path)
    assert functions["torch_chunk_gated_delta_rule"].startswith("transformers.")
    assert stderr == ""
    without = official.decide(official.prepare(json.dumps(BODY).encode()))
    assert (functions, hidden) == (official.describe()["functions"], without.questions[0].hidden.hex())


def test_an_adapter_that_lacks_a_tensor_is_refused_by_both_engines(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PEFT itself only warns and leaves the missing half at its initial values."""
    from kit.engine import native

    files = checkpoint.locate(profile)
    adapter = tmp_path / "adapter"
    shutil.copytree(files.adapter, adapter)
    tensors = load_file(adapter / "adapter_model.safetensors")
    name = next(name for name in sorted(tensors) if name.endswith("mlp.down_proj.lora_B.weight"))
    del tensors[name]
    save_file(tensors, adapter / "adapter_model.safetensors")
    monkeypatch.setattr(checkpoint, "locate", lambda _: dataclasses.replace(files, adapter=adapter))
    with pytest.raises(ReferenceError, match=r"adapter_missing.*down_proj"):
        reference.load(profile)
    with pytest.raises(AdapterError, match=r"missing base_model.*down_proj"):
        native.load(profile)


def test_missing_base_tensors_are_refused_by_both_engines(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transformers itself only reports them and initialises the rest at random."""
    from kit.engine import native
    from kit.model.weights import WeightError

    files = checkpoint.locate(profile)
    base = tmp_path / "base"
    shutil.copytree(files.base, base)
    index = json.loads((base / "model.safetensors.index.json").read_text())
    tensors: dict[str, torch.Tensor] = {}
    for shard in sorted(set(index["weight_map"].values())):
        tensors |= load_file(base / shard)
        (base / shard).unlink()
    (base / "model.safetensors.index.json").unlink()
    del tensors["model.language_model.layers.1.linear_attn.dt_bias"]
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    monkeypatch.setattr(checkpoint, "locate", lambda _: dataclasses.replace(files, base=base))
    with pytest.raises(ReferenceError, match=r"base_missing.*dt_bias"):
        reference.load(profile)
    with pytest.raises(WeightError, match=r"missing .*layers\.1\.linear_attn\.dt_bias"):
        native.load(profile)


def test_a_tokenizer_with_another_image_token_is_refused(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kit.engine import native
    from kit.model.config import ConfigError

    files = checkpoint.locate(profile)
    base = tmp_path / "base"
    shutil.copytree(files.base, base)
    config = json.loads((base / "config.json").read_text())
    config["image_token_id"] += 1
    (base / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(checkpoint, "locate", lambda _: dataclasses.replace(files, base=base))
    with pytest.raises(ConfigError, match=r"image_token_id \d+, tokenizer\.json gives"):
        native.load(profile)
