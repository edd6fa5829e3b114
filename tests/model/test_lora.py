"""The adapter folder is read strictly: plain unmerged FP32 LoRA, whole pairs, nothing left over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from kit.kernels import Projection, select
from kit.model.lora import AdapterError, load_adapter, parse_adapter_config
from kit.model.weights import SafetensorsStore, Weights

PLAIN: dict[str, Any] = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "bias": "none", "lora_dropout": 0.1}
NAME = "base_model.model.m.lora_{}.weight"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("peft_type", "LOHA", 'peft_type: found "LOHA"'),
        ("bias", "all", 'bias: found "all", expected "none"'),
        ("use_dora", True, "use_dora: found true"),
        ("use_rslora", True, "use_rslora: found true"),
        ("fan_in_fan_out", True, "fan_in_fan_out: found true"),
        ("modules_to_save", ["lm_head"], 'modules_to_save: found ["lm_head"]'),
        ("rank_pattern", {"q_proj": 8}, "rank_pattern: found"),
        ("alpha_pattern", {"q_proj": 8}, "alpha_pattern: found"),
        ("some_new_variant", True, "some_new_variant: found true"),
        ("r", 0, "r: found 0, expected an integer of 1 to 128"),
        ("r", 129, "r: found 129"),
        ("lora_alpha", -1, "lora_alpha: found -1"),
        ("lora_alpha", None, "lora_alpha: found null"),
    ],
)
def test_unimplemented_options_are_refused_by_name(key: str, value: Any, message: str) -> None:
    with pytest.raises(AdapterError) as caught:
        parse_adapter_config(PLAIN | {key: value}, "adapter_config.json")
    assert message in str(caught.value)


def test_what_peft_writes_for_plain_lora_is_accepted() -> None:
    from peft import LoraConfig

    config = {
        key: getattr(value, "value", value)
        for key, value in LoraConfig(r=16, lora_alpha=32).to_dict().items()
    }
    assert parse_adapter_config(config) == (16, 32.0)


def folder(path: Path, tensors: dict[str, torch.Tensor]) -> Path:
    (path / "adapter_config.json").write_text(json.dumps(PLAIN))
    save_file(tensors, path / "adapter_model.safetensors")
    save_file({"m.weight": torch.randn(5, 3).to(torch.bfloat16)}, path / "model.safetensors")
    return path


def project(path: Path) -> Projection:
    adapter = load_adapter(path)
    projection = adapter.project(Weights(SafetensorsStore(path, "model"), torch.bfloat16), "m", 5, 3)
    adapter.finish()
    return projection


def pair() -> dict[str, torch.Tensor]:
    return {NAME.format("A"): torch.randn(2, 3), NAME.format("B"): torch.randn(5, 2)}


def test_a_pair_belongs_to_its_projection(tmp_path: Path) -> None:
    tensors = pair()
    projection = project(folder(tmp_path, tensors))
    assert projection.down is not None
    assert torch.equal(projection.down, tensors[NAME.format("A")])
    assert projection.scale == 2.0


def broken(kind: str) -> dict[str, torch.Tensor]:
    tensors = pair()
    if kind == "half a pair":
        del tensors[NAME.format("B")]
    elif kind == "wrong shape":
        tensors[NAME.format("B")] = torch.randn(5, 4)
    elif kind == "wrong dtype":
        tensors[NAME.format("A")] = tensors[NAME.format("A")].half()
    elif kind == "not finite":
        tensors[NAME.format("A")][1, 1] = torch.inf
    else:
        tensors["base_model.model.other.lora_A.weight"] = torch.randn(2, 3)
    return tensors


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("half a pair", "missing base_model.model.m.lora_B.weight [5, 2]"),
        ("wrong shape", "shape [5, 4], expected [5, 2]"),
        ("wrong dtype", "dtype torch.float16, expected torch.float32"),
        ("not finite", "holds values that are not finite"),
        ("belongs to nothing", "unexpected base_model.model.other.lora_A.weight"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(tmp_path: Path, kind: str, message: str) -> None:
    with pytest.raises(AdapterError) as caught:
        project(folder(tmp_path, broken(kind)))
    assert message in str(caught.value)


def test_the_sum_is_rounded_once_in_fp32(tmp_path: Path) -> None:
    """bf16(float(bf16(x W^T)) + ((x A^T) B^T) * scale), every step as written."""
    projection = project(folder(tmp_path, pair()))
    x = torch.randn(7, 3).to(torch.bfloat16)
    assert projection.down is not None
    assert projection.up is not None
    base = (x.float() @ projection.weight.float().t()).to(torch.bfloat16)
    delta = (x.float() @ projection.down.t()) @ projection.up.t()
    expected = (base.float() + delta * 2.0).to(torch.bfloat16)
    (found,) = select("exact", "cpu").project(x, (projection,))
    assert torch.equal(found, expected)


def test_without_a_pair_the_product_is_all() -> None:
    projection = Projection(torch.randn(5, 3))
    x = torch.randn(7, 3)
    (found,) = select("exact", "cpu").project(x, (projection,))
    assert torch.equal(found, x @ projection.weight.t())
